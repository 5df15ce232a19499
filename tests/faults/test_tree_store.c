/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_operations.h"

#include "faulty_store.h"
#include "store_calls.h"
#include "tree_removal.h"

#include "base/error.h"
#include "base/mem.h"
#include "model.h"

enum { DELAY_MS = 5, MOST_CALLS = 400 };

static void fail_each_call(portrayed *s, bool lost, int delay_ms, int stride)
{
    const store_fault fault = {lost, delay_ms, stride};
    store_calls_fail(&tree_subject, s, &fault);
}

static void test_faults_tree_store__each_call_fails(void **state)
{
    fail_each_call(*state, false, 0, 3);
}

static void test_faults_tree_store__each_result_is_lost(void **state)
{
    fail_each_call(*state, true, 0, 3);
}

static void test_faults_tree_store__each_call_is_late(void **state)
{
    fail_each_call(*state, false, DELAY_MS, 8);
}

/* A folder that goes in many commits, any of which finds the disk full. */
static void test_faults_tree_store__a_removal_of_many_commits(void **state)
{
    tree_removal removal = {0};
    int begun = 0;
    tree_removal_foresee(&removal, *state);
    for (int n = 1, ends = false; !ends; n++) {
        ash_error err = ASH_ERROR_INIT;
        char *what = ash__sprintf("removal, call %d", n);
        ash_store *store = portrayed_begin(removal.subject), *through = faulty_store_new(store);
        faulty_store_set(through, n, false, 0);
        int rc = tree_removal_do(through, &err);
        ends = !faulty_store_happened(through);
        faulty_store_free(through);
        assert_int_equal(rc, ends ? 0 : ASH_ENOSPC);
        tree_removal_end(&removal, store, rc, what);
        begun += !ends;
        ash__free(what);
    }
    assert_in_range(begun, 20, MOST_CALLS);
    tree_removal_release(&removal);
}

/* ---- work ---- */

enum {
    SMALL = 60, /* contents of 600 bytes and of 30 KB each */
    LARGE_BYTES = 20 * 1024 * 1024,
    CHUNK_BYTES = 255 * 1024,
    MOST_AT_ONCE = 16,            /* contents of one commit … */
    MOST_BYTES = 4 * 1024 * 1024, /* … unless it is one alone */
    MOST_CALLS_OF_ONE = 12
};

/* The contents that went together. */
typedef struct together {
    const ash_store *store;
    int64_t transaction, contents, bytes;
    int64_t most_contents, most_bytes; /* of several */
} together;

static bool note_content(void *ctx, const char *digest, int64_t stored)
{
    together *t = ctx;
    int64_t now = faulty_store_work(t->store).transactions;
    (void)digest;
    if (now != t->transaction)
        t->contents = t->bytes = 0;
    t->transaction = now;
    t->contents++;
    t->bytes += stored;
    if (t->contents > t->most_contents)
        t->most_contents = t->contents;
    if (t->contents > 1 && t->bytes > t->most_bytes)
        t->most_bytes = t->bytes;
    return true;
}

static void put_noise(ash_tree *tree, size_t len, uint32_t seed)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_writer *w = NULL;
    uint8_t *data = ash__alloc(len);
    model_fill(seed, data, len);
    assert_ok(ash_tree_open_writer(tree, "one", NULL, NULL, &w, &err), &err);
    assert_ok(ash_tree_writer_write(w, data, len, &err), &err);
    assert_ok(ash_tree_writer_finish(w, NULL, NULL, &err), &err);
    ash_tree_writer_free(w);
    ash__free(data);
}

/* Contents that nobody has any more, of all sizes. */
static void leave_contents(ash_tree *tree)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    uint32_t seed = 1000;
    o.keep = &keep;
    for (int i = 0; i < SMALL; i++) {
        put_noise(tree, 600, seed++);
        put_noise(tree, 30000, seed++);
    }
    for (int i = 0; i < 6; i++)
        put_noise(tree, 1500000, seed++);
    for (int i = 0; i < 3; i++)
        put_noise(tree, i == 1 ? LARGE_BYTES : 3000000, seed++);
    assert_ok(ash_tree_remove(tree, "one", NULL, NULL, &err), &err);
    assert_ok(ash_tree_prune(tree, "", &o, NULL, NULL, &err), &err);
}

