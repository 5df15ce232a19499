/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* How much history is kept: marks, rules, pruning, and what collection frees afterwards. */

static bool has_tag(fixture *f, const char *path, int32_t version, const char *tag)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *e = NULL;
    when.version = version;
    assert_ok(ash_tree_get(f->tree, path, &when, NULL, &e, &f->err), &f->err);
    bool has = ash_tree_entry_has_tag(e, tag);
    ash_tree_entry_free(e);
    return has;
}

static int tag(fixture *f, const char *path, int32_t version, const char *name, bool remove)
{
    return ash_tree_tag(f->tree, path, version, name, remove, NULL, &f->err);
}

static void set_keep(fixture *f, const char *path, int32_t last, int64_t within_s)
{
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    keep.last = last;
    keep.within_s = within_s;
    assert_ok(ash_tree_set_keep(f->tree, path, &keep, NULL, NULL, &f->err), &f->err);
}

typedef struct pruning {
    int64_t told;
    int64_t stop_at; /* 0: never */
} pruning;

static bool each(void *ctx, const ash_tree_entry *e)
{
    pruning *p = ctx;
    assert_true(ash_tree_entry_path(e)[0] == '/');
    p->told++;
    return p->stop_at == 0 || p->told < p->stop_at;
}

static ash_tree_prune_report prune(fixture *f, const char *path, const ash_tree_keep *keep,
                                   bool dry_run)
{
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_prune_report report = ASH_TREE_PRUNE_REPORT_INIT;
    pruning p = {0};
    o.keep = keep;
    o.dry_run = dry_run;
    o.each = each;
    o.each_ctx = &p;
    assert_ok(ash_tree_prune(f->tree, path, &o, NULL, &report, &f->err), &f->err);
    assert_true(p.told >= report.versions);
    return report;
}

static ash_tree_collect_report collect(fixture *f, bool dry_run)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    o.min_age_s = -1;
    o.dry_run = dry_run;
    assert_ok(ash_tree_collect(f->tree, &o, NULL, &report, &f->err), &f->err);
    return report;
}

static void put_versions(fixture *f, const char *path, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        support_put_seed(f, path, first + i);
}

static void remove_folder(fixture *f, const char *path)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    assert_ok(ash_tree_remove(f->tree, path, &o, NULL, &f->err), &f->err);
}

static void test_tree_keep__marks(void **state)
{
    fixture *f = *state;
    char longest[257];
    put_versions(f, "a", 1, 3);
    assert_ok(tag(f, "a", 2, "draft", false), &f->err);
    assert_ok(tag(f, "a", 2, "draft", false), &f->err);
    assert_ok(tag(f, "a", 0, "good", false), &f->err);
    assert_ok(tag(f, "a", 3, "best", false), &f->err);
    assert_true(has_tag(f, "a", 2, "draft"));
    assert_true(has_tag(f, "a", 3, "good"));
    assert_true(has_tag(f, "a", 0, "best"));
    support_expect_history(f, "a", "3 2 1"); /* marks make no version */
    support_put_seed(f, "a", 4);
    assert_false(has_tag(f, "a", 0, "good"));
    assert_true(has_tag(f, "a", 3, "good"));
    assert_ok(tag(f, "a", 3, "good", true), &f->err);
    assert_false(has_tag(f, "a", 3, "good"));
    assert_true(has_tag(f, "a", 3, "best"));
    assert_int_equal(tag(f, "a", 9, "x", false), ASH_ENOREVISION);
    assert_int_equal(tag(f, "b", 0, "x", false), ASH_ENOTFOUND);
    assert_int_equal(tag(f, "a", 0, "", false), ASH_EINVAL);
    memset(longest, 't', sizeof longest);
    longest[256] = '\0';
    assert_int_equal(tag(f, "a", 0, longest, false), ASH_EINVAL);
    longest[255] = '\0';
    assert_ok(tag(f, "a", 0, longest, false), &f->err);
}

