/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Writes whose commit fails did not happen, and their results say so. */

static int full_disk(int fd)
{
    (void)fd;
    errno = ENOSPC;
    return -1;
}

static void fill_disk(void)
{
    static ash_io io;
    io = ash__io_system;
    io.fdatasync = full_disk;
    ash__io_set(&io);
}

enum { DOCS = 3, BYTES = 50000 };

static int insert_chunks_with(fixture *f, int file, ash_insert_options opts, ash_write_result *r)
{
    bson_t *docs[DOCS];
    ash_doc views[DOCS];
    for (int i = 0; i < DOCS; i++) {
        docs[i] = fixture_chunk(file, i, 1, BYTES);
        views[i] = (ash_doc){bson_get_data(docs[i]), docs[i]->len};
    }
    ash_write_result_init(r);
    int rc = ash_collection_insert(f->c, views, DOCS, &opts, r, &f->err);
    for (int i = 0; i < DOCS; i++)
        bson_destroy(docs[i]);
    return rc;
}

static int insert_chunks(fixture *f, int file, ash_write_result *r)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    opts.op.durability = ASH_DURABILITY_EVERY;
    return insert_chunks_with(f, file, opts, r);
}

static void test_embedded_lost__insert_counts_nothing(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    assert_ok(insert_chunks(f, 1, &r), &f->err);
    assert_int_equal(r.inserted, DOCS);
    ash_write_result_release(&r);
    fill_disk();
    assert_int_equal(insert_chunks(f, 2, &r), ASH_ENOSPC);
    ash__io_set(NULL);
    assert_int_equal(r.inserted, 0);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{}"), DOCS);
}

/* Nobody waited for the chunks; who waits for their file is told of the disk. */
static void test_embedded_lost__a_file_is_told_why_its_chunks_are_gone(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    ash_collection *files = NULL, *things = f->c;
    ash_insert_options applied = ASH_INSERT_OPTIONS_INIT;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(3), "length", BCON_INT64(DOCS * BYTES), "chunkSize",
                           BCON_INT32(BYTES));
    applied.op.durability = ASH_DURABILITY_INTERVAL;
    assert_ok(ash_collection_new(f->store, "test", "fs.chunks", &f->c, &f->err), &f->err);
    assert_ok(insert_chunks_with(f, 3, applied, &r), &f->err);
    ash_write_result_release(&r);
    ash_collection_free(f->c);
    f->c = things;
    fill_disk();
    assert_int_equal(ash_store_flush(f->store, NULL, &f->err), ASH_ENOSPC);
    ash__io_set(NULL);
    assert_ok(ash_collection_new(f->store, "test", "fs.files", &files, &f->err), &f->err);
    assert_int_equal(ash_collection_insert_one(files, doc, NULL, &f->err), ASH_ENOSPC);
    assert_non_null(strstr(f->err.text, "lost chunks when a commit failed"));
    ash_collection_free(files);
    bson_destroy(doc);
}

/* Document 0 is in the store already, 1 and 2 are new. */
static int insert_mixed(fixture *f, bool unordered, ash_write_result *r)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *docs[DOCS];
    ash_doc views[DOCS];
    opts.op.durability = ASH_DURABILITY_EVERY;
    opts.unordered = unordered;
    for (int i = 0; i < DOCS; i++) {
        docs[i] = fixture_chunk(unordered ? (i == 0 ? 1 : 2) : (i == 2 ? 1 : 2),
                                i == 0 || i == 2 ? 0 : i, 1, BYTES);
        views[i] = (ash_doc){bson_get_data(docs[i]), docs[i]->len};
    }
    ash_write_result_init(r);
    int rc = ash_collection_insert(f->c, views, DOCS, &opts, r, &f->err);
    for (int i = 0; i < DOCS; i++)
        bson_destroy(docs[i]);
    return rc;
}

static int32_t code_of(const ash_write_result *r, int index)
{
    bson_iter_t it, field;
    assert_true(bson_iter_init(&it, &r->errors));
    while (bson_iter_next(&it)) {
        assert_true(bson_iter_recurse(&it, &field) && bson_iter_find(&field, "index"));
        if (bson_iter_int32(&field) != index)
            continue;
        assert_true(bson_iter_recurse(&it, &field) && bson_iter_find(&field, "code"));
        return bson_iter_int32(&field);
    }
    return 0;
}

