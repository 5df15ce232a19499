/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "remove_folder.h"
#include "wire/server.h"

#include <ashlar/ashlar.h>
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that holds a folder, serves it, and changes a file in it, while an unmodified driver
 * (libmongoc's own GridFS bucket, which reads the files document first and the chunks after it)
 * downloads that file over and over. */

#define CHUNK  (6 * 1024) /* lies in segments */
#define LENGTH (3 * CHUNK + 100)
#define GROWTH 3001
#define STEPS  4 /* a version has the length LENGTH + (version % STEPS) * GROWTH */
#define ROUNDS 1000

typedef struct served {
    char *folder;
    ash_store *store;
    ash_bucket *bucket;
    ash_server *server;
    char uri[64];
    ash_error err;
} served;

static int setup(void **state)
{
    served *s = ash__new(served);
    const char *tmp = getenv("TMPDIR");
    const char *listen = "127.0.0.1:0";
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_server_options server = ASH_SERVER_OPTIONS_INIT;
    size_t count;
    s->folder = ash__sprintf("%s/ashlar-served-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->folder));
    assert_ok(ash_store_open(s->folder, NULL, &s->store, &s->err), &s->err);
    o.chunk_size_bytes = CHUNK;
    assert_ok(ash_bucket_new(s->store, &o, &s->bucket, &s->err), &s->err);
    server.listen = &listen;
    server.listen_count = 1;
    assert_ok(ash__server_start(s->store, &server, &s->server, &s->err), &s->err);
    snprintf(s->uri, sizeof s->uri, "mongodb://%s/?directConnection=true",
             ash__server_addresses(s->server, &count)[0]);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    served *s = *state;
    ash__server_stop(s->server);
    ash_bucket_free(s->bucket);
    ash_store_close(s->store);
    remove_folder(s->folder);
    ash__free(s->folder);
    ash__free(s);
    return 0;
}

/* ---- changing the file ---- */

static const bson_value_t the_id = {.value_type = BSON_TYPE_INT32, .value.v_int32 = 1};

static size_t length_of(int version)
{
    return LENGTH + (size_t)(version % STEPS) * GROWTH;
}

static uint8_t *bytes_of(int version)
{
    uint8_t *data = ash__alloc(length_of(version));
    memset(data, version, length_of(version));
    return data;
}

static void put(served *s, int version)
{
    ash_upload *u = NULL;
    uint8_t *data = bytes_of(version);
    assert_ok(ash_bucket_open_upload_stream_with_id(s->bucket, &the_id, "f", NULL, &u, &s->err),
              &s->err);
    assert_ok(ash_upload_write(u, data, length_of(version), &s->err), &s->err);
    assert_ok(ash_upload_finish(u, NULL, &s->err), &s->err);
    ash_upload_free(u);
    ash__free(data);
}

static void delete_and_put(served *s, int version)
{
    assert_ok(ash_bucket_delete(s->bucket, &the_id, NULL, &s->err), &s->err);
    put(s, version);
}

/* Every byte is another one, and the length is another, too. */
static void alter(served *s, int version)
{
    ash_alter *a = NULL;
    uint8_t *data = bytes_of(version);
    assert_ok(ash_bucket_open_alter(s->bucket, &the_id, NULL, &a, &s->err), &s->err);
    assert_ok(ash_alter_truncate(a, (int64_t)length_of(version), &s->err), &s->err);
    assert_ok(ash_alter_write(a, 0, data, length_of(version), &s->err), &s->err);
    assert_ok(ash_alter_finish(a, NULL, &s->err), &s->err);
    ash_alter_free(a);
    ash__free(data);
}

/* ---- a driver ---- */

typedef struct driver {
    const char *uri;
    pthread_t thread;
    int64_t pause_ms; /* between pieces */
    atomic_bool stop;
    int whole, not_there, failed;
    bool mixed;
    char why[600];
} driver;

/* All bytes the same, and as many as that version has. */
static bool is_version(const uint8_t *data, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (data[i] != data[0])
            return false;
    return len > 0 && len == length_of(data[0]);
}

static void read_one(driver *d, mongoc_gridfs_bucket_t *bucket)
{
    static const size_t PIECE = 5000;
    uint8_t data[LENGTH + STEPS * GROWTH + 10000];
    size_t len = 0;
    bson_error_t error;
    mongoc_stream_t *stream = mongoc_gridfs_bucket_open_download_stream(bucket, &the_id, &error);
    if (stream == NULL) {
        d->not_there++;
        return;
    }
    for (;;) {
        ssize_t got = mongoc_stream_read(stream, data + len, PIECE, 1, 0);
        if (got <= 0 || len + (size_t)got + PIECE > sizeof data)
            break;
        len += (size_t)got;
        if (d->pause_ms > 0)
            ash__clock_sleep_ms(d->pause_ms);
    }
    if (mongoc_gridfs_bucket_stream_error(stream, &error)) {
        d->failed++;
        snprintf(d->why, sizeof d->why, "%s", error.message);
    } else if (is_version(data, len)) {
        d->whole++;
    } else {
        d->mixed = true;
        snprintf(d->why, sizeof d->why, "%zu bytes from %d to %d", len, data[0],
                 len > 0 ? data[len - 1] : -1);
    }
    mongoc_stream_destroy(stream);
}

static void *keep_reading(void *arg)
{
    driver *d = arg;
    mongoc_client_t *client = mongoc_client_new(d->uri);
    mongoc_database_t *db = mongoc_client_get_database(client, "test");
    mongoc_gridfs_bucket_t *bucket = mongoc_gridfs_bucket_new(db, NULL, NULL, NULL);
    while (!atomic_load(&d->stop) && !d->mixed)
        read_one(d, bucket);
    mongoc_gridfs_bucket_destroy(bucket);
    mongoc_database_destroy(db);
    mongoc_client_destroy(client);
    return NULL;
}

enum { DRIVERS = 2 };

static void change_beside_drivers(served *s, void (*change)(served *, int), int rounds, driver *d)
{
    put(s, 0);
    for (int i = 0; i < DRIVERS; i++) {
        d[i] = (driver){.uri = s->uri, .pause_ms = 2 * i};
        atomic_init(&d[i].stop, false);
        assert_int_equal(pthread_create(&d[i].thread, NULL, keep_reading, &d[i]), 0);
    }
    for (int i = 1; i <= rounds; i++)
        change(s, i % 256);
    for (int i = 0; i < DRIVERS; i++) {
        atomic_store(&d[i].stop, true);
        pthread_join(d[i].thread, NULL);
        if (d[i].mixed || d[i].failed > 0)
            fail_msg("%d downloads of %d failed, or were a mixture: %s", d[i].failed,
                     d[i].failed + d[i].whole, d[i].why);
        assert_true(d[i].whole > 0);
    }
}

static void test_served_versions__drivers_beside_altering(void **state)
{
    driver d[DRIVERS];
    change_beside_drivers(*state, alter, ROUNDS, d);
    for (int i = 0; i < DRIVERS; i++)
        assert_int_equal(d[i].not_there, 0);
}

/* The changes are another process's, one transaction each. */
static void test_served_versions__drivers_beside_altering_through_the_server(void **state)
{
    served *s = *state;
    driver d[DRIVERS];
    ash_bucket *own = s->bucket;
    ash_store *client = NULL;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    o.chunk_size_bytes = CHUNK;
    assert_ok(ash_store_open(s->uri, NULL, &client, &s->err), &s->err);
    assert_ok(ash_bucket_new(client, &o, &s->bucket, &s->err), &s->err);
    change_beside_drivers(s, alter, ROUNDS / 5, d);
    for (int i = 0; i < DRIVERS; i++)
        assert_int_equal(d[i].not_there, 0);
    ash_bucket_free(s->bucket);
    ash_store_close(client);
    s->bucket = own;
}

static void test_served_versions__drivers_beside_deleting(void **state)
{
    driver d[DRIVERS];
    change_beside_drivers(*state, delete_and_put, ROUNDS, d);
}

/* ---- what is remembered, and for whom ---- */

typedef struct client {
    mongoc_client_t *client;
    mongoc_collection_t *files, *chunks;
} client;

static client connect_client(const served *s)
{
    client c = {.client = mongoc_client_new(s->uri)};
    c.files = mongoc_client_get_collection(c.client, "test", "fs.files");
    c.chunks = mongoc_client_get_collection(c.client, "test", "fs.chunks");
    return c;
}

static void disconnect(client *c)
{
    mongoc_collection_destroy(c->files);
    mongoc_collection_destroy(c->chunks);
    mongoc_client_destroy(c->client);
}

/* A step of a download by hand: the length that the files document says, or the version
 * of the chunks (-1: none). */
static int64_t see_file(client *c)
{
    bson_t *filter = BCON_NEW("_id", BCON_INT32(1));
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(c->files, filter, NULL, NULL);
    const bson_t *doc;
    bson_iter_t it;
    int64_t length = -1;
    if (mongoc_cursor_next(cursor, &doc) && bson_iter_init_find(&it, doc, "length"))
        length = bson_iter_as_int64(&it);
    mongoc_cursor_destroy(cursor);
    bson_destroy(filter);
    return length;
}

static int see_chunks(client *c)
{
    bson_t *filter = BCON_NEW("files_id", BCON_INT32(1));
    bson_t *opts = BCON_NEW("sort", "{", "n", BCON_INT32(1), "}");
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(c->chunks, filter, opts, NULL);
    const bson_t *doc;
    int count = 0, first = -1;
    while (mongoc_cursor_next(cursor, &doc)) {
        bson_iter_t it;
        const uint8_t *data;
        uint32_t len;
        assert_true(bson_iter_init_find(&it, doc, "data"));
        bson_iter_binary(&it, NULL, &len, &data);
        if (first < 0)
            first = data[0];
        assert_int_equal(data[0], first);
        count++;
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(opts);
    bson_destroy(filter);
    assert_int_equal(count, first < 0 ? 0 : (length_of(first) + CHUNK - 1) / CHUNK);
    return first;
}

/* Who was given the old document gets the old chunks, again and again; who looks anew, the new. */
static void test_served_versions__a_client_gets_what_it_was_given(void **state)
{
    served *s = *state;
    client old = connect_client(s), late = connect_client(s);
    put(s, 0);
    assert_int_equal(see_file(&old), length_of(0));
    for (int version = 1; version <= 29; version++)
        alter(s, version);
    assert_int_equal(see_file(&late), length_of(29));
    assert_int_equal(see_chunks(&late), 29);
    for (int i = 0; i < 3; i++)
        assert_int_equal(see_chunks(&old), 0);
    assert_int_equal(see_file(&old), length_of(29));
    assert_int_equal(see_chunks(&old), 29);
    assert_ok(ash_bucket_delete(s->bucket, &the_id, NULL, &s->err), &s->err);
    assert_int_equal(see_chunks(&old), 29);
    assert_int_equal(see_file(&old), -1);
    disconnect(&old);
    disconnect(&late);
}

/* More versions than are kept, each given to a client that comes again: the one that a slow client
 * still needs is not the one to go. */
static void test_served_versions__what_is_needed_outlasts_the_rest(void **state)
{
    served *s = *state;
    client slow = connect_client(s), quick = connect_client(s);
    put(s, 0);
    assert_int_equal(see_file(&slow), length_of(0));
    for (int version = 1; version <= 50; version++) {
        see_file(&quick);
        alter(s, version);
    }
    assert_int_equal(see_chunks(&slow), 0);
    assert_int_equal(see_chunks(&quick), 49);
    disconnect(&slow);
    disconnect(&quick);
}

static int remove_chunks(ash_transaction *t, void *ctx, ash_error *err)
{
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    bson_t *filter = BCON_NEW("files_id", BCON_INT32(1));
    o.op.transaction = t;
    int rc = ash_collection_remove(ctx, filter, &o, NULL, err);
    bson_destroy(filter);
    return rc;
}

/* Who removes chunks himself does not find them any more. */
static void test_served_versions__not_what_it_changed_itself(void **state)
{
    served *s = *state;
    client old = connect_client(s);
    ash_store *store = NULL;
    ash_collection *chunks = NULL, *files = NULL;
    bson_t *filter = BCON_NEW("files_id", BCON_INT32(1)), found;
    put(s, 0);
    assert_int_equal(see_file(&old), length_of(0));
    assert_ok(ash_store_open(s->uri, NULL, &store, &s->err), &s->err);
    assert_ok(ash_collection_new(store, NULL, "fs.files", &files, &s->err), &s->err);
    assert_ok(ash_collection_new(store, NULL, "fs.chunks", &chunks, &s->err), &s->err);
    assert_ok(ash_collection_find_one(files, NULL, NULL, &found, &s->err), &s->err);
    bson_destroy(&found);
    assert_ok(ash_store_transact(store, remove_chunks, chunks, NULL, &s->err), &s->err);
    assert_int_equal(ash_collection_find_one(chunks, filter, NULL, &found, &s->err), ASH_ENOTFOUND);
    assert_int_equal(see_chunks(&old), 0);
    bson_destroy(filter);
    ash_collection_free(files);
    ash_collection_free(chunks);
    ash_store_close(store);
    disconnect(&old);
}

/* Many versions that somebody was given, more than are kept: the oldest go, and nothing breaks. */
static void test_served_versions__more_than_are_kept(void **state)
{
    enum { CLIENTS = 40 };
    served *s = *state;
    client c[CLIENTS];
    int kept = 0;
    put(s, 0);
    for (int i = 0; i < CLIENTS; i++) {
        c[i] = connect_client(s);
        assert_int_equal(see_file(&c[i]), length_of(i));
        alter(s, i + 1);
    }
    for (int i = 0; i < CLIENTS; i++)
        kept += see_chunks(&c[i]) == i ? 1 : 0;
    see_file(&c[0]);
    assert_int_equal(see_chunks(&c[0]), CLIENTS);
    assert_true(kept > 4);
    for (int i = 0; i < CLIENTS; i++)
        disconnect(&c[i]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_served_versions__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(drivers_beside_altering),          T(drivers_beside_altering_through_the_server),
        T(drivers_beside_deleting),          T(a_client_gets_what_it_was_given),
        T(not_what_it_changed_itself),       T(more_than_are_kept),
        T(what_is_needed_outlasts_the_rest),
    };
    mongoc_init();
    int failed = cmocka_run_group_tests_name("served versions", tests, NULL, NULL);
    mongoc_cleanup();
    return failed;
}