static void expect_rule(fixture *f, const char *path, bool all, int32_t last, const char *from)
{
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    char *where = NULL;
    assert_ok(ash_tree_get_keep(f->tree, path, NULL, &keep, &where, &f->err), &f->err);
    assert_int_equal(keep.all, all);
    assert_int_equal(keep.last, last);
    if (from == NULL)
        assert_null(where);
    else
        assert_string_equal(where, from);
    ash_tree_string_free(where);
}

static void test_tree_keep__rules_are_inherited(void **state)
{
    fixture *f = *state;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    support_folder(f, "d");
    support_folder(f, "d/e");
    support_put_text(f, "d/e/a", "x");
    expect_rule(f, "d/e/a", true, 0, NULL);
    set_keep(f, "d", 5, 0);
    expect_rule(f, "d/e/a", false, 5, "/d");
    set_keep(f, "d/e", 2, 0);
    expect_rule(f, "d/e/a", false, 2, "/d/e");
    expect_rule(f, "d", false, 5, "/d");
    set_keep(f, "/", 9, 0);
    expect_rule(f, "/", false, 9, "/");
    assert_ok(ash_tree_set_keep(f->tree, "d", NULL, NULL, NULL, &f->err), &f->err);
    expect_rule(f, "d", false, 9, "/");
    keep.all = true;
    assert_ok(ash_tree_set_keep(f->tree, "d/e", &keep, NULL, NULL, &f->err), &f->err);
    expect_rule(f, "d/e/a", true, 0, "/d/e");
    keep.all = false;
    keep.last = -1;
    assert_int_equal(ash_tree_set_keep(f->tree, "d", &keep, NULL, NULL, &f->err), ASH_EINVAL);
    support_expect_version(f, "/", 1);          /* the root has a document by now, … */
    support_expect_list(f, "/", false, 0, "d"); /* … which lies nowhere */
}

static void test_tree_keep__so_many_versions(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    put_versions(f, "d/a", 1, 6);
    put_versions(f, "b", 11, 4);
    assert_int_equal(prune(f, "/", NULL, false).versions, 0); /* no rule: all */
    set_keep(f, "d", 2, 0);
    ash_tree_prune_report r = prune(f, "/", NULL, true);
    assert_int_equal(r.versions, 3);
    assert_int_equal(r.bytes, 1500);
    support_expect_history(f, "d/a", "6 5 4 3 2 1");
    r = prune(f, "/", NULL, false);
    assert_int_equal(r.versions, 3);
    support_expect_history(f, "d/a", "6 5 4");
    support_expect_history(f, "b", "4 3 2 1");
    support_expect_seed_of(f, "d/a", 4, 0, 4);
    assert_int_equal(prune(f, "/", NULL, false).versions, 0);
}

static void test_tree_keep__so_long_ago(void **state)
{
    fixture *f = *state;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    struct timespec a_while = {1, 200000000};
    put_versions(f, "a", 1, 3);
    keep.within_s = 3600;
    assert_int_equal(prune(f, "/", &keep, false).versions, 0);
    keep.within_s = 1;
    nanosleep(&a_while, NULL);
    support_put_seed(f, "a", 4);
    /* The third version was current until a moment ago. */
    assert_int_equal(prune(f, "/", &keep, false).versions, 2);
    support_expect_history(f, "a", "4 3");
}

