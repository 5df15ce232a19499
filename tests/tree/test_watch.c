/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

/* Changes as they happen, seen from a folder. */

typedef struct watching {
    fixture *f;
    ash_tree_watch *w;
} watching;

static watching watch(fixture *f, const char *path)
{
    watching k = {.f = f};
    assert_ok(ash_tree_watch_open(f->tree, path, NULL, &k.w, &f->err), &f->err);
    return k;
}

/* from: NULL: it was no move. */
static void expect(const watching *k, ash_tree_event_kind kind, const char *path, const char *from)
{
    ash_tree_event e = ASH_TREE_EVENT_INIT;
    assert_ok(ash_tree_watch_next(k->w, 10000, &e, &k->f->err), &k->f->err);
    assert_int_equal(e.kind, kind);
    assert_string_equal(e.path, path);
    if (from == NULL)
        assert_null(e.from);
    else
        assert_string_equal(e.from, from);
    assert_non_null(e.entry);
    assert_string_equal(ash_tree_entry_path(e.entry), path);
}

static void expect_nothing(const watching *k)
{
    ash_tree_event e = ASH_TREE_EVENT_INIT;
    assert_ok(ash_tree_watch_next(k->w, 300, &e, &k->f->err), &k->f->err);
    assert_int_equal(e.kind, 0);
}

static void test_tree_watch__what_happens_in_a_folder(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_put_text(f, "d/before", "x");
    watching k = watch(f, "/d");
    support_put_seed(f, "d/a", 1);
    expect(&k, ASH_TREE_CREATED, "/d/a", NULL);
    support_put_seed(f, "d/a", 2);
    expect(&k, ASH_TREE_CHANGED, "/d/a", NULL);
    support_folder(f, "d/e");
    expect(&k, ASH_TREE_CREATED, "/d/e", NULL);
    support_move(f, "d/a", "d/e/b");
    expect(&k, ASH_TREE_MOVED, "/d/e/b", "/d/a");
    bson_value_t id = support_id(f, "d/e/b");
    support_remove(f, "d/e/b");
    expect(&k, ASH_TREE_DELETED, "/d/e/b", NULL);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    expect(&k, ASH_TREE_CREATED, "/d/e/b", NULL);
    assert_ok(ash_tree_restore(f->tree, "d/e/b", 1, NULL, NULL, NULL, &f->err), &f->err);
    expect(&k, ASH_TREE_CHANGED, "/d/e/b", NULL);
    support_copy(f, "d/e/b", "d/c");
    expect(&k, ASH_TREE_CREATED, "/d/c", NULL);
    expect_nothing(&k);
    ash_tree_watch_close(k.w);
}

static void test_tree_watch__in_and_out(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_folder(f, "other");
    support_put_seed(f, "a", 1);
    watching k = watch(f, "d");
    support_put_seed(f, "other/b", 2); /* nothing to it */
    support_move(f, "a", "d/a");
    expect(&k, ASH_TREE_MOVED, "/d/a", "/a");
    support_move(f, "d/a", "other/a");
    expect(&k, ASH_TREE_MOVED, "/other/a", "/d/a");
    support_put_seed(f, "other/a", 3);
    support_move(f, "other/a", "x");
    expect_nothing(&k);
    support_move(f, "other", "d/other");
    expect(&k, ASH_TREE_MOVED, "/d/other", "/other");
    support_put_seed(f, "d/other/b", 4); /* it came along */
    expect(&k, ASH_TREE_CHANGED, "/d/other/b", NULL);
    support_remove(f, "x");
    expect_nothing(&k);
    ash_tree_watch_close(k.w);
}

static void test_tree_watch__the_folder_itself(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    watching k = watch(f, "d");
    support_move(f, "d", "e");
    expect(&k, ASH_TREE_MOVED, "/e", "/d");
    support_put_seed(f, "e/a", 1);
    expect(&k, ASH_TREE_CREATED, "/e/a", NULL);
    support_remove(f, "e");
    ash_tree_event e = ASH_TREE_EVENT_INIT;
    for (int i = 0; i < 2; i++) { /* in which order, the transaction knows */
        assert_ok(ash_tree_watch_next(k.w, 10000, &e, &f->err), &f->err);
        assert_int_equal(e.kind, ASH_TREE_DELETED);
    }
    expect_nothing(&k);
    ash_tree_watch_close(k.w);
}