/* Others wait for one transaction of a collection at most: so it is a few operations, and takes a
 * few documents away. */
static void test_faults_tree_store__a_collection_does_little_at_once(void **state)
{
    portrayed *s = *state;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = portrayed_begin(s), *through = faulty_store_new(store);
    ash_tree *tree = NULL;
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    together t = {.store = through};
    assert_ok(ash_tree_open(store, "many", NULL, &tree, &err), &err);
    leave_contents(tree);
    ash_tree_close(tree);
    assert_ok(ash_tree_open(through, "many", NULL, &tree, &err), &err);
    faulty_store_count(through);
    o.min_age_s = -1;
    o.each = note_content;
    o.each_ctx = &t;
    assert_ok(ash_tree_collect(tree, &o, NULL, &report, &err), &err);
    faulty_work most = faulty_store_work(through);
    print_message("# %d contents in %d transactions; of one at most %d contents, %d documents, %d "
                  "operations\n",
                  (int)report.contents, (int)most.transactions, (int)t.most_contents,
                  (int)most.removed, (int)most.calls);
    assert_true(report.contents >= 2 * SMALL + 9);
    assert_in_range(t.most_contents, 2, MOST_AT_ONCE);
    assert_in_range(t.most_bytes, 1, MOST_BYTES);
    assert_in_range(most.calls, 4, MOST_CALLS_OF_ONE);
    assert_in_range(most.removed, LARGE_BYTES / CHUNK_BYTES, LARGE_BYTES / CHUNK_BYTES + 4);
    ash_tree_close(tree);
    faulty_store_free(through);
    ash_store_close(store);
}

/* ---- reading beside others ---- */

typedef struct renewal {
    ash_store *store;
    int64_t date_ms;
} renewal;

/* As if every content had been collected and stored anew. */
static void store_anew(void *ctx)
{
    renewal *r = ctx;
    ash_error err = ASH_ERROR_INIT;
    ash_collection *files = NULL;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_t all = BSON_INITIALIZER;
    bson_t *change = BCON_NEW("$set", "{", "uploadDate", BCON_DATE_TIME(r->date_ms++), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
    value.value.v_doc.data_len = change->len;
    o.multi = true;
    assert_ok(ash_collection_new(r->store, NULL, "v7.fs.files", &files, &err), &err);
    assert_ok(ash_collection_update(files, &all, &value, &o, NULL, &err), &err);
    ash_collection_free(files);
    bson_destroy(change);
    bson_destroy(&all);
}

static void read_whole(ash_tree *tree, const char *path, int n)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_reader *r = NULL;
    static uint8_t buf[4000];
    size_t got = 1;
    int rc = ash_tree_open_reader(tree, path, NULL, NULL, &r, &err);
    while (rc == 0 && got > 0)
        rc = ash_tree_reader_read(r, buf, sizeof buf, &got, &err);
    if (rc != 0)
        fail_msg("%s, call %d: %d %s", path, n, rc, err.text);
    ash_tree_reader_free(r);
}

/* A file of one content, and one of pieces, which are opened as they are read. */
static void test_faults_tree_store__what_is_read_is_stored_anew(void **state)
{
    static const char *const paths[] = {"d/large", "d/whole"};
    ash_store *store = portrayed_begin(*state), *through = faulty_store_new(store);
    ash_error err = ASH_ERROR_INIT;
    renewal r = {store, 1700000000000};
    tree_worker w;
    assert_ok(tree_worker_open(&w, through, 1, 0, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        bool happened = true;
        int n = 0;
        while (happened) {
            faulty_store_before(through, ++n, store_anew, &r);
            read_whole(w.tree, paths[i], n);
            happened = faulty_store_happened(through);
        }
        assert_true(n > (i == 0 ? 2 : 30));
    }
    tree_worker_close(&w);
    faulty_store_free(through);
    ash_store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_subject_setup, tree_subject_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_faults_tree_store__each_call_fails),
        TEST(test_faults_tree_store__each_result_is_lost),
        TEST(test_faults_tree_store__each_call_is_late),
        TEST(test_faults_tree_store__a_removal_of_many_commits),
        TEST(test_faults_tree_store__a_collection_does_little_at_once),
        TEST(test_faults_tree_store__what_is_read_is_stored_anew),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
