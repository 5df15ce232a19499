/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"

#include <string.h>

#define CHUNKS 12
#define BYTES  60000

static ash_collection *chunks_of(fixture *f)
{
    ash_collection *c = NULL;
    bson_t *specs = fixture_json(
        "[{\"key\":{\"files_id\":1,\"n\":1},\"name\":\"files_id_1_n_1\",\"unique\":true}]");
    assert_ok(ash_collection_new(f->store, "test", "fs.chunks", &c, &f->err), &f->err);
    assert_ok(ash_collection_create_indexes(c, specs, NULL, NULL, &f->err), &f->err);
    bson_destroy(specs);
    return c;
}

static void put_file(fixture *f, ash_collection *c, int file, int version)
{
    for (int n = 0; n < CHUNKS; n++) {
        bson_t *b = fixture_chunk(file, n, version, BYTES);
        assert_ok(ash_collection_insert_one(c, b, NULL, &f->err), &f->err);
        bson_destroy(b);
    }
}

static void remove_file(fixture *f, ash_collection *c, int file)
{
    bson_t filter = BSON_INITIALIZER;
    bson_append_int32(&filter, "files_id", -1, file);
    assert_ok(ash_collection_remove(c, &filter, NULL, NULL, &f->err), &f->err);
    bson_destroy(&filter);
}

static ash_cursor *open_file(fixture *f, ash_collection *c, int file)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t filter = BSON_INITIALIZER;
    bson_t sort = BSON_INITIALIZER;
    bson_append_int32(&filter, "files_id", -1, file);
    bson_append_int32(&sort, "n", -1, 1);
    opts.sort = &sort;
    assert_ok(ash_collection_find(c, &filter, &opts, &cursor, &f->err), &f->err);
    bson_destroy(&filter);
    bson_destroy(&sort);
    return cursor;
}

/* One open download a round; the file is replaced and deleted under each, 200 times over. */
static void test_embedded_download__reads_one_version_under_200_changes(void **state)
{
    fixture *f = *state;
    ash_collection *c = chunks_of(f);
    enum { OPEN = 8, ROUNDS = 200 };
    ash_cursor *cursors[OPEN] = {NULL};
    int versions[OPEN] = {0};
    int next[OPEN] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int slot = round % OPEN;
        ash_batch batch;
        remove_file(f, c, 1);
        put_file(f, c, 1, round);
        if (cursors[slot] != NULL) {
            ash_cursor_free(cursors[slot]);
            assert_int_equal(next[slot], CHUNKS);
        }
        cursors[slot] = open_file(f, c, 1);
        versions[slot] = round;
        next[slot] = 0;
        /* Each open download goes on by two chunks, so all of them end under later versions. */
        for (int i = 0; i < OPEN && cursors[i] != NULL; i++) {
            assert_ok(ash_cursor_next_batch(cursors[i], 2, 0, &batch, &f->err), &f->err);
            for (size_t k = 0; k < batch.count; k++) {
                bson_t *wanted = fixture_chunk(1, next[i]++, versions[i], BYTES);
                assert_int_equal(batch.docs[k].len, wanted->len);
                assert_memory_equal(batch.docs[k].data, bson_get_data(wanted), wanted->len);
                bson_destroy(wanted);
            }
        }
    }
    for (int i = 0; i < OPEN; i++)
        ash_cursor_free(cursors[i]);
    ash_collection_free(c);
}

static void test_embedded_download__lapses_when_it_rests_too_long(void **state)
{
    fixture *f = *state;
    ash_batch batch;
    fixture_close(f);
    f->opts.pin_timeout_ms = 30;
    fixture_open(f);
    ash_collection *c = chunks_of(f);
    put_file(f, c, 1, 0);
    ash_cursor *cursor = open_file(f, c, 1);
    assert_ok(ash_cursor_next_batch(cursor, 2, 0, &batch, &f->err), &f->err);
    ash_cursor_rest(cursor);
    remove_file(f, c, 1);
    ash__clock_sleep_ms(100);
    put_file(f, c, 2, 1);
    put_file(f, c, 3, 1);
    int rc = ash_cursor_next_batch(cursor, 0, 0, &batch, &f->err);
    assert_int_equal(rc, ASH_ECURSOR);
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

/* However slowly a batch is read, its views and the rest of the file stay. */
static void test_embedded_download__does_not_lapse_while_it_is_read(void **state)
{
    fixture *f = *state;
    ash_batch batch;
    int n = 0;
    fixture_close(f);
    f->opts.pin_timeout_ms = 60;
    fixture_open(f);
    ash_collection *c = chunks_of(f);
    put_file(f, c, 1, 0);
    ash_cursor *cursor = open_file(f, c, 1);
    assert_ok(ash_cursor_next_batch(cursor, 5, 0, &batch, &f->err), &f->err);
    remove_file(f, c, 1);
    for (int i = 2; i < 6; i++) {
        ash__clock_sleep_ms(60);
        put_file(f, c, i, 1);
    }
    for (;;) {
        for (size_t i = 0; i < batch.count; i++) {
            bson_t *wanted = fixture_chunk(1, n++, 0, BYTES);
            assert_memory_equal(batch.docs[i].data, bson_get_data(wanted), wanted->len);
            bson_destroy(wanted);
        }
        if (batch.exhausted)
            break;
        assert_ok(ash_cursor_next_batch(cursor, 5, 0, &batch, &f->err), &f->err);
    }
    assert_int_equal(n, CHUNKS);
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

/* More small chunks than are copied: the rest is read through the kept snapshot. */
static void test_embedded_download__small_chunks_beyond_the_copy_limit(void **state)
{
    fixture *f = *state;
    enum { COUNT = 5200, SMALL = 3500, TURN = 400 };
    ash_collection *c = chunks_of(f);
    for (int from = 0; from < COUNT; from += TURN) {
        bson_t *docs[TURN];
        ash_doc views[TURN];
        for (int i = 0; i < TURN; i++) {
            docs[i] = fixture_chunk(0, from + i, 0, SMALL);
            views[i] = (ash_doc){bson_get_data(docs[i]), docs[i]->len};
        }
        assert_ok(ash_collection_insert(c, views, TURN, NULL, NULL, &f->err), &f->err);
        for (int i = 0; i < TURN; i++)
            bson_destroy(docs[i]);
    }
    ash_cursor *cursor = open_file(f, c, 0);
    ash_batch batch;
    int n = 0;
    remove_file(f, c, 0);
    do {
        assert_ok(ash_cursor_next_batch(cursor, 0, 1 << 20, &batch, &f->err), &f->err);
        for (size_t i = 0; i < batch.count; i++) {
            bson_t *wanted = fixture_chunk(0, n++, 0, SMALL);
            assert_memory_equal(batch.docs[i].data, bson_get_data(wanted), wanted->len);
            bson_destroy(wanted);
        }
        ash_cursor_rest(cursor);
    } while (!batch.exhausted);
    assert_int_equal(n, COUNT);
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_download__reads_one_version_under_200_changes),
        EMBEDDED(test_embedded_download__lapses_when_it_rests_too_long),
        EMBEDDED(test_embedded_download__does_not_lapse_while_it_is_read),
        EMBEDDED(test_embedded_download__small_chunks_beyond_the_copy_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