static void test_tree_watch__the_root_and_single_files(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_put_seed(f, "d/a", 1);
    watching root = watch(f, "/"), file = watch(f, "d/a");
    support_put_seed(f, "d/b", 2);
    support_put_seed(f, "d/a", 3);
    expect(&root, ASH_TREE_CREATED, "/d/b", NULL);
    expect(&root, ASH_TREE_CHANGED, "/d/a", NULL);
    expect(&file, ASH_TREE_CHANGED, "/d/a", NULL);
    /* Marks are no changes, and what was refused is none. */
    assert_ok(ash_tree_tag(f->tree, "d/a", 0, "t", false, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_make_folder(f->tree, "d", NULL, NULL, NULL, &f->err), ASH_EEXISTS);
    expect_nothing(&root);
    expect_nothing(&file);
    ash_tree_watch_close(root.w);
    ash_tree_watch_close(file.w);
}

/* Events that are read late tell what was, though things are elsewhere by now. */
static void test_tree_watch__read_late(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    watching k = watch(f, "d");
    support_put_seed(f, "d/a", 1);
    support_put_seed(f, "d/a", 2);
    support_move(f, "d/a", "d/b");
    support_remove(f, "d/b");
    expect(&k, ASH_TREE_CREATED, "/d/a", NULL);
    expect(&k, ASH_TREE_CHANGED, "/d/a", NULL);
    expect(&k, ASH_TREE_MOVED, "/d/b", "/d/a");
    expect(&k, ASH_TREE_DELETED, "/d/b", NULL);
    ash_tree_watch_close(k.w);
}

/* Whoever may not read something is not told of it. */
static void test_tree_watch__rights(void **state)
{
    fixture *f = *state;
    ash_tree_event e = ASH_TREE_EVENT_INIT;
    ash_principal who = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    ash_tree_watch *w = NULL;
    bson_t *acl = BCON_NEW("read", "[", BCON_UTF8("boss"), "]");
    op.principal = &who;
    support_folder(f, "d");
    support_folder(f, "closed");
    assert_ok(ash_tree_set_acl(f->tree, "closed", acl, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_watch_open(f->tree, "closed", &op, &w, &f->err), ASH_EACCES);
    assert_ok(ash_tree_watch_open(f->tree, "/", &op, &w, &f->err), &f->err);
    support_put_seed(f, "closed/a", 1);
    support_put_seed(f, "d/a", 1);
    support_move(f, "closed/a", "closed/b");
    support_remove(f, "closed/b");
    assert_ok(ash_tree_watch_next(w, 10000, &e, &f->err), &f->err);
    assert_string_equal(e.path, "/d/a");
    assert_ok(ash_tree_watch_next(w, 300, &e, &f->err), &f->err);
    assert_int_equal(e.kind, 0);
    /* What leaves his sight is gone for him, without a word of where it went. */
    support_move(f, "d/a", "closed/c");
    assert_ok(ash_tree_watch_next(w, 10000, &e, &f->err), &f->err);
    assert_int_equal(e.kind, ASH_TREE_DELETED);
    assert_string_equal(e.path, "/d/a");
    support_move(f, "closed/c", "d/c");
    assert_ok(ash_tree_watch_next(w, 10000, &e, &f->err), &f->err);
    assert_int_equal(e.kind, ASH_TREE_CREATED);
    assert_string_equal(e.path, "/d/c");
    assert_null(e.from);
    ash_tree_watch_close(w);
    bson_destroy(acl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_watch__what_happens_in_a_folder),
        here(test_tree_watch__in_and_out),
        here(test_tree_watch__the_folder_itself),
        here(test_tree_watch__the_root_and_single_files),
        here(test_tree_watch__read_late),
        here(test_tree_watch__rights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
