/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "store/ops.h"
#include "tree/tree.h"

#include <stdio.h>
#include <string.h>

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
    bool for_ever;
    fixture *f;
} between;

static int transact_with(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                         ash_error *err)
{
    if (--between.pass < 0) {
        if (!between.for_ever)
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
    between.for_ever = false;
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

enum { FEW = 2, ALL_OF_FEW = FEW * (1 + BELOW_EACH) };

/* What went by the first attempt, and by the second. */
static void expect_all_comes_back(fixture *f, bool at_once, bool goes_again)
{
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

static int try_copy(fixture *f, const char *from, int64_t at_ms, const char *to)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    o.recursive = true;
    when.at_ms = at_ms;
    return ash_tree_copy(f->tree, from, &when, to, &o, NULL, NULL, &f->err);
}

static void change_the_source(fixture *f)
{
    support_expect_missing(f, "copy");
    support_remove(f, "large/00/00");
    support_put_seed(f, "large/01/29/b", 7);
    support_put_seed(f, "large/01/late", 8);
}

/* What others do to the source meanwhile, they do later. */
static void test_tree_large__copies_in_many_commits(void **state)
{
    fixture *f = *state;
    build(f, FEW);
    int64_t others = support_count(f->current, "{}") - 3 + 1;
    make_commits_small(f);
    set_between(f, 1, change_the_source, false);
    assert_ok(try_copy(f, "large", 0, "copy"), &f->err);
    assert_int_equal(count_below(f, "copy", 0), ALL_OF_FEW);
    support_expect_seed(f, "copy/00/00/a", 1);
    support_expect_seed(f, "copy/01/29/b", 2);
    support_expect_version(f, "copy", 1);
    assert_int_equal(support_count(f->current, "{}"), others + ALL_OF_FEW + 1);
    bson_t *doc = support_document(f->current, "{\"filename\": \"copy\"}");
    support_expect_fields(doc, "_id _version parent filename created_at");
    bson_destroy(doc);
    assert_int_equal(try_copy(f, "large", 0, "copy"), ASH_EEXISTS);
    assert_int_equal(try_copy(f, "large", 0, "large/copy"), ASH_EINVAL);
    assert_int_equal(try_copy(f, "large", 0, "no/copy"), ASH_ENOTFOUND);
    assert_int_equal(support_count(f->current, "{}"), others + ALL_OF_FEW + 1);
    int64_t then = support_moment(f);
    support_remove(f, "copy/01");
    assert_ok(try_copy(f, "copy", then, "again"), &f->err);
    assert_int_equal(count_below(f, "again", 0), ALL_OF_FEW);
}

/* With the last commit; of what lies in it only where the watch comes late. */
static void test_tree_large__a_watch_is_told_of_a_copy(void **state)
{
    fixture *f = *state;
    ash_tree_watch *w = NULL;
    ash_tree_event event = ASH_TREE_EVENT_INIT;
    build(f, FEW);
    make_commits_small(f);
    assert_ok(ash_tree_watch_open(f->tree, "/", NULL, &w, &f->err), &f->err);
    assert_ok(try_copy(f, "large", 0, "copy"), &f->err);
    do {
        assert_ok(ash_tree_watch_next(w, 10000, &event, &f->err), &f->err);
        assert_int_equal(event.kind, ASH_TREE_CREATED);
    } while (strcmp(event.path, "/copy") != 0);
    assert_ok(ash_tree_watch_next(w, 100, &event, &f->err), &f->err);
    assert_int_equal(event.kind, 0);
    ash_tree_watch_close(w);
}

static void collect_of_age(fixture *f, int64_t min_age_s)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    o.min_age_s = min_age_s;
    assert_ok(ash_tree_collect(f->tree, &o, NULL, NULL, &f->err), &f->err);
}

static void test_tree_large__a_copy_is_seen_whole_or_not(void **state)
{
    fixture *f = *state;
    build(f, FEW);
    make_commits_small(f);
    int64_t documents = support_count(f->current, "{}");
    for (int pass = 1; pass < 4; pass++) { /* what failed is taken away at once, … */
        set_between(f, pass, NULL, true);
        assert_int_equal(try_copy(f, "large", 0, "copy"), ASH_EIO);
        assert_int_equal(support_count(f->current, "{}"), documents);
    }
    set_between(f, 3, NULL, true);
    between.for_ever = true; /* … or, as after a crash, by a collection */
    assert_int_equal(try_copy(f, "large", 0, "copy"), ASH_EIO);
    f->store->ops = between.real;
    assert_int_equal(support_count(f->current, "{}"), documents + ALL_OF_FEW + 1);
    support_expect_sound(f);
    support_expect_missing(f, "copy");
    collect_of_age(f, 0);
    assert_int_equal(support_count(f->current, "{}"), documents + ALL_OF_FEW + 1);
    collect_of_age(f, -1);
    assert_int_equal(support_count(f->current, "{}"), documents);
    support_expect_seed(f, "large/01/29/b", 2);
    assert_ok(try_copy(f, "large", 0, "copy"), &f->err);
}

static void collect_all(fixture *f)
{
    collect_of_age(f, -1);
}

static void test_tree_large__a_copy_that_was_collected_is_none(void **state)
{
    fixture *f = *state;
    build(f, FEW);
    make_commits_small(f);
    int64_t documents = support_count(f->current, "{}");
    set_between(f, 3, collect_all, false);
    assert_int_equal(try_copy(f, "large", 0, "copy"), ASH_ECONFLICT);
    assert_int_equal(support_count(f->current, "{}"), documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_large__folders_go_and_come_back),
        here(test_tree_large__folders_are_copied),
        here(test_tree_large__copies_in_many_commits),
        here(test_tree_large__a_watch_is_told_of_a_copy),
        here(test_tree_large__a_copy_is_seen_whole_or_not),
        here(test_tree_large__a_copy_that_was_collected_is_none),
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
