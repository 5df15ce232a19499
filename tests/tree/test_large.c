/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "store/ops.h"
#include "tree/tree.h"

#include <stdio.h>

/* Folders of some thousand entries, each change of which is one commit: through a server, a
 * transaction has a thousand operations at most, and few of them if it is to be quick. */

enum { FOLDERS = 20, BELOW_EACH = 30 + 2 * 30 };

static int64_t count_below(fixture *f, const char *path, int64_t at_ms)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int64_t n = 0;
    o.recursive = true;
    o.at_ms = at_ms;
    assert_ok(ash_tree_list(f->tree, path, &o, NULL, &l, &f->err), &f->err);
    for (;; n++) {
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
        if (e == NULL)
            break;
    }
    ash_tree_listing_free(l);
    return n;
}

/* large/ has so many folders of 30 folders of 2 files. */
static void build(fixture *f, int folders)
{
    char path[60];
    support_folder(f, "one");
    support_put_seed(f, "one/a", 1);
    support_put_seed(f, "one/b", 2);
    support_folder(f, "some");
    for (int i = 0; i < 30; i++) {
        snprintf(path, sizeof path, "some/%02d", i);
        support_copy(f, "one", path);
    }
    support_folder(f, "large");
    for (int i = 0; i < folders; i++) {
        snprintf(path, sizeof path, "large/%02d", i);
        support_copy(f, "some", path);
    }
    support_remove(f, "some");
}

enum { ALL = FOLDERS * (1 + BELOW_EACH) };

static void test_tree_large__folders_go_and_come_back(void **state)
{
    fixture *f = *state;
    build(f, FOLDERS);
    assert_int_equal(count_below(f, "large", 0), ALL);
    bson_value_t id = support_id(f, "large");
    int64_t then = support_moment(f);
    support_move(f, "large", "moved");
    support_remove(f, "moved");
    assert_int_equal(support_count(f->current, "{}"), 3);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    assert_int_equal(count_below(f, "moved", 0), ALL);
    support_expect_seed(f, "moved/19/29/b", 2);
    assert_int_equal(count_below(f, "large", then), ALL);
}

/* ---- more than a commit takes ---- */

enum { SOME = 6, ALL_OF_SOME = SOME * (1 + BELOW_EACH) };

/* What happens before each transaction but the first `pass` ones. */
static struct {
    const ash_store_ops *real;
    ash_store_ops own;
    int pass;
    void (*happens)(fixture *f);
    bool fails;
    fixture *f;
} between;

static int transact_with(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                         ash_error *err)
{
    if (--between.pass < 0) {
        store->ops = between.real;
        if (between.happens != NULL)
            between.happens(between.f);
        if (between.fails)
            return ash__fail(err, ASH_EIO, "the disk is away");
    }
    return between.real->transact(store, fn, ctx, op, err);
}

static void set_between(fixture *f, int pass, void (*happens)(fixture *f), bool fails)
{
    between.real = f->store->ops;
    between.own = *f->store->ops;
    between.own.transact = transact_with;
    between.pass = pass;
    between.happens = happens;
    between.fails = fails;
    between.f = f;
    f->store->ops = &between.own;
}

/* Commits of a hundred entries. */
static void make_commits_small(fixture *f)
{
    f->tree->whole_max = 100;
    f->tree->finds_max = 100;
}

static int try_remove(fixture *f, const char *path)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    return ash_tree_remove(f->tree, path, &o, NULL, &f->err);
}

static int undelete(fixture *f, const bson_value_t *id)
{
    return ash_tree_undelete(f->tree, id, NULL, NULL, NULL, NULL, &f->err);
}

static void test_tree_large__folders_go_in_many_commits(void **state)
{
    fixture *f = *state;
    build(f, SOME);
    make_commits_small(f);
    bson_value_t id = support_id(f, "large");
    int64_t then = support_moment(f);
    support_remove(f, "large");
    support_expect_list(f, "/", false, 0, "one");
    assert_int_equal(support_count(f->current, "{}"), 3);
    assert_int_equal(count_below(f, "large", then), ALL_OF_SOME);
    assert_int_equal(undelete(f, &id), 0);
    assert_int_equal(count_below(f, "large", 0), ALL_OF_SOME);
    support_expect_seed(f, "large/05/29/b", 2);
    assert_int_equal(undelete(f, &id), ASH_EEXISTS);
}

