/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stdio.h>
#include <string.h>

/* `refs` and `refHistory` of contents after any sequence of changes: whatever is done, they are
 * what the documents of now and of the history say. */

/* ---- what the documents say ---- */

static void collect_ids(fixture *f, ash_collection *c, const char *key, const bson_t *filter,
                        bson_t *out)
{
    assert_ok(ash_collection_distinct(c, key, filter, NULL, NULL, out, &f->err), &f->err);
}

static bool array_has(const bson_t *doc, const char *field, const bson_oid_t *id)
{
    bson_iter_t it, child;
    if (!bson_iter_init_find(&it, doc, field) || !bson_iter_recurse(&it, &child))
        return false;
    while (bson_iter_next(&child))
        if (BSON_ITER_HOLDS_OID(&child) && bson_oid_equal(bson_iter_oid(&child), id))
            return true;
    return false;
}

static int count_items(const bson_t *doc, const char *field)
{
    bson_iter_t it, child;
    int n = 0;
    assert_true(bson_iter_init_find(&it, doc, field) && bson_iter_recurse(&it, &child));
    while (bson_iter_next(&child))
        n++;
    return n;
}

/* Every one of `values` is in the document's list. */
static void expect_in_list(const bson_t *values, const bson_t *doc, const char *field)
{
    bson_iter_t it, child;
    assert_true(bson_iter_init_find(&it, values, "values") && bson_iter_recurse(&it, &child));
    while (bson_iter_next(&child))
        assert_true(array_has(doc, field, bson_iter_oid(&child)));
}

static void expect_right(fixture *f, const bson_t *content)
{
    bson_t filter = BSON_INITIALIZER, now, past;
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, content, "_id"));
    bson_append_iter(&filter, "sha", 3, &it);
    collect_ids(f, f->current, "_id", &filter, &now);
    collect_ids(f, f->past, "_id._id", &filter, &past);
    expect_in_list(&now, content, "refs");
    expect_in_list(&now, content, "refHistory");
    expect_in_list(&past, content, "refHistory");
    assert_int_equal(count_items(&now, "values"), count_items(content, "refs"));
    bson_iter_t list, child;
    assert_true(bson_iter_init_find(&list, content, "refHistory"));
    assert_true(bson_iter_recurse(&list, &child));
    while (bson_iter_next(&child))
        assert_true(array_has(&now, "values", bson_iter_oid(&child)) ||
                    array_has(&past, "values", bson_iter_oid(&child)));
    bson_destroy(&now);
    bson_destroy(&past);
    bson_destroy(&filter);
}

static void expect_all_right(fixture *f)
{
    bson_t filter = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t view;
    assert_ok(ash_collection_find(f->contents, &filter, NULL, &cursor, &f->err), &f->err);
    for (;;) {
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        assert_true(bson_init_static(&view, doc.data, doc.len));
        bson_t *content = bson_copy(&view);
        expect_right(f, content);
        bson_destroy(content);
    }
    ash_cursor_free(cursor);
}

/* ---- any sequence ---- */

static uint32_t next(uint32_t *x, uint32_t below)
{
    *x = *x * 1664525u + 1013904223u;
    return (*x >> 8) % below;
}

static const char *some_path(uint32_t *x)
{
    static const char *const paths[] = {"a", "b", "d/a", "d/b", "e/a", "d/f/a"};
    return paths[next(x, ASH_ARRAY_LEN(paths))];
}

static int undelete_something(fixture *f, uint32_t *x)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    assert_ok(ash_tree_trash(f->tree, "/", 10, NULL, &l, &f->err), &f->err);
    for (uint32_t i = next(x, 4) + 1; i-- > 0;)
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
    int rc = e == NULL ? 0
                       : ash_tree_undelete(f->tree, ash_tree_entry_id(e), some_path(x), &o, NULL,
                                           NULL, &f->err);
    ash_tree_listing_free(l);
    return rc;
}

static int put_something(fixture *f, uint32_t *x, const ash_tree_change_options *o)
{
    bool tiny = next(x, 4) == 0;
    uint8_t *data = support_bytes(500, next(x, 5)); /* a few contents, each for many */
    int rc = support_try_put(f, some_path(x), data, tiny ? 10 : 500, o, NULL);
    ash__free(data);
    return rc;
}

static int step(fixture *f, uint32_t *x)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    static const char *const folders[] = {"d", "e", "d/f"};
    const char *folder = folders[next(x, 3)];
    o.replace = o.recursive = o.make_folders = true;
    switch (next(x, 9)) {
    case 0:
        return ash_tree_move(f->tree, some_path(x), some_path(x), &o, NULL, NULL, &f->err);
    case 1:
        return ash_tree_copy(f->tree, some_path(x), NULL, some_path(x), &o, NULL, NULL, &f->err);
    case 2:
        return ash_tree_remove(f->tree, some_path(x), &o, NULL, &f->err);
    case 3:
        return undelete_something(f, x);
    case 4:
        return ash_tree_restore(f->tree, some_path(x), (int32_t)next(x, 4) + 1, NULL, NULL, NULL,
                                &f->err);
    case 5:
        return next(x, 3) == 0 ? ash_tree_remove(f->tree, folder, &o, NULL, &f->err)
                               : ash_tree_copy(f->tree, folder, NULL, "g", &o, NULL, NULL, &f->err);
    case 6:
        when.version = (int32_t)next(x, 3) + 1;
        return ash_tree_copy(f->tree, some_path(x), &when, some_path(x), &o, NULL, NULL, &f->err);
    default:
        return put_something(f, x, &o);
    }
}

