/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "store/embedded/files/versions.h"

#define CHUNKS 6
#define BYTES  60000

enum { READER = 11, CHANGER = 12, OTHER = 13 };

static ash_collection *collection(fixture *f, const char *name)
{
    ash_collection *c = NULL;
    assert_ok(ash_collection_new(f->store, "test", name, &c, &f->err), &f->err);
    return c;
}

/* Files 1 and 2, and a server's store. */
static void put_files(fixture *f)
{
    ash_collection *chunks = collection(f, "fs.chunks"), *files = collection(f, "fs.files");
    ash__versions_expect_readers(f->store);
    for (int file = 1; file <= 2; file++)
        for (int n = 0; n < CHUNKS; n++) {
            bson_t *b = fixture_chunk(file, n, 0, BYTES);
            assert_ok(ash_collection_insert_one(chunks, b, NULL, &f->err), &f->err);
            bson_destroy(b);
        }
    assert_ok(fixture_insert(f, files, "{\"_id\":1,\"x\":1}"), &f->err);
    assert_ok(fixture_insert(f, files, "{\"_id\":2,\"x\":2}"), &f->err);
    ash_collection_free(chunks);
    ash_collection_free(files);
}

static ash_cursor *find(fixture *f, const char *name, const char *filter, const char *sort,
                        uint64_t reader)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_collection *c = collection(f, name);
    ash_cursor *cursor = NULL;
    bson_t *filtered = fixture_json(filter), *sorted = fixture_json(sort);
    opts.op.reader = reader;
    opts.sort = sorted;
    assert_ok(ash_collection_find(c, filtered, &opts, &cursor, &f->err), &f->err);
    bson_destroy(filtered);
    bson_destroy(sorted);
    ash_collection_free(c);
    return cursor;
}

static int drain(fixture *f, ash_cursor *cursor)
{
    int count = 0;
    ash_doc doc;
    do {
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        count += doc.data != NULL;
    } while (doc.data != NULL);
    ash_cursor_free(cursor);
    return count;
}

static int read_chunks(fixture *f, const char *filter, uint64_t reader)
{
    return drain(f, find(f, "fs.chunks", filter, "{\"n\":1}", reader));
}

static int remove_chunks(ash_transaction *t, void *ctx, ash_error *err)
{
    fixture *f = ctx;
    ash_remove_options opts = ASH_REMOVE_OPTIONS_INIT;
    ash_collection *c = collection(f, "fs.chunks");
    bson_t *filter = fixture_json("{\"files_id\":2}");
    opts.op.transaction = t;
    opts.op.reader = CHANGER;
    int rc = ash_collection_remove(c, filter, &opts, NULL, err);
    bson_destroy(filter);
    ash_collection_free(c);
    return rc;
}

static void remove_file(fixture *f)
{
    assert_ok(ash_store_transact(f->store, remove_chunks, f, NULL, &f->err), &f->err);
}

/* What a full disk does; and is there room then? */
static bool make_room(fixture *f)
{
    ash_engine *engine = ash__embedded(f->store)->engine;
    ash_engine_stats stats;
    uint64_t punched;
    assert_ok(ash__engine_compact(engine, &punched, &f->err), &f->err);
    assert_ok(ash__engine_stats(engine, &stats, &f->err), &f->err);
    assert_true(stats.held_blocks > 0);
    ash__versions_make_room(ash__embedded(f->store));
    assert_ok(ash__engine_compact(engine, &punched, &f->err), &f->err);
    assert_ok(ash__engine_stats(engine, &stats, &f->err), &f->err);
    return stats.held_blocks == 0;
}

/* Who deletes a file looks at it first. */
static void test_embedded_versions__room_that_nobody_reads_is_made(void **state)
{
    fixture *f = *state;
    put_files(f);
    assert_int_equal(drain(f, find(f, "fs.files", "{\"_id\":2}", "{}", CHANGER)), 1);
    assert_int_equal(drain(f, find(f, "fs.files", "{\"_id\":1}", "{}", OTHER)), 1);
    remove_file(f);
    assert_true(make_room(f));
    assert_int_equal(read_chunks(f, "{\"files_id\":2}", CHANGER), 0);
}

static void test_embedded_versions__what_a_reader_was_given_is_no_room(void **state)
{
    fixture *f = *state;
    put_files(f);
    assert_int_equal(drain(f, find(f, "fs.files", "{\"_id\":2}", "{}", READER)), 1);
    remove_file(f);
    assert_false(make_room(f));
    assert_int_equal(read_chunks(f, "{\"files_id\":2}", READER), CHUNKS);
    assert_false(make_room(f));
    assert_int_equal(read_chunks(f, "{\"files_id\":2}", CHANGER), 0);
    ash__versions_forget_reader(f->store, READER);
    assert_true(make_room(f));
}

/* A sorted find holds documents that it gives later, from no snapshot. */
static void test_embedded_versions__what_a_find_has_still_to_give_is_no_room(void **state)
{
    fixture *f = *state;
    ash_batch batch;
    put_files(f);
    ash_cursor *cursor = find(f, "fs.files", "{}", "{\"x\":1}", READER);
    assert_ok(ash_cursor_next_batch(cursor, 1, 0, &batch, &f->err), &f->err);
    remove_file(f);
    ash_cursor *later = find(f, "fs.files", "{}", "{\"x\":1}", OTHER);
    assert_ok(ash_cursor_next_batch(later, 1, 0, &batch, &f->err), &f->err);
    assert_false(make_room(f));
    assert_int_equal(drain(f, cursor), 1);
    assert_int_equal(read_chunks(f, "{\"files_id\":2}", READER), CHUNKS);
    ash__versions_forget_reader(f->store, READER);
    assert_true(make_room(f));
    ash_cursor_free(later);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_versions__room_that_nobody_reads_is_made),
        EMBEDDED(test_embedded_versions__what_a_reader_was_given_is_no_room),
        EMBEDDED(test_embedded_versions__what_a_find_has_still_to_give_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
