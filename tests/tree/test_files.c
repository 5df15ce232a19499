/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/thread.h"

#include <string.h>

/* Files and folders as the seed has them: fields, types, order; names; conditions. */

/* Longer than what stands in a document itself, of either digest. */
static const char LONG[] =
    "Of all the stones that a mason cuts, those that lie in the courses of a wall are the "
    "plainest: each has "
    "six sides, is as long as the next one, and shows one face; what they make together is the "
    "house. A "
    "content as long as this has a document of its own, and is named by its digest.";
static const char OTHER[] =
    "Of all the stones that a mason cuts, those that lie above a door are the finest: one of them "
    "in the "
    "middle holds the others, and without it they fall, however well they were cut. A content that "
    "is as "
    "long as this one has a document of its own, and is named by its digest, too.";

static void test_tree_files__a_root_needs_no_document(void **state)
{
    fixture *f = *state;
    ash_tree_entry *root = support_get(f, "/");
    assert_true(ash_tree_entry_is_folder(root));
    assert_int_equal(ash_tree_entry_version(root), 0);
    ash_tree_entry_free(root);
    support_put_text(f, "/a", LONG);
    assert_int_equal(support_count(f->current, "{}"), 1);
    assert_int_equal(support_count(f->current, "{\"parent\": \"/\"}"), 1);
}

static void test_tree_files__documents_of_folders(void **state)
{
    fixture *f = *state;
    support_folder(f, "docs");
    bson_t *doc = support_document(f->current, "{\"filename\": \"docs\"}");
    support_expect_fields(doc, "_id _version parent filename created_at");
    support_expect_type(doc, "_id", BSON_TYPE_OID);
    support_expect_type(doc, "_version", BSON_TYPE_INT32);
    support_expect_type(doc, "created_at", BSON_TYPE_DATE_TIME);
    bson_destroy(doc);
    assert_int_equal(ash_tree_make_folder(f->tree, "docs", NULL, NULL, NULL, &f->err), ASH_EEXISTS);
    assert_int_equal(ash_tree_make_folder(f->tree, "no/docs", NULL, NULL, NULL, &f->err),
                     ASH_ENOTFOUND);
}

static void test_tree_files__documents_of_files(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.content_type = "text/plain";
    assert_ok(support_try_put(f, "a", LONG, strlen(LONG), &o, NULL), &f->err);
    bson_t *doc = support_document(f->current, "{\"filename\": \"a\"}");
    support_expect_fields(doc, "_id _version parent filename length sha contentType created_at");
    support_expect_type(doc, "length", BSON_TYPE_INT64);
    support_expect_type(doc, "sha", BSON_TYPE_BINARY);
    bson_destroy(doc);
    support_expect_text(f, "a", LONG);
    support_expect_refs(f, "a", 1, 1);
}

static void test_tree_files__tiny_contents_stand_inside(void **state)
{
    fixture *f = *state;
    support_put_text(f, "tiny", "nineteen bytes, not");
    support_put_text(f, "empty", "");
    support_put_text(f, "twenty", "twenty bytes, not 19");
    bson_t *doc = support_document(f->current, "{\"filename\": \"tiny\"}");
    support_expect_fields(doc, "_id _version parent filename in created_at");
    bson_destroy(doc);
    assert_int_equal(support_count(f->current, "{\"in\": {\"$exists\": true}}"), 2);
    support_expect_text(f, "tiny", "nineteen bytes, not");
    support_expect_text(f, "empty", "");
    support_expect_text(f, "twenty", "twenty bytes, not 19");
    support_put_text(f, "tiny", LONG);
    doc = support_document(f->current, "{\"filename\": \"tiny\"}");
    assert_false(bson_has_field(doc, "in"));
    bson_destroy(doc);
    support_put_text(f, "tiny", "small again");
    support_expect_text(f, "tiny", "small again");
    support_expect_text_of(f, "tiny", 2, 0, LONG);
}

static void test_tree_files__equal_contents_are_kept_once(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(300000, 1);
    support_put(f, "a", data, 300000);
    int64_t chunks = support_count(f->chunks, "{}");
    support_folder(f, "d");
    support_put(f, "d/b", data, 300000);
    assert_int_equal(support_count(f->chunks, "{}"), chunks);
    assert_int_equal(support_count(f->contents, "{}"), 1);
    support_expect_bytes(f, "a", data, 300000);
    support_expect_bytes(f, "d/b", data, 300000);
    support_expect_refs(f, "a", 2, 2);
    ash__free(data);
}

