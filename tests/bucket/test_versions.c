/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LARGE   (6 * 1024) /* of a chunk that lies in segments, where versions are kept */
#define LENGTH  (5 * LARGE + 100)
#define GROWTH  313
#define READERS 2

/* Of each kind of change; a long run is ASH_ROUNDS=5000. */
static int rounds_wanted(void)
{
    const char *text = getenv("ASH_ROUNDS");
    return text != NULL ? atoi(text) : 300;
}

/* Every byte of a version is the same, so that a mixture shows. */
static void put_version(fixture *f, ash_bucket *b, bool by_id, uint8_t version)
{
    ash_error err = ASH_ERROR_INIT;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    bson_value_t id = support_int_id(1);
    uint8_t *data = ash__alloc(LENGTH);
    (void)f;
    memset(data, version, LENGTH);
    o.replace = true;
    if (by_id)
        assert_ok(ash_bucket_open_upload_stream_with_id(b, &id, "f", &o, &u, &err), &err);
    else
        assert_ok(ash_bucket_open_upload_stream(b, "f", &o, &u, &err), &err);
    assert_ok(ash_upload_write(u, data, LENGTH, &err), &err);
    assert_ok(ash_upload_finish(u, NULL, &err), &err);
    ash_upload_free(u);
    ash__free(data);
}

typedef struct reader {
    ash_bucket *bucket;
    pthread_t thread;
    int64_t pause_ms; /* before each piece */
    atomic_bool stop;
    int64_t whole;     /* downloads that came to their end */
    int64_t not_there; /* the file was deleted just then */
    ash_error err;     /* what else happened */
    bool mixed;
} reader;

static bool read_one(reader *r, ash_download *d)
{
    const uint8_t *piece;
    size_t len;
    int64_t total = 0;
    int first = -1;
    for (;;) {
        if (r->pause_ms > 0)
            ash__clock_sleep_ms(r->pause_ms);
        if (ash_download_next(d, &piece, &len, &r->err) != 0)
            return false;
        if (len == 0)
            break;
        if (first < 0)
            first = piece[0];
        for (size_t i = 0; i < len; i += 97)
            if (piece[i] != first)
                r->mixed = true;
        total += (int64_t)len;
    }
    if (total != ash_file_length(ash_download_file(d)))
        r->mixed = true;
    r->whole++;
    return !r->mixed;
}

static void *keep_reading(void *arg)
{
    reader *r = arg;
    /* On a busy machine all changes may be over before it comes to its first. */
    while (!atomic_load(&r->stop) || r->whole == 0) {
        ash_download *d = NULL;
        int rc = ash_bucket_open_download_stream_by_name(r->bucket, "f", NULL, &d, &r->err);
        if (rc == ASH_ENOTFOUND) {
            r->not_there++;
            r->err = (ash_error)ASH_ERROR_INIT;
            continue;
        }
        bool ok = rc == 0 && read_one(r, d);
        ash_download_free(d);
        if (!ok)
            break;
    }
    return NULL;
}

/* One reads as fast as it can, the other rests before each piece. */
static void start(reader *r, ash_bucket *b)
{
    for (int i = 0; i < READERS; i++) {
        r[i] = (reader){.bucket = b, .pause_ms = 2 * i};
        atomic_init(&r[i].stop, false);
        assert_int_equal(pthread_create(&r[i].thread, NULL, keep_reading, &r[i]), 0);
    }
}

/* *not_there may be NULL: then the file was there all the time. */
static void stop(reader *r, int64_t *not_there)
{
    for (int i = 0; i < READERS; i++) {
        atomic_store(&r[i].stop, true);
        pthread_join(r[i].thread, NULL);
        if (r[i].err.code != 0)
            fail_msg("a reader failed: %s", r[i].err.text);
        assert_false(r[i].mixed);
        assert_true(r[i].whole > 0);
        if (not_there == NULL)
            assert_int_equal(r[i].not_there, 0);
        else
            *not_there += r[i].not_there;
    }
}