static void test_tree_keep__what_is_marked(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    put_versions(f, "a", 1, 5);
    support_put_seed(f, "b", 6);
    assert_ok(tag(f, "a", 2, "release", false), &f->err);
    support_remove(f, "b");
    int64_t then = support_moment(f);
    assert_int_equal(prune(f, "/", &nothing, false).versions, 3 + 1);
    support_expect_history(f, "a", "5 2");
    support_expect_seed_of(f, "a", 2, 0, 2);
    support_expect_seed_of(f, "a", 0, then, 5);
    ash_tree_listing *l = NULL;
    assert_int_equal(ash_tree_history(f->tree, "b", 0, NULL, &l, &f->err), ASH_ENOTFOUND);
    assert_ok(ash_tree_trash(f->tree, "/", 0, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "");
    assert_int_equal(support_count(f->past, "{}"), 1);
}

static void test_tree_keep__below_a_path_alone(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    pruning p = {.stop_at = 2};
    support_folder(f, "d");
    support_folder(f, "e");
    put_versions(f, "d/a", 1, 3);
    put_versions(f, "e/b", 11, 3);
    put_versions(f, "c", 21, 3);
    assert_int_equal(prune(f, "d", &nothing, false).versions, 2);
    assert_int_equal(prune(f, "c", &nothing, false).versions, 2);
    support_expect_history(f, "e/b", "3 2 1");
    o.keep = &nothing;
    o.each = each;
    o.each_ctx = &p;
    assert_int_equal(ash_tree_prune(f->tree, "/", &o, NULL, NULL, &f->err), ASH_EINTERRUPTED);
    assert_int_equal(p.told, 2);
    assert_int_equal(ash_tree_prune(f->tree, "no", &o, NULL, NULL, &f->err), ASH_ENOTFOUND);
}

/* Behaviour 20: pruning, and then the space. */
static void test_tree_keep__then_the_space_comes_back(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_usage before = ASH_TREE_USAGE_INIT, after = ASH_TREE_USAGE_INIT;
    for (uint32_t i = 1; i <= 4; i++) {
        uint8_t *data = support_bytes(300000, i);
        support_put(f, "a", data, 300000);
        ash__free(data);
    }
    assert_int_equal(collect(f, false).contents, 0); /* the history needs them all */
    assert_ok(ash_tree_measure(f->tree, "/", NULL, &before, &f->err), &f->err);
    assert_int_equal(before.versions, 3);
    assert_int_equal(before.version_bytes, 900000);
    assert_int_equal(prune(f, "/", &nothing, false).bytes, 900000);
    ash_tree_collect_report dry = collect(f, true);
    assert_int_equal(dry.contents, 3);
    assert_int_equal(support_count(f->contents, "{}"), 4);
    ash_tree_collect_report r = collect(f, false);
    assert_int_equal(r.contents, 3);
    assert_int_equal(r.bytes, dry.bytes);
    assert_int_equal(support_count(f->contents, "{}"), 1);
    assert_ok(ash_tree_measure(f->tree, "/", NULL, &after, &f->err), &f->err);
    assert_int_equal(after.versions, 0);
    assert_true(after.stored_bytes <= 310000);
    assert_int_equal(before.stored_bytes - after.stored_bytes, r.bytes);
}

/* v7files' MongoReferenceTrackingTest: what nobody has any more is purged; also what only the
 * trash had. */
static void test_tree_keep__young_contents_stay(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    support_put_seed(f, "a", 1);
    support_remove(f, "a");
    assert_int_equal(collect(f, false).contents, 0); /* it can be undeleted */
    assert_int_equal(prune(f, "/", &nothing, false).versions, 1);
    assert_ok(ash_tree_collect(f->tree, NULL, NULL, &report, &f->err), &f->err);
    assert_int_equal(report.contents, 0);
    assert_int_equal(report.young, 1);
    assert_int_equal(collect(f, false).contents, 1);
    assert_int_equal(support_count(f->contents, "{}"), 0);
    assert_int_equal(support_count(f->chunks, "{}"), 0);
}

static void test_tree_keep__rules_that_cannot_be_read_keep_all(void **state)
{
    fixture *f = *state;
    static const char *const rules[] = {
        "{\"last\": \"5\"}", "{\"last\": -1}", "{\"last\": {\"$numberLong\": \"4294967296\"}}",
        "{\"within\": \"30d\"}", "{\"within\": {\"$numberLong\": \"9223372036854775807\"}}"};
    ash_tree_keep for_ever = ASH_TREE_KEEP_INIT;
    support_folder(f, "d");
    put_versions(f, "d/a", 1, 3);
    for_ever.within_s = INT64_MAX;
    assert_int_equal(prune(f, "/", &for_ever, true).versions, 0);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        char update[128];
        snprintf(update, sizeof update, "{\"$set\": {\"keep\": %s}}", rules[i]);
        support_update(f->current, "{\"filename\": \"d\"}", update);
        assert_int_equal(prune(f, "/", NULL, true).versions, 0);
    }
}