static void take_a_name(fixture *f)
{
    support_put_seed(f, "large/00", 7);
}

static void test_tree_large__a_folder_is_left_half_way_back(void **state)
{
    fixture *f = *state;
    build(f, SOME);
    bson_value_t id = support_id(f, "large");
    support_remove(f, "large");
    make_commits_small(f);
    set_between(f, 3, NULL, true);
    assert_int_equal(undelete(f, &id), ASH_EIO);
    support_expect_sound(f);
    int64_t back = count_below(f, "large", 0);
    assert_true(back > 0 && back < ALL_OF_SOME);
    assert_int_equal(undelete(f, &id), 0);
    assert_int_equal(count_below(f, "large", 0), ALL_OF_SOME);
    assert_int_equal(undelete(f, &id), ASH_EEXISTS);
}

static void test_tree_large__a_name_is_taken_before_it_comes_back(void **state)
{
    fixture *f = *state;
    build(f, SOME);
    bson_value_t id = support_id(f, "large");
    support_remove(f, "large");
    make_commits_small(f);
    set_between(f, 2, take_a_name, false);
    assert_int_equal(undelete(f, &id), 0);
    support_expect_seed(f, "large/00", 7);
    assert_int_equal(count_below(f, "large", 0), ALL_OF_SOME - BELOW_EACH);
}

static void test_tree_large__a_folder_is_left_half_emptied(void **state)
{
    fixture *f = *state;
    build(f, SOME);
    make_commits_small(f);
    set_between(f, 4, NULL, true);
    assert_int_equal(try_remove(f, "large"), ASH_EIO);
    support_expect_sound(f);
    int64_t left = count_below(f, "large", 0);
    assert_true(left > 0 && left < ALL_OF_SOME);
    support_remove(f, "large");
    assert_int_equal(support_count(f->current, "{}"), 3);
}

/* What went by the first attempt, and by the second. */
static void expect_all_comes_back(fixture *f, bool at_once, bool goes_again)
{
    enum { FEW = 2, ALL_OF_FEW = FEW * (1 + BELOW_EACH) };
    build(f, FEW);
    size_t whole_max = f->tree->whole_max, finds_max = f->tree->finds_max;
    make_commits_small(f);
    bson_value_t id = support_id(f, "large");
    for (int i = 0; i < 2; i++) {
        set_between(f, 2, NULL, true);
        assert_int_equal(try_remove(f, "large"), ASH_EIO);
        (void)support_moment(f);
        if (!goes_again)
            break;
        support_remove(f, "large");
        if (at_once) {
            f->tree->whole_max = whole_max;
            f->tree->finds_max = finds_max;
        }
        assert_ok(undelete(f, &id), &f->err);
        assert_int_equal(count_below(f, "large", 0), ALL_OF_FEW);
        make_commits_small(f);
    }
    if (!goes_again)
        assert_ok(undelete(f, &id), &f->err);
    assert_int_equal(count_below(f, "large", 0), ALL_OF_FEW);
    support_expect_seed(f, "large/00/00/a", 1);
    support_remove(f, "large/00/00/a"); /* by itself, later */
    assert_int_equal(undelete(f, &id), ASH_EEXISTS);
    support_expect_missing(f, "large/00/00/a");
}

static void test_tree_large__all_comes_back_that_went_in_two_attempts(void **state)
{
    expect_all_comes_back(*state, false, true);
}

static void test_tree_large__the_same_in_one_commit(void **state)
{
    expect_all_comes_back(*state, true, true);
}

static void test_tree_large__a_deletion_that_was_interrupted_is_undone(void **state)
{
    expect_all_comes_back(*state, false, false);
}

static void put_into_it(fixture *f)
{
    support_put_seed(f, "large/01/late", 1); /* in a folder that was looked at, … */
    support_put_seed(f, "large/05/29/late", 2);
    support_put_seed(f, "large/05/29/a", 3);
    support_move(f, "large/05/28", "out"); /* … and others */
}