/* A change of the file "f", the i-th. */
typedef void change(fixture *f, ash_bucket *b, int i);

/* Readers read the file "f", filled with `first`, while it is changed again and again.  by_id: it
 * has an id of its own. */
static void read_beside(fixture *f, bool by_id, uint8_t first, int rounds, change *once,
                        int64_t *not_there)
{
    ash_bucket *b = support_open_bucket(f, LARGE);
    reader r[READERS];
    put_version(f, b, by_id, first);
    start(r, b);
    for (int i = 1; i <= rounds; i++)
        once(f, b, i);
    stop(r, not_there);
    ash_bucket_free(b);
}

static void replace(fixture *f, ash_bucket *b, int i)
{
    put_version(f, b, false, (uint8_t)i);
}

static void test_bucket_versions__readers_beside_replacing(void **state)
{
    read_beside(*state, false, 0, rounds_wanted(), replace, NULL);
}

static void delete_and_put(fixture *f, ash_bucket *b, int i)
{
    bson_value_t id = support_int_id(1);
    assert_ok(ash_bucket_delete(b, &id, NULL, &f->err), &f->err);
    put_version(f, b, true, (uint8_t)i);
}

static void test_bucket_versions__readers_beside_deleting(void **state)
{
    int64_t not_there = 0;
    read_beside(*state, true, 0, rounds_wanted(), delete_and_put, &not_there);
}

/* Each alteration overwrites the file and makes it longer or, every eighth time, short again. */
static void alter_once(fixture *f, ash_bucket *b, uint8_t version)
{
    bson_value_t id = support_int_id(1);
    ash_alter *a = NULL;
    uint8_t *data = ash__alloc(LENGTH + 8 * GROWTH);
    memset(data, version, LENGTH + 8 * GROWTH);
    assert_ok(ash_bucket_open_alter(b, &id, NULL, &a, &f->err), &f->err);
    int64_t length = ash_alter_length(a);
    if (length >= LENGTH + 7 * GROWTH) {
        length = LENGTH;
        assert_ok(ash_alter_truncate(a, length, &f->err), &f->err);
    }
    assert_ok(ash_alter_write(a, 0, data, (size_t)length, &f->err), &f->err);
    assert_ok(ash_alter_append(a, data, GROWTH, &f->err), &f->err);
    assert_ok(ash_alter_finish(a, NULL, &f->err), &f->err);
    ash_alter_free(a);
    ash__free(data);
}

static void append_once(fixture *f, ash_bucket *b, uint8_t version)
{
    bson_value_t id = support_int_id(1);
    ash_alter *a = NULL;
    uint8_t data[GROWTH];
    memset(data, version, sizeof data);
    assert_ok(ash_bucket_open_alter(b, &id, NULL, &a, &f->err), &f->err);
    assert_ok(ash_alter_append(a, data, sizeof data, &f->err), &f->err);
    assert_ok(ash_alter_finish(a, NULL, &f->err), &f->err);
    ash_alter_free(a);
}

static void alter(fixture *f, ash_bucket *b, int i)
{
    alter_once(f, b, (uint8_t)i);
}

static void test_bucket_versions__readers_beside_altering(void **state)
{
    read_beside(*state, true, 0, rounds_wanted(), alter, NULL);
}

/* What was appended is the same byte again, so a version is told by its length alone. */
static void append_the_same(fixture *f, ash_bucket *b, int i)
{
    (void)i;
    append_once(f, b, 9);
}

static void test_bucket_versions__readers_beside_appending(void **state)
{
    read_beside(*state, true, 9, rounds_wanted(), append_the_same, NULL);
}

/* Appended to, altered, deleted and made anew under the same id. */
static void everything(fixture *f, ash_bucket *b, int i)
{
    append_once(f, b, (uint8_t)(i - 1));
    alter_once(f, b, (uint8_t)i);
    delete_and_put(f, b, i);
}