/* v7files does not say when a version ended: the last of the history did when the current one
 * began. */
static void test_tree_keep__ends_that_are_not_said(void **state)
{
    fixture *f = *state;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    put_versions(f, "a", 1, 2);
    support_update(f->past, "{}", "{\"$unset\": {\"until\": 1}}");
    keep.within_s = 3600;
    assert_int_equal(prune(f, "/", &keep, false).versions, 0);
    support_expect_history(f, "a", "2 1");
}

static void test_tree_keep__rules_are_for_their_own_entry_too(void **state)
{
    fixture *f = *state;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    keep.all = true;
    put_versions(f, "a", 1, 3);
    put_versions(f, "b", 11, 3);
    set_keep(f, "/", 0, 0);
    assert_ok(ash_tree_set_keep(f->tree, "a", &keep, NULL, NULL, &f->err), &f->err);
    assert_int_equal(prune(f, "/", NULL, false).versions, 2);
    support_expect_history(f, "a", "4 3 2 1");
    support_expect_history(f, "b", "3");
    support_remove(f, "a");
    assert_int_equal(prune(f, "/", NULL, false).versions, 0);
}

/* More than a commit takes: the folder is forgotten after what lay in it. */
static void test_tree_keep__folders_go_last(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    char path[32];
    support_folder(f, "d");
    support_folder(f, "d/e");
    for (int i = 0; i < 210; i++) {
        snprintf(path, sizeof path, "d/%d", i);
        support_put_text(f, path, "x");
    }
    support_folder(f, "d/e/f");
    support_put_text(f, "d/e/f/a", "x");
    remove_folder(f, "d");
    assert_int_equal(prune(f, "/", &nothing, false).versions, 214);
    assert_int_equal(support_count(f->past, "{}"), 0);
}

static void test_tree_keep__folders_stay_for_what_stays_in_them(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    support_folder(f, "d");
    support_folder(f, "d/e");
    support_folder(f, "d/g");
    put_versions(f, "d/e/a", 1, 3);
    assert_ok(tag(f, "d/e/a", 0, "release", false), &f->err);
    remove_folder(f, "d");
    assert_int_equal(prune(f, "/", &nothing, true).versions, 3);
    assert_int_equal(prune(f, "/", &nothing, false).versions, 3); /* two of a, and g */
    bson_t *d = support_document(f->past, "{\"filename\": \"d\"}");
    bson_iter_t it, id;
    assert_true(bson_iter_init_find(&it, d, "_id") && bson_iter_recurse(&it, &id) &&
                bson_iter_find(&id, "_id"));
    assert_ok(ash_tree_undelete(f->tree, bson_iter_value(&id), NULL, NULL, NULL, NULL, &f->err),
              &f->err);
    support_expect_seed(f, "d/e/a", 3);
    bson_destroy(d);
}