static void test_tree_refs__after_any_sequence(void **state)
{
    fixture *f = *state;
    int done = 0;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        uint32_t x = seed;
        for (int i = 0; i < 60; i++) {
            int rc = step(f, &x);
            done += rc == 0;
            if (rc != 0 && rc != ASH_ENOTFOUND && rc != ASH_EEXISTS && rc != ASH_EINVAL &&
                rc != ASH_ENOREVISION)
                fail_msg("seed %u, step %d: %d %s", seed, i, rc, f->err.text);
            if (i % 10 == 9)
                expect_all_right(f);
        }
    }
    print_message("# %d of 180 steps done\n", done);
    assert_true(done > 60);
}

/* ---- single changes ---- */

static void test_tree_refs__of_versions(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_put_seed(f, "b", 1);
    support_expect_refs(f, "a", 2, 2);
    support_put_seed(f, "a", 2); /* v7files' MongoReferenceTrackingTest */
    support_expect_refs(f, "b", 1, 2);
    support_put_seed(f, "a", 1);
    support_expect_refs(f, "b", 2, 2);
    support_remove(f, "b");
    support_expect_refs(f, "a", 1, 2);
    support_put_text(f, "a", "tiny");
    assert_int_equal(support_count(f->contents, "{\"refs\": []}"), 2);
    expect_all_right(f);
}

/* A refused change says nothing of contents: v7files' loser left its references behind. */
static void test_tree_refs__of_who_lost(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    uint8_t *data = support_bytes(500, 1);
    support_put_seed(f, "a", 1);
    support_put_seed(f, "b", 2);
    o.if_version = 7;
    assert_int_equal(support_try_put(f, "b", data, 500, &o, NULL), ASH_ECONFLICT);
    o.replace = true;
    assert_int_equal(ash_tree_copy(f->tree, "a", NULL, "b", &o, NULL, NULL, &f->err),
                     ASH_ECONFLICT);
    assert_int_equal(ash_tree_remove(f->tree, "a", &o, NULL, &f->err), ASH_ECONFLICT);
    support_expect_refs(f, "a", 1, 1);
    support_expect_refs(f, "b", 1, 1);
    ash__free(data);
}

/* The lists are bounded: behind their end they are a part of the truth, and say so. */
static void test_tree_refs__of_many(void **state)
{
    enum { MANY = 105 };
    fixture *f = *state;
    char path[40];
    support_folder(f, "d");
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "d/%03d", i);
        support_put_seed(f, path, 1);
    }
    support_expect_refs(f, "d/000", 100, 100);
    assert_int_equal(support_count(f->contents, "{\"refsMore\": true}"), 1);
    support_expect_sound(f);
    support_remove(f, "d");
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    o.min_age_s = -1;
    assert_ok(ash_tree_collect(f->tree, &o, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.contents, 0);
}

/* A collection asks the documents of one collection: two must not share what they name. */
static void test_tree_refs__a_bucket_is_for_one_collection(void **state)
{
    fixture *f = *state;
    ash_tree_options o = ASH_TREE_OPTIONS_INIT;
    ash_tree *other = NULL;
    ash_tree_collect_options c = ASH_TREE_COLLECT_OPTIONS_INIT;
    c.min_age_s = -1;
    support_put_seed(f, "mine", 1);
    o.collection = "others";
    assert_ok(ash_tree_open(f->store, "/", &o, &other, &f->err), &f->err);
    assert_ok(ash_tree_collect(other, &c, NULL, NULL, &f->err), &f->err);
    ash_tree_close(other);
    o.bucket = "v7.fs";
    assert_ok(ash_tree_open(f->store, "/", &o, &other, &f->err), &f->err);
    assert_int_equal(ash_tree_make_folder(other, "a", NULL, NULL, NULL, &f->err), ASH_EEXISTS);
    assert_int_equal(ash_tree_collect(other, &c, NULL, NULL, &f->err), ASH_EEXISTS);
    ash_tree_close(other);
    support_expect_sound(f);
}

static void expect_alike(fixture *f, int64_t contents, int64_t found)
{
    assert_int_equal(support_count(f->contents, "{}"), contents);
    assert_int_equal(support_count(f->contents, "{\"features\": {\"$exists\": true}}"), found);
    assert_int_equal(support_count(f->contents, "{\"sketch\": {\"$exists\": true}}"), found);
}

/* Contents are found by what they are like as long as somebody has them, or was the last to: what
 * has a newer one in its place is not looked for. */
static void test_tree_refs__newer_contents_are_found_instead(void **state)
{
    enum { BYTES = 5000 };
    fixture *f = *state;
    uint8_t *data = support_bytes(BYTES, 1);
    support_put(f, "a", data, BYTES);
    support_copy(f, "a", "b");
    expect_alike(f, 1, 1);
    data[100] ^= 1;
    support_put(f, "a", data, BYTES);
    expect_alike(f, 2, 2); /* b has the first */
    data[2000] ^= 1;
    support_put(f, "b", data, BYTES);
    expect_alike(f, 3, 2);
    support_remove(f, "b"); /* it may come back under another name, and changed */
    expect_alike(f, 3, 2);
    data[3000] ^= 1;
    support_put(f, "c", data, BYTES);
    expect_alike(f, 4, 3);
    assert_int_equal(support_count(f->contents, "{\"store\": \"delta\"}"), 3);
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_refs__after_any_sequence),
        here(test_tree_refs__of_versions),
        here(test_tree_refs__of_who_lost),
        here(test_tree_refs__of_many),
        here(test_tree_refs__a_bucket_is_for_one_collection),
        here(test_tree_refs__newer_contents_are_found_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