static void test_tree_files__new_bytes_make_a_version(void **state)
{
    fixture *f = *state;
    support_put_text(f, "a", LONG);
    ash_tree_entry *before = support_get(f, "a");
    support_put_text(f, "a", OTHER);
    ash_tree_entry *after = support_get(f, "a");
    assert_int_equal(ash_tree_entry_version(after), 2);
    assert_int_equal(ash_tree_entry_created_ms(after), ash_tree_entry_created_ms(before));
    bson_t *doc = support_document(f->past, "{\"_version\": 1}");
    support_expect_fields(doc, "_id _version parent filename length sha created_at until");
    bson_iter_t it, child;
    assert_true(bson_iter_init_find(&it, doc, "_id") && bson_iter_recurse(&it, &child));
    assert_true(bson_iter_next(&child));
    assert_string_equal(bson_iter_key(&child), "_id");
    assert_true(bson_iter_next(&child));
    assert_string_equal(bson_iter_key(&child), "_version");
    bson_destroy(doc);
    assert_int_equal(support_count(f->current, "{}"), 1);
    doc = support_document(f->current, "{\"_version\": 2}");
    support_expect_fields(doc, "_id _version parent filename length sha created_at updated_at");
    support_expect_type(doc, "updated_at", BSON_TYPE_DATE_TIME);
    bson_destroy(doc);
    support_expect_text_of(f, "a", 1, 0, LONG);
    support_expect_history(f, "a", "2 1");
    ash_tree_entry_free(before);
    ash_tree_entry_free(after);
}

static void test_tree_files__the_same_bytes_make_none(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    support_put_text(f, "a", LONG);
    support_put_text(f, "a", LONG);
    support_expect_history(f, "a", "1");
    o.content_type = "text/plain"; /* a type alone does, which v7files lost */
    assert_ok(support_try_put(f, "a", LONG, strlen(LONG), &o, NULL), &f->err);
    support_expect_history(f, "a", "2 1");
    support_put_text(f, "a", OTHER);
    ash_tree_entry *e = support_get(f, "a");
    assert_string_equal(ash_tree_entry_content_type(e), "text/plain");
    ash_tree_entry_free(e);
}

static void test_tree_files__conditions(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    support_put_text(f, "a", LONG);
    o.if_absent = true;
    assert_int_equal(support_try_put(f, "a", "x", 1, &o, NULL), ASH_EEXISTS);
    o.if_absent = false;
    o.if_version = 2;
    assert_int_equal(support_try_put(f, "a", "x", 1, &o, NULL), ASH_ECONFLICT);
    o.if_version = 1;
    e = support_get(f, "a");
    o.if_digest = ash_tree_entry_digest(e);
    assert_ok(support_try_put(f, "a", "x", 1, &o, NULL), &f->err);
    o.if_version = 0;
    assert_int_equal(support_try_put(f, "a", "y", 1, &o, NULL), ASH_ECONDITION);
    support_expect_text(f, "a", "x");
    support_expect_history(f, "a", "2 1");
    ash_tree_entry_free(e);
}

/* ---- two writers ---- */

/* Of version 1 of a file each; the second to finish is told, and nothing of it remains. */
static void expect_one_wins(fixture *f, size_t len)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_writer *w[2] = {NULL, NULL};
    uint8_t *data = support_bytes(len + 1, 7);
    support_put_text(f, "a", LONG);
    o.if_version = 1;
    for (int i = 0; i < 2; i++) {
        assert_ok(ash_tree_open_writer(f->tree, "a", &o, NULL, &w[i], &f->err), &f->err);
        assert_ok(ash_tree_writer_write(w[i], data + i, len, &f->err), &f->err);
    }
    assert_ok(ash_tree_writer_finish(w[1], NULL, NULL, &f->err), &f->err);
    int64_t contents = support_count(f->contents, "{}"), chunks = support_count(f->chunks, "{}");
    assert_int_equal(ash_tree_writer_finish(w[0], NULL, NULL, &f->err), ASH_ECONFLICT);
    ash_tree_writer_free(w[0]);
    ash_tree_writer_free(w[1]);
    support_expect_bytes(f, "a", data + 1, len);
    support_expect_history(f, "a", "2 1");
    assert_int_equal(support_count(f->contents, "{}"), contents);
    assert_int_equal(support_count(f->chunks, "{}"), chunks);
    assert_int_equal(contents, len > 200 ? 2 : 1);
    assert_int_equal(support_count(f->past, "{}"), 1);
    ash__free(data);
}

/* Within the document, in the content's, in chunks, in chunks that are stored ahead. */
static void test_tree_files__two_writers_of_one_version(void **state)
{
    static const size_t lengths[] = {100, 5000, 40000, 3000000};
    fixture *f = *state;
    ash_tree_collect_options c = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_prune_options p = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    c.min_age_s = -1;
    p.keep = &keep;
    for (size_t i = 0; i < ASH_ARRAY_LEN(lengths); i++) {
        expect_one_wins(f, lengths[i]);
        support_remove(f, "a");
        assert_ok(ash_tree_prune(f->tree, "/", &p, NULL, NULL, &f->err), &f->err);
        assert_ok(ash_tree_collect(f->tree, &c, NULL, NULL, &f->err), &f->err);
    }
}