static void test_tree_large__others_change_the_folder_meanwhile(void **state)
{
    fixture *f = *state;
    build(f, SOME);
    make_commits_small(f);
    set_between(f, 2, put_into_it, false);
    support_remove(f, "large");
    support_expect_list(f, "/", true, 0, "/one /one/a /one/b /out /out/a /out/b");
}

static void put_what_is_gone(fixture *f)
{
    support_expect_missing(f, "large/01/00");
    support_put_seed(f, "large/01/00", 3);
}

/* The name was taken again by somebody else before its folder went: two were deleted from it. */
static void expect_later_of_two(fixture *f, bool comes_back_at_once)
{
    build(f, SOME);
    size_t whole_max = f->tree->whole_max;
    make_commits_small(f);
    bson_value_t id = support_id(f, "large");
    set_between(f, 2, put_what_is_gone, false);
    support_remove(f, "large");
    support_expect_list(f, "/", true, 0, "/one /one/a /one/b");
    if (comes_back_at_once)
        f->tree->whole_max = whole_max;
    assert_ok(undelete(f, &id), &f->err);
    support_expect_seed(f, "large/01/00", 3);
    assert_int_equal(count_below(f, "large", 0), ALL_OF_SOME - 2);
    assert_int_equal(undelete(f, &id), ASH_EEXISTS);
}

static void test_tree_large__a_name_goes_twice_with_its_folder(void **state)
{
    expect_later_of_two(*state, false);
}

/* Who undeletes it may take more for a commit than who deleted it. */
static void test_tree_large__two_of_a_name_would_come_back_at_once(void **state)
{
    expect_later_of_two(*state, true);
}

static void replace_it(fixture *f)
{
    support_move(f, "large", "old");
    support_folder(f, "large");
}

static void test_tree_large__another_folder_has_its_name(void **state)
{
    fixture *f = *state;
    build(f, SOME);
    make_commits_small(f);
    set_between(f, 3, replace_it, false);
    assert_int_equal(try_remove(f, "large"), ASH_ECONFLICT);
    support_expect_list(f, "large", false, 0, "");
}

/* Nothing goes before all may. */
static void test_tree_large__of_those_who_may(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_principal eve = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    bson_t nobody = BSON_INITIALIZER;
    build(f, SOME);
    make_commits_small(f);
    o.recursive = true;
    eve.user = "eve";
    eve.db = "test";
    op.principal = &eve;
    assert_ok(ash_tree_set_acl(f->tree, "large/05/29", &nobody, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_remove(f->tree, "large", &o, &op, &f->err), ASH_EACCES);
    assert_int_equal(count_below(f, "large", 0), ALL_OF_SOME);
    assert_ok(ash_tree_remove(f->tree, "large/02", &o, &op, &f->err), &f->err);
    support_expect_missing(f, "large/02");
    bson_destroy(&nobody);
}

static void test_tree_large__folders_are_copied(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    o.recursive = true;
    build(f, FOLDERS);
    when.at_ms = support_moment(f);
    support_copy(f, "large", "copy");
    assert_int_equal(count_below(f, "copy", 0), ALL);
    support_remove(f, "large/07");
    assert_ok(ash_tree_copy(f->tree, "large", &when, "was", &o, NULL, NULL, &f->err), &f->err);
    assert_int_equal(count_below(f, "was", 0), ALL);
    support_expect_seed(f, "was/07/29/b", 2);
    assert_int_equal(support_count(f->contents, "{}"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_large__folders_go_and_come_back),
        here(test_tree_large__folders_are_copied),
        here(test_tree_large__folders_go_in_many_commits),
        here(test_tree_large__a_folder_is_left_half_emptied),
        here(test_tree_large__a_folder_is_left_half_way_back),
        here(test_tree_large__all_comes_back_that_went_in_two_attempts),
        here(test_tree_large__the_same_in_one_commit),
        here(test_tree_large__a_deletion_that_was_interrupted_is_undone),
        here(test_tree_large__a_name_is_taken_before_it_comes_back),
        here(test_tree_large__others_change_the_folder_meanwhile),
        here(test_tree_large__a_name_goes_twice_with_its_folder),
        here(test_tree_large__two_of_a_name_would_come_back_at_once),
        here(test_tree_large__another_folder_has_its_name),
        here(test_tree_large__of_those_who_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