static void test_bucket_versions__readers_beside_everything(void **state)
{
    int64_t not_there = 0;
    read_beside(*state, true, 0, rounds_wanted() / 4, everything, &not_there);
}

/* One download that was opened before everything, and read piece by piece in between. */
static void slow_reader(fixture *f, change *once)
{
    ash_bucket *b = support_open_bucket(f, LARGE);
    ash_download *d = NULL;
    const uint8_t *piece;
    size_t len = 1;
    int64_t total = 0;
    put_version(f, b, true, 77);
    assert_ok(ash_bucket_open_download_stream_by_name(b, "f", NULL, &d, &f->err), &f->err);
    for (int i = 0; len > 0; i++) {
        for (int k = 0; k < rounds_wanted() / 6; k++)
            once(f, b, i * 100 + k);
        assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
        for (size_t at = 0; at < len; at += 61)
            assert_int_equal(piece[at], 77);
        total += (int64_t)len;
    }
    assert_int_equal(total, LENGTH);
    ash_download_free(d);
    ash_bucket_free(b);
}

static void test_bucket_versions__a_slow_reader_of_a_deleted_file(void **state)
{
    slow_reader(*state, delete_and_put);
}

static void test_bucket_versions__a_slow_reader_of_an_altered_file(void **state)
{
    slow_reader(*state, alter);
}

/* The store holds what the stream was opened on, all of it. */
static void expect_all(fixture *f, ash_download *d, int64_t from, uint8_t version)
{
    const uint8_t *piece;
    size_t len;
    int64_t at = from;
    assert_ok(ash_download_seek(d, from, &f->err), &f->err);
    for (;;) {
        assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
        for (size_t i = 0; i < len; i++)
            assert_int_equal(piece[i], version);
        if (len == 0)
            break;
        at += (int64_t)len;
    }
    assert_int_equal(at, LENGTH);
}

static void test_bucket_versions__seeking_stays_with_the_version(void **state)
{
    fixture *f = *state;
    ash_bucket *b = support_open_bucket(f, LARGE);
    ash_download *d = NULL;
    const uint8_t *piece;
    size_t len;
    put_version(f, b, true, 1);
    assert_ok(ash_bucket_open_download_stream_by_name(b, "f", NULL, &d, &f->err), &f->err);
    do
        assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
    while (len > 0);
    alter_once(f, b, 2);
    expect_all(f, d, 0, 1);
    bson_value_t id = support_int_id(1);
    assert_ok(ash_bucket_delete(b, &id, NULL, &f->err), &f->err);
    put_version(f, b, true, 3);
    expect_all(f, d, LENGTH - LARGE - 5, 1);
    expect_all(f, d, LENGTH - 1, 1);
    expect_all(f, d, LENGTH, 1);
    expect_all(f, d, LARGE + 1, 1);
    /* From the middle to the end and back, too, and with nothing read in between. */
    assert_ok(ash_download_seek(d, 7, &f->err), &f->err);
    assert_ok(ash_download_next(d, &piece, &len, &f->err), &f->err);
    assert_ok(ash_download_seek(d, 8, &f->err), &f->err);
    expect_all(f, d, LENGTH, 1);
    assert_ok(ash_download_seek(d, 8, &f->err), &f->err);
    assert_ok(ash_download_seek(d, LENGTH, &f->err), &f->err);
    expect_all(f, d, 8, 1);
    ash_download_free(d);
    ash_bucket_free(b);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_bucket_versions__##name, support_setup, support_teardown)
    const struct CMUnitTest tests[] = {
        T(readers_beside_replacing),         T(readers_beside_deleting),
        T(readers_beside_altering),          T(a_slow_reader_of_a_deleted_file),
        T(readers_beside_appending),         T(readers_beside_everything),
        T(a_slow_reader_of_an_altered_file), T(seeking_stays_with_the_version),
    };
    return cmocka_run_group_tests_name("bucket versions", tests, NULL, NULL);
}