typedef struct rival {
    ash_tree_writer *w;
    pthread_barrier_t *start;
    int rc;
    ash_error err;
} rival;

static void *finish_at_once(void *arg)
{
    rival *r = arg;
    pthread_barrier_wait(r->start);
    r->rc = ash_tree_writer_finish(r->w, NULL, NULL, &r->err);
    return NULL;
}

/* A name that is taken by the time of the commit is given up for another. */
static void test_tree_files__a_writer_goes_elsewhere(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_writer *w = NULL;
    o.if_absent = true;
    assert_ok(ash_tree_open_writer(f->tree, "a", &o, NULL, &w, &f->err), &f->err);
    assert_ok(ash_tree_writer_write(w, "second", 6, &f->err), &f->err);
    support_put_text(f, "a", "first");
    assert_int_equal(ash_tree_writer_finish(w, NULL, NULL, &f->err), ASH_EEXISTS);
    assert_int_equal(ash_tree_writer_redirect(w, "/", &f->err), ASH_EINVAL);
    assert_int_equal(ash_tree_writer_redirect(w, "a//b", &f->err), ASH_EINVAL);
    assert_ok(ash_tree_writer_redirect(w, "missing/b", &f->err), &f->err);
    assert_int_equal(ash_tree_writer_finish(w, NULL, NULL, &f->err), ASH_ENOTFOUND);
    assert_ok(ash_tree_writer_redirect(w, "b", &f->err), &f->err);
    assert_ok(ash_tree_writer_finish(w, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_writer_redirect(w, "c", &f->err), ASH_ESTATE);
    ash_tree_writer_free(w);
    support_expect_text(f, "a", "first");
    support_expect_text(f, "b", "second");
}

static void test_tree_files__two_writers_at_once(void **state)
{
    enum { ROUNDS = 20 };
    fixture *f = *state;
    pthread_barrier_t start;
    support_put_seed(f, "a", 0);
    assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
    for (int32_t i = 1; i <= ROUNDS; i++) {
        rival both[2];
        pthread_t threads[2];
        ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
        o.if_version = i;
        for (int k = 0; k < 2; k++) {
            uint8_t *data = support_bytes(500, (uint32_t)(2 * i + k));
            both[k] = (rival){.start = &start};
            assert_ok(ash_tree_open_writer(f->tree, "a", &o, NULL, &both[k].w, &f->err), &f->err);
            assert_ok(ash_tree_writer_write(both[k].w, data, 500, &f->err), &f->err);
            assert_int_equal(ash__thread_start(&threads[k], 0, finish_at_once, &both[k]), 0);
            ash__free(data);
        }
        for (int k = 0; k < 2; k++) {
            pthread_join(threads[k], NULL);
            ash_tree_writer_free(both[k].w);
        }
        int winner = both[0].rc == 0 ? 0 : 1;
        assert_ok(both[winner].rc, &both[winner].err);
        assert_int_equal(both[1 - winner].rc, ASH_ECONFLICT);
        support_expect_version(f, "a", i + 1);
        support_expect_seed(f, "a", (uint32_t)(2 * i + winner));
    }
    assert_int_equal(support_count(f->contents, "{}"), ROUNDS + 1);
    assert_int_equal(support_count(f->past, "{}"), ROUNDS);
    pthread_barrier_destroy(&start);
}

static void test_tree_files__paths_that_cannot_be(void **state)
{
    fixture *f = *state;
    const char *const bad[] = {"a//b", "..", "a/../b", ".", "a/./b", "\xff"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++)
        assert_int_equal(support_try_put(f, bad[i], "x", 1, NULL, NULL), ASH_EINVAL);
    support_put_text(f, "file", "x");
    assert_int_equal(support_try_put(f, "file/b", "x", 1, NULL, NULL), ASH_EINVAL);
    support_folder(f, "folder");
    assert_int_equal(support_try_put(f, "folder", "x", 1, NULL, NULL), ASH_EINVAL);
    assert_int_equal(support_try_put(f, "no/such/b", "x", 1, NULL, NULL), ASH_ENOTFOUND);
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    assert_ok(support_try_put(f, "no/such/b", "x", 1, &o, NULL), &f->err);
    support_expect_text(f, "/no/such/b", "x");
}

static void test_tree_files__unknown_fields_are_kept(void **state)
{
    fixture *f = *state;
    support_insert(f->current,
                   "{\"_id\": {\"$oid\": \"64b000000000000000000001\"}, \"_version\": "
                   "{\"$numberDouble\": \"3\"}, \"parent\": \"/\", \"filename\": \"a\", "
                   "\"in\": {\"$binary\": {\"base64\": \"aGk=\", \"subType\": \"00\"}}, "
                   "\"colour\": \"red\", \"created_at\": {\"$date\": \"2012-02-01T00:00:"
                   "00Z\"}}");
    support_expect_text(f, "a", "hi");
    support_put_text(f, "a", LONG);
    assert_int_equal(support_count(f->current, "{\"colour\": \"red\", \"_version\": 4}"), 1);
    assert_int_equal(support_count(f->past, "{\"colour\": \"red\", \"_id._version\": 3}"), 1);
}

static void test_tree_files__ranges(void **state)
{
    fixture *f = *state;
    uint8_t *data = support_bytes(600000, 3);
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    ash_tree_reader *r = NULL;
    uint8_t got[1000];
    size_t n = 0;
    support_put(f, "a", data, 600000);
    o.start = 299990;
    o.end = 300010;
    assert_ok(ash_tree_open_reader(f->tree, "a", &o, NULL, &r, &f->err), &f->err);
    assert_ok(ash_tree_reader_read(r, got, sizeof got, &n, &f->err), &f->err);
    assert_int_equal(n, 20);
    assert_memory_equal(got, data + 299990, 20);
    assert_ok(ash_tree_reader_read(r, got, sizeof got, &n, &f->err), &f->err);
    assert_int_equal(n, 0);
    assert_ok(ash_tree_reader_seek(r, 300000, &f->err), &f->err);
    assert_ok(ash_tree_reader_read(r, got, 5, &n, &f->err), &f->err);
    assert_memory_equal(got, data + 300000, 5);
    assert_int_equal(ash_tree_reader_seek(r, 5, &f->err), ASH_EINVAL);
    ash_tree_reader_free(r);
    o.end = 600001;
    assert_int_equal(ash_tree_open_reader(f->tree, "a", &o, NULL, &r, &f->err), ASH_EINVAL);
    ash__free(data);
}

/* v7files' V7GridFSTest: inserted, read, listed, updated and deleted, small and large; and its
 * MongoContentStorageTest's 10 MiB, stored twice. */
static void test_tree_files__the_life_of_a_file(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {12, 1000000, 10 * 1024 * 1024};
    for (size_t i = 0; i < ASH_ARRAY_LEN(sizes); i++) {
        ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
        uint8_t *data = support_bytes(sizes[i] + 1, (uint32_t)i);
        o.content_type = "text/plain";
        assert_ok(support_try_put(f, "test.txt", data, sizes[i], &o, NULL), &f->err);
        ash_tree_entry *e = support_get(f, "test.txt");
        assert_string_equal(ash_tree_entry_name(e), "test.txt");
        assert_string_equal(ash_tree_entry_content_type(e), "text/plain");
        assert_int_equal(ash_tree_entry_length(e), sizes[i]);
        assert_int_equal(ash_tree_entry_version(e), 1);
        ash_tree_entry_free(e);
        support_expect_list(f, "/", false, 0, "test.txt");
        support_expect_bytes(f, "test.txt", data, sizes[i]);
        support_put(f, "test.txt", data + 1, sizes[i]);
        support_expect_bytes(f, "test.txt", data + 1, sizes[i]);
        support_put(f, "again", data + 1, sizes[i]);
        support_expect_bytes(f, "again", data + 1, sizes[i]);
        support_remove(f, "again");
        support_remove(f, "test.txt");
        support_expect_missing(f, "test.txt");
        support_expect_list(f, "/", false, 0, "");
        ash__free(data);
    }
}

#define with_sha1(test)                                                                            \
    {                                                                                              \
#test "__sha1", test, support_setup_sha1, support_teardown, NULL                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_files__a_root_needs_no_document),
        here(test_tree_files__documents_of_folders),
        here(test_tree_files__documents_of_files),
        with_sha1(test_tree_files__documents_of_files),
        with_sha1(test_tree_files__tiny_contents_stand_inside),
        here(test_tree_files__equal_contents_are_kept_once),
        with_sha1(test_tree_files__equal_contents_are_kept_once),
        here(test_tree_files__new_bytes_make_a_version),
        with_sha1(test_tree_files__new_bytes_make_a_version),
        here(test_tree_files__the_same_bytes_make_none),
        here(test_tree_files__conditions),
        here(test_tree_files__two_writers_of_one_version),
        here(test_tree_files__two_writers_at_once),
        here(test_tree_files__a_writer_goes_elsewhere),
        here(test_tree_files__paths_that_cannot_be),
        here(test_tree_files__unknown_fields_are_kept),
        here(test_tree_files__ranges),
        here(test_tree_files__the_life_of_a_file),
        with_sha1(test_tree_files__the_life_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
