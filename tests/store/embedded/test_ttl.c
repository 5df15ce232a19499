/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "store/embedded/care/sweep.h"
#include "wrapped_engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void create_index(fixture *f, const char *specs)
{
    bson_t *b = fixture_json(specs);
    assert_ok(ash_collection_create_indexes(f->c, b, NULL, NULL, &f->err), &f->err);
    bson_destroy(b);
}

static void insert_dated(fixture *f, int id, int64_t at_ms)
{
    bson_t b = BSON_INITIALIZER;
    bson_append_int32(&b, "_id", -1, id);
    bson_append_date_time(&b, "at", -1, at_ms);
    assert_ok(ash_collection_insert_one(f->c, &b, NULL, &f->err), &f->err);
    bson_destroy(&b);
}

static void test_embedded_ttl__only_what_is_over(void **state)
{
    fixture *f = *state;
    int64_t now = ash__clock_wall_ms();
    create_index(f, "[{\"key\":{\"at\":1},\"name\":\"at\",\"expireAfterSeconds\":60}]");
    insert_dated(f, 1, now - 61000);
    insert_dated(f, 2, now - 50000);
    insert_dated(f, 3, now + 1000000);
    insert_dated(f, 4, -5000000000000);
    assert_ok(fixture_insert(f, f->c, "{\"_id\":5,\"at\":1}"), &f->err);
    assert_ok(fixture_insert(f, f->c, "{\"_id\":6}"), &f->err);
    assert_ok(fixture_insert(f, f->c,
                             "{\"_id\":7,\"at\":[{\"$date\":\"2200-01-01T00:00:00Z\"},"
                             "{\"$date\":\"2001-01-01T00:00:00Z\"}]}"),
              &f->err);
    assert_ok(ash__ttl_sweep(ash__embedded(f->store), &f->err), &f->err);
    assert_int_equal(fixture_count(f, f->c, "{\"_id\":{\"$in\":[1,4,7]}}"), 0);
    assert_int_equal(fixture_count(f, f->c, "{}"), 4);
}

static void test_embedded_ttl__descending_and_many(void **state)
{
    fixture *f = *state;
    int64_t now = ash__clock_wall_ms();
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    size_t events = 0;
    create_index(f, "[{\"key\":{\"at\":-1},\"name\":\"at\",\"expireAfterSeconds\":0}]");
    for (int i = 0; i < 700; i++)
        insert_dated(f, i, now - 1 - i);
    insert_dated(f, 700, now + 1000000);
    assert_ok(ash_store_watch(f->store, "test", "things", &opts, &cursor, &f->err), &f->err);
    assert_ok(ash__ttl_sweep(ash__embedded(f->store), &f->err), &f->err);
    assert_int_equal(fixture_count(f, f->c, "{}"), 1);
    ash_cursor_set_op(cursor, 0, NULL, 1);
    do {
        assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &f->err), &f->err);
        events += batch.count;
    } while (batch.count > 0);
    assert_int_equal(events, 700);
    ash_cursor_free(cursor);
}

static void insert_large(fixture *f, int id, int64_t at_ms)
{
    static const uint8_t bytes[20000];
    bson_t b = BSON_INITIALIZER;
    bson_append_int32(&b, "_id", -1, id);
    bson_append_date_time(&b, "at", -1, at_ms);
    bson_append_binary(&b, "data", -1, BSON_SUBTYPE_BINARY, bytes, sizeof bytes);
    assert_ok(ash_collection_insert_one(f->c, &b, NULL, &f->err), &f->err);
    bson_destroy(&b);
}

/* Somewhere in the data of the first record. */
static void damage_first(fixture *f)
{
    char path[300];
    snprintf(path, sizeof path, "%s/segments/00000001.seg", f->folder);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 4096 + 10000, SEEK_SET), 0);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
}

static void test_embedded_ttl__damage_stops_nothing_else(void **state)
{
    fixture *f = *state;
    ash_collection *things = f->c, *others = NULL;
    const char *specs = "[{\"key\":{\"at\":1},\"name\":\"at\",\"expireAfterSeconds\":0}]";
    create_index(f, specs);
    insert_large(f, 1, 1000);
    for (int i = 2; i < 700; i++)
        insert_dated(f, i, 2000);
    assert_ok(ash_collection_new(f->store, "test", "others", &others, &f->err), &f->err);
    f->c = others;
    create_index(f, specs);
    insert_dated(f, 1, 1000);
    f->c = things;
    damage_first(f);
    assert_int_equal(ash__ttl_sweep(ash__embedded(f->store), &f->err), ASH_ECORRUPT);
    assert_non_null(strstr(f->err.text, "test.things, record 1"));
    assert_int_equal(fixture_count(f, things, "{}"), 1);
    assert_int_equal(fixture_count(f, others, "{}"), 0);
    ash_collection_free(others);
}

static void test_embedded_ttl__by_itself(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.ttl_interval_ms = 20;
    fixture_open(f);
    create_index(f, "[{\"key\":{\"at\":1},\"name\":\"at\",\"expireAfterSeconds\":0}]");
    insert_dated(f, 1, ash__clock_wall_ms() - 1000);
    int64_t until = ash__clock_ms() + 10000;
    while (fixture_count(f, f->c, "{}") > 0 && ash__clock_ms() < until)
        ash__clock_sleep_ms(10);
    assert_int_equal(fixture_count(f, f->c, "{}"), 0);
}

/* What the store's segment files take on the disk. */
static int64_t taken(const fixture *f)
{
    int64_t bytes = 0;
    for (unsigned id = 1; id < 8; id++) {
        char path[sizeof f->folder + 32];
        struct stat st;
        snprintf(path, sizeof path, "%s/segments/%08x.seg", f->folder, id);
        if (stat(path, &st) == 0)
            bytes += (int64_t)st.st_blocks * 512;
    }
    return bytes;
}

static void test_embedded_ttl__free_space_is_given_back_meanwhile(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    f->opts.ttl_interval_ms = 20;
    wrapped_engine_trim_eagerly(true);
    fixture_open(f);
    wrapped_engine_trim_eagerly(false);
    for (int n = 0; n < 12; n++) {
        bson_t *chunk = fixture_chunk(1, n, 0, 255 << 10);
        assert_ok(ash_collection_insert_one(f->c, chunk, NULL, &f->err), &f->err);
        bson_destroy(chunk);
    }
    assert_true(taken(f) >= 12 * (255 << 10));
    assert_ok(ash_collection_drop(f->c, NULL, &f->err), &f->err);
    int64_t until = ash__clock_ms() + 20000;
    while (taken(f) > 100000 && ash__clock_ms() < until)
        ash__clock_sleep_ms(10);
    assert_true(taken(f) <= 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_ttl__only_what_is_over),
        EMBEDDED(test_embedded_ttl__descending_and_many),
        EMBEDDED(test_embedded_ttl__damage_stops_nothing_else),
        EMBEDDED(test_embedded_ttl__by_itself),
        EMBEDDED(test_embedded_ttl__free_space_is_given_back_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