/* The insert of all of them, with document 0 there and the disk full. */
static void insert_on_full_disk(fixture *f, bool unordered, ash_write_result *r)
{
    assert_ok(insert_chunks(f, 1, r), &f->err);
    ash_write_result_release(r);
    fill_disk();
    int rc = insert_mixed(f, unordered, r);
    ash__io_set(NULL);
    assert_int_equal(rc, ASH_ENOSPC);
    assert_int_equal(r->inserted, 0);
}

static void test_embedded_lost__unordered_insert_tells_of_each_document(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    insert_on_full_disk(f, true, &r);
    assert_int_equal(r.error_count, DOCS);
    assert_int_equal(code_of(&r, 0), 11000);
    assert_int_equal(code_of(&r, 1), 14031);
    assert_int_equal(code_of(&r, 2), 14031);
    ash_write_result_release(&r);
    assert_int_equal(fixture_count(f, f->c, "{}"), DOCS);
}

static void test_embedded_lost__ordered_insert_tells_of_the_disk_first(void **state)
{
    ash_write_result r;
    insert_on_full_disk(*state, false, &r);
    assert_int_equal(r.error_count, 0);
    ash_write_result_release(&r);
}

static int enlarge(fixture *f, bool multi, ash_write_result *r)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    char *large = malloc(BYTES);
    bson_t filter = BSON_INITIALIZER, set = BSON_INITIALIZER, fields;
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    memset(large, 'x', BYTES);
    bson_append_document_begin(&set, "$set", -1, &fields);
    bson_append_utf8(&fields, "large", -1, large, BYTES);
    bson_append_document_end(&set, &fields);
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&set);
    update.value.v_doc.data_len = set.len;
    opts.multi = multi;
    opts.op.durability = ASH_DURABILITY_EVERY;
    ash_write_result_init(r);
    fill_disk();
    int rc = ash_collection_update(f->c, &filter, &update, &opts, r, &f->err);
    ash__io_set(NULL);
    bson_destroy(&filter);
    bson_destroy(&set);
    free(large);
    return rc;
}

static void test_embedded_lost__update_counts_nothing(void **state)
{
    fixture *f = *state;
    ash_write_result r;
    assert_int_equal(fixture_insert(f, f->c, "{\"_id\": 1}"), 0);
    assert_int_equal(fixture_insert(f, f->c, "{\"_id\": 2}"), 0);
    for (int multi = 0; multi < 2; multi++) {
        assert_int_equal(enlarge(f, multi == 1, &r), ASH_ENOSPC);
        assert_int_equal(r.matched, 0);
        assert_int_equal(r.modified, 0);
        ash_write_result_release(&r);
        assert_int_equal(fixture_count(f, f->c, "{\"large\": {\"$exists\": true}}"), 0);
    }
}

/* ---- commits that fail beside something longer ---- */

enum { MANY = 20000, ROUNDS = 12 };

static atomic_int syncs;
static atomic_bool stop;

static int every_second(int fd)
{
    return atomic_fetch_add(&syncs, 1) % 2 == 0 ? full_disk(fd) : ash__io_system.fdatasync(fd);
}

/* Somebody else, who does not wait for the disk. */
static void *insert_large(void *arg)
{
    fixture *f = arg;
    ash_collection *c = NULL;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_error ignored = ASH_ERROR_INIT;
    opts.op.durability = ASH_DURABILITY_INTERVAL;
    assert_ok(ash_collection_new(f->store, "test", "others", &c, &ignored), &ignored);
    for (int i = 0; !atomic_load(&stop); i++) {
        bson_t *doc = fixture_chunk(i, 0, 1, BYTES);
        ash_collection_insert_one(c, doc, &opts, &ignored);
        bson_destroy(doc);
        ash__clock_sleep_ms(5);
    }
    ash_collection_free(c);
    return NULL;
}

static void insert_many(fixture *f)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    opts.op.durability = ASH_DURABILITY_INTERVAL;
    for (int i = 0; i < MANY; i++) {
        bson_t doc = BSON_INITIALIZER;
        BSON_APPEND_INT32(&doc, "_id", i);
        BSON_APPEND_INT32(&doc, "a", i);
        assert_ok(ash_collection_insert_one(f->c, &doc, &opts, &f->err), &f->err);
        bson_destroy(&doc);
    }
    assert_ok(ash_store_flush(f->store, NULL, &f->err), &f->err);
}