/* Else nothing would say since when the file is gone, and it could not come back. */
static void test_tree_keep__a_deletion_stays_with_any_version(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_listing *l = NULL;
    put_versions(f, "a", 1, 3);
    assert_ok(tag(f, "a", 2, "release", false), &f->err);
    bson_value_t id = support_id(f, "a");
    support_remove(f, "a");
    assert_int_equal(prune(f, "/", &nothing, false).versions, 2);
    support_expect_history(f, "a", "d4 2");
    assert_ok(ash_tree_trash(f->tree, "/", 0, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "/a");
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_seed(f, "a", 2);
    support_expect_history(f, "a", "5 d4 2"); /* no number twice */
    assert_int_equal(prune(f, "/", &nothing, false).versions, 0);
    assert_ok(tag(f, "a", 2, "release", true), &f->err);
    support_remove(f, "a");
    assert_int_equal(prune(f, "/", &nothing, false).versions, 2);
    assert_int_equal(support_count(f->past, "{}"), 0);
}

/* So does that of a folder, one version of which is marked. */
static void test_tree_keep__a_deletion_stays_with_any_folder(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    support_folder(f, "d");
    assert_ok(tag(f, "d", 1, "release", false), &f->err);
    set_keep(f, "d", 0, 0);
    support_put_text(f, "d/a", "x");
    bson_value_t id = support_id(f, "d");
    remove_folder(f, "d");
    assert_int_equal(prune(f, "/", &nothing, false).versions, 2);
    support_expect_history(f, "d", "d3 1");
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_list(f, "/", true, 0, "/d");
}

static void test_tree_keep__of_those_who_may(void **state)
{
    fixture *f = *state;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_principal eve = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    bson_t nobody = BSON_INITIALIZER;
    o.keep = &nothing;
    eve.user = "eve";
    eve.db = "test";
    op.principal = &eve;
    support_folder(f, "d");
    put_versions(f, "d/a", 1, 3);
    put_versions(f, "b", 11, 3);
    assert_ok(ash_tree_set_acl(f->tree, "d", &nobody, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_prune(f->tree, "/", &o, &op, NULL, &f->err), &f->err);
    support_expect_history(f, "d/a", "3 2 1");
    support_expect_history(f, "b", "3");
    bson_destroy(&nobody);
}

static void test_tree_keep__who_set_a_tag_and_when(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    const char *by = NULL;
    o.changed_by = "ann";
    support_put_seed(f, "a", 1);
    int64_t before = support_moment(f);
    assert_ok(ash_tree_tag_with(f->tree, "a", 0, "good", false, &o, NULL, &f->err), &f->err);
    o.changed_by = "bob";
    assert_ok(ash_tree_tag_with(f->tree, "a", 1, "good", false, &o, NULL, &f->err), &f->err);
    assert_ok(ash_tree_tag(f->tree, "a", 0, "fine", false, NULL, &f->err), &f->err);
    support_put_seed(f, "a", 2); /* inherits neither */
    ash_tree_entry *e = support_get(f, "a");
    assert_int_equal(ash_tree_entry_tagged_ms(e, "good", &by), 0);
    assert_null(by);
    ash_tree_entry_free(e);
    ash_tree_when first = ASH_TREE_WHEN_INIT;
    first.version = 1;
    assert_ok(ash_tree_get(f->tree, "a", &first, NULL, &e, &f->err), &f->err);
    assert_true(ash_tree_entry_tagged_ms(e, "good", &by) >= before);
    assert_string_equal(by, "ann");
    assert_true(ash_tree_entry_tagged_ms(e, "fine", &by) >= before);
    assert_null(by);
    ash_tree_entry_free(e);
    assert_ok(ash_tree_tag(f->tree, "a", 1, "good", true, NULL, &f->err), &f->err);
    assert_ok(ash_tree_get(f->tree, "a", &first, NULL, &e, &f->err), &f->err);
    assert_int_equal(ash_tree_entry_tagged_ms(e, "good", &by), 0);
    assert_false(ash_tree_entry_has_tag(e, "good"));
    assert_true(ash_tree_entry_has_tag(e, "fine"));
    ash_tree_entry_free(e);
    o.if_version = 7;
    assert_int_equal(ash_tree_tag_with(f->tree, "a", 1, "x", false, &o, NULL, &f->err),
                     ASH_ECONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_keep__who_set_a_tag_and_when),
        here(test_tree_keep__marks),
        here(test_tree_keep__rules_are_inherited),
        here(test_tree_keep__so_many_versions),
        here(test_tree_keep__so_long_ago),
        here(test_tree_keep__what_is_marked),
        here(test_tree_keep__below_a_path_alone),
        here(test_tree_keep__then_the_space_comes_back),
        here(test_tree_keep__young_contents_stay),
        here(test_tree_keep__rules_that_cannot_be_read_keep_all),
        here(test_tree_keep__ends_that_are_not_said),
        here(test_tree_keep__rules_are_for_their_own_entry_too),
        here(test_tree_keep__folders_go_last),
        here(test_tree_keep__of_those_who_may),
        here(test_tree_keep__a_deletion_stays_with_any_version),
        here(test_tree_keep__a_deletion_stays_with_any_folder),
        here(test_tree_keep__folders_stay_for_what_stays_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