/* Whatever fails, what is said to be done is done wholly.  How often it was. */
static int beside_failures(fixture *f, bool (*attempt)(fixture *f))
{
    static ash_io io;
    pthread_t other;
    int done = 0;
    insert_many(f);
    io = ash__io_system;
    io.fdatasync = every_second;
    atomic_store(&stop, false);
    ash__io_set(&io);
    assert_int_equal(pthread_create(&other, NULL, insert_large, f), 0);
    for (int i = 0; i < ROUNDS; i++)
        done += attempt(f);
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    ash__io_set(NULL);
    return done;
}

static int drop_index(fixture *f)
{
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    name.value.v_utf8.str = (char *)(uintptr_t) "a";
    name.value.v_utf8.len = 1;
    return ash_collection_drop_indexes(f->c, &name, NULL, &f->err);
}

static bool build_index(fixture *f)
{
    bson_t *specs = fixture_json("[{\"key\":{\"a\":1},\"name\":\"a\"}]");
    int rc = ash_collection_create_indexes(f->c, specs, NULL, NULL, &f->err);
    bson_destroy(specs);
    if (rc == 0)
        assert_int_equal(fixture_count(f, f->c, "{\"a\":{\"$gte\":0}}"), MANY);
    while (rc == 0 && drop_index(f) != 0)
        ;
    return rc == 0;
}

static void test_embedded_lost__index_is_whole_or_not_at_all(void **state)
{
    beside_failures(*state, build_index);
}

static bool write_out(fixture *f)
{
    ash_cursor *cursor = NULL;
    ash_collection *copy = NULL;
    bson_t *stages = fixture_json("[{\"$out\":\"copy\"}]");
    int rc = ash_collection_aggregate(f->c, stages, NULL, &cursor, &f->err);
    ash_cursor_free(cursor);
    bson_destroy(stages);
    if (rc != 0)
        return false;
    assert_ok(ash_collection_new(f->store, "test", "copy", &copy, &f->err), &f->err);
    assert_int_equal(fixture_count(f, copy, "{}"), MANY);
    ash_collection_free(copy);
    return true;
}

static void test_embedded_lost__out_is_whole_or_not_at_all(void **state)
{
    beside_failures(*state, write_out);
}

/* ---- to the disk before the answer ---- */

static _Thread_local int syncs_here;

static int count_sync(int fd)
{
    syncs_here++;
    return ash__io_system.fdatasync(fd);
}

/* By the thread that inserts, so that the writer has nothing left to wait for. */
static void test_embedded_lost__to_disk_is_the_callers_work(void **state)
{
    fixture *f = *state;
    ash_io io = ash__io_system;
    ash_write_result r;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    opts.op.durability = ASH_DURABILITY_INTERVAL;
    assert_ok(insert_chunks(f, 1, &r), &f->err);
    ash_write_result_release(&r);
    io.fdatasync = count_sync;
    ash__io_set(&io);
    for (int i = 0; i < 2; i++) {
        opts.to_disk = i == 1;
        syncs_here = 0;
        assert_ok(insert_chunks_with(f, 2 + i, opts, &r), &f->err);
        ash_write_result_release(&r);
        assert_int_equal(syncs_here, i);
    }
    fill_disk();
    assert_int_equal(insert_chunks_with(f, 4, opts, &r), ASH_ENOSPC);
    assert_int_equal(r.inserted, 0);
    ash_write_result_release(&r);
    ash__io_set(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_lost__insert_counts_nothing),
        EMBEDDED(test_embedded_lost__a_file_is_told_why_its_chunks_are_gone),
        EMBEDDED(test_embedded_lost__unordered_insert_tells_of_each_document),
        EMBEDDED(test_embedded_lost__ordered_insert_tells_of_the_disk_first),
        EMBEDDED(test_embedded_lost__update_counts_nothing),
        EMBEDDED(test_embedded_lost__index_is_whole_or_not_at_all),
        EMBEDDED(test_embedded_lost__out_is_whole_or_not_at_all),
        EMBEDDED(test_embedded_lost__to_disk_is_the_callers_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
