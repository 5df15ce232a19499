/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Who may do what.  The holes that v7files had are cases here: readers who could write, targets of
 * moves and copies that nobody asked about, lists that did not name a right. */

typedef struct someone {
    ash_principal principal;
    bson_t *roles;
    ash_op op;
} someone;

static void become(someone *s, const char *role)
{
    memset(s, 0, sizeof *s);
    s->principal = (ash_principal)ASH_PRINCIPAL_INIT;
    s->op = (ash_op)ASH_OP_INIT;
    s->roles = BCON_NEW("0", "{", "role", BCON_UTF8(role), "db", BCON_UTF8("test"), "}");
    s->principal.user = role;
    s->principal.db = "test";
    s->principal.roles = s->roles;
    s->op.principal = &s->principal;
}

static void set_acl(fixture *f, const char *path, const char *json)
{
    bson_t *acl = bson_new_from_json((const uint8_t *)json, -1, NULL);
    assert_non_null(acl);
    assert_ok(ash_tree_set_acl(f->tree, path, acl, NULL, NULL, &f->err), &f->err);
    bson_destroy(acl);
}

static int get(fixture *f, const someone *who, const char *path)
{
    ash_tree_entry *e = NULL;
    int rc = ash_tree_get(f->tree, path, NULL, &who->op, &e, &f->err);
    ash_tree_entry_free(e);
    return rc;
}

static int put(fixture *f, const someone *who, const char *path)
{
    ash_tree_writer *w = NULL;
    int rc = ash_tree_open_writer(f->tree, path, NULL, &who->op, &w, &f->err);
    if (rc == 0)
        rc = ash_tree_writer_write(w, "new", 3, &f->err);
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, NULL, &f->err);
    ash_tree_writer_free(w);
    return rc;
}

static int copy(fixture *f, const someone *who, const char *from, const char *to)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = o.replace = true;
    return ash_tree_copy(f->tree, from, NULL, to, &o, &who->op, NULL, &f->err);
}

static int move(fixture *f, const someone *who, const char *from, const char *to)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.replace = true;
    return ash_tree_move(f->tree, from, to, &o, &who->op, NULL, &f->err);
}

static int erase(fixture *f, const someone *who, const char *path)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    return ash_tree_remove(f->tree, path, &o, &who->op, &f->err);
}

/* /open for everybody of the house, /secret for one, /shown for reading alone. */
static void build(fixture *f)
{
    static const char *const folders[] = {"open", "secret", "shown", "open/inner"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(folders); i++)
        support_folder(f, folders[i]);
    support_put_text(f, "open/a", "open");
    support_put_text(f, "open/inner/b", "inner");
    support_put_text(f, "secret/a", "secret");
    support_put_text(f, "shown/a", "shown");
    set_acl(f, "open", "{\"read\": [\"house\"], \"write\": [\"house\"], \"open\": [\"house\"]}");
    set_acl(f, "secret", "{\"read\": [\"boss\"], \"write\": [\"boss\"], \"open\": [\"boss\"]}");
    set_acl(f, "shown", "{\"read\": [\"house\"], \"open\": [\"house\"]}");
}

static void test_tree_acl__without_a_list_everything(void **state)
{
    fixture *f = *state;
    someone house;
    become(&house, "house");
    support_put_text(f, "a", "x");
    assert_ok(put(f, &house, "a"), &f->err);
    assert_ok(get(f, &house, "a"), &f->err);
    ash_tree_entry *e = support_get(f, "a");
    assert_string_equal(ash_tree_entry_changed_by(e), "house@test");
    ash_tree_entry_free(e);
    house.principal.db = "admin";
    assert_ok(put(f, &house, "b"), &f->err);
    e = support_get(f, "b");
    assert_string_equal(ash_tree_entry_changed_by(e), "house");
    ash_tree_entry_free(e);
    bson_destroy(house.roles);
}

static void test_tree_acl__lists_are_inherited(void **state)
{
    fixture *f = *state;
    someone house, boss;
    bson_t acl;
    char *from = NULL;
    build(f);
    become(&house, "house");
    become(&boss, "boss");
    assert_ok(get(f, &house, "open/inner/b"), &f->err);
    assert_ok(put(f, &house, "open/inner/b"), &f->err);
    assert_int_equal(get(f, &boss, "open/inner/b"), ASH_EACCES);
    assert_int_equal(get(f, &house, "secret/a"), ASH_EACCES);
    /* A list of its own counts alone, and what leads to it has to be open. */
    set_acl(f, "open/inner", "{\"read\": [\"boss\"], \"open\": [\"boss\", \"house\"]}");
    assert_int_equal(get(f, &house, "open/inner/b"), ASH_EACCES);
    assert_int_equal(get(f, &boss, "open/inner/b"), ASH_EACCES);
    set_acl(f, "open", "{\"read\": [\"house\"], \"open\": [\"house\", \"boss\"]}");
    assert_ok(get(f, &boss, "open/inner/b"), &f->err);
    assert_ok(ash_tree_get_acl(f->tree, "open/inner/b", NULL, &acl, &from, &f->err), &f->err);
    assert_string_equal(from, "/open/inner");
    assert_true(bson_has_field(&acl, "read"));
    bson_destroy(&acl);
    ash_tree_string_free(from);
    assert_ok(ash_tree_set_acl(f->tree, "open/inner", NULL, NULL, NULL, &f->err), &f->err);
    assert_ok(get(f, &house, "open/inner/b"), &f->err);
    bson_destroy(house.roles);
    bson_destroy(boss.roles);
}

/* v7files' (h): without `write` it looked whether one may read. */
static void test_tree_acl__readers_do_not_write(void **state)
{
    fixture *f = *state;
    someone house;
    build(f);
    become(&house, "house");
    assert_ok(get(f, &house, "shown/a"), &f->err);
    assert_int_equal(put(f, &house, "shown/a"), ASH_EACCES);
    assert_int_equal(put(f, &house, "shown/b"), ASH_EACCES);
    assert_int_equal(erase(f, &house, "shown/a"), ASH_EACCES);
    assert_int_equal(move(f, &house, "shown/a", "open/x"), ASH_EACCES);
    assert_int_equal(ash_tree_set(f->tree, "shown/a", NULL, &house.op, NULL, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_tag(f->tree, "shown/a", 0, "t", false, &house.op, &f->err),
                     ASH_EACCES);
    assert_int_equal(ash_tree_restore(f->tree, "shown/a", 1, NULL, &house.op, NULL, &f->err),
                     ASH_EACCES);
    assert_int_equal(ash_tree_make_folder(f->tree, "shown/d", NULL, &house.op, NULL, &f->err),
                     ASH_EACCES);
    assert_int_equal(ash_tree_prune(f->tree, "shown", NULL, &house.op, NULL, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_set_keep(f->tree, "shown", NULL, NULL, &house.op, &f->err),
                     ASH_EACCES);
    support_expect_text(f, "shown/a", "shown");
    support_expect_history(f, "shown/a", "1");
    bson_destroy(house.roles);
}

/* Nobody gives himself rights: who sets a list may write there. */
static void test_tree_acl__nobody_gives_himself_rights(void **state)
{
    fixture *f = *state;
    someone house;
    bson_t *acl = BCON_NEW("write", "[", BCON_UTF8("house"), "]");
    build(f);
    become(&house, "house");
    assert_int_equal(ash_tree_set_acl(f->tree, "shown", acl, NULL, &house.op, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_set_acl(f->tree, "shown/a", acl, NULL, &house.op, &f->err),
                     ASH_EACCES);
    assert_int_equal(ash_tree_set_acl(f->tree, "secret", NULL, NULL, &house.op, &f->err),
                     ASH_EACCES);
    bson_t seen;
    assert_int_equal(ash_tree_get_acl(f->tree, "secret", &house.op, &seen, NULL, &f->err),
                     ASH_EACCES);
    bson_destroy(acl);
    bson_destroy(house.roles);
}

/* v7files asked about the source alone. */
static void test_tree_acl__targets_count(void **state)
{
    fixture *f = *state;
    someone house;
    build(f);
    become(&house, "house");
    assert_int_equal(copy(f, &house, "open/a", "secret/b"), ASH_EACCES);
    assert_int_equal(copy(f, &house, "open/a", "secret/a"), ASH_EACCES);
    assert_int_equal(copy(f, &house, "open/a", "shown/a"), ASH_EACCES);
    assert_int_equal(move(f, &house, "open/a", "secret/b"), ASH_EACCES);
    assert_int_equal(move(f, &house, "open/a", "shown/a"), ASH_EACCES);
    assert_int_equal(copy(f, &house, "secret/a", "open/b"), ASH_EACCES);
    assert_ok(copy(f, &house, "shown/a", "open/b"), &f->err);
    assert_ok(move(f, &house, "open/b", "open/inner/c"), &f->err);
    /* A file that may not be written is not replaced either. */
    set_acl(f, "open/inner/b", "{\"read\": [\"house\"]}");
    assert_int_equal(move(f, &house, "open/a", "open/inner/b"), ASH_EACCES);
    assert_int_equal(copy(f, &house, "open/a", "open/inner/b"), ASH_EACCES);
    support_expect_text(f, "open/inner/b", "inner");
    bson_destroy(house.roles);
}

static void test_tree_acl__a_right_that_is_not_named_is_nobodys(void **state)
{
    fixture *f = *state;
    someone boss;
    build(f);
    become(&boss, "boss");
    set_acl(f, "secret", "{\"write\": [\"boss\"]}");
    assert_int_equal(get(f, &boss, "secret/a"), ASH_EACCES);
    /* Neither `open` nor `read` is named: nobody passes. */
    assert_int_equal(put(f, &boss, "secret/a"), ASH_EACCES);
    set_acl(f, "secret", "{\"read\": [\"boss\"]}");
    assert_ok(get(f, &boss, "secret/a"), &f->err); /* who reads a folder may enter it */
    assert_int_equal(put(f, &boss, "secret/a"), ASH_EACCES);
    set_acl(f, "secret", "{}");
    assert_int_equal(get(f, &boss, "secret/a"), ASH_EACCES);
    set_acl(f, "secret", "{\"read\": [], \"write\": [], \"open\": []}");
    assert_int_equal(get(f, &boss, "secret"), ASH_EACCES);
    bson_destroy(boss.roles);
}

/* v7files' AuthorisationProviderTest: nobody in particular may do nothing. */
static void test_tree_acl__a_principal_without_roles(void **state)
{
    fixture *f = *state;
    someone nobody;
    build(f);
    become(&nobody, "nobody");
    nobody.principal.roles = NULL;
    nobody.principal.user = NULL;
    assert_int_equal(get(f, &nobody, "open/a"), ASH_EACCES);
    assert_int_equal(put(f, &nobody, "open/a"), ASH_EACCES);
    assert_int_equal(
        ash_tree_allows(f->tree, "open", &nobody.principal, ASH_TREE_ENTER, NULL, &f->err),
        ASH_EACCES);
    assert_ok(ash_tree_allows(f->tree, "open", NULL, 7, NULL, &f->err), &f->err);
    bson_destroy(nobody.roles);
}

static void test_tree_acl__what_lies_below_counts_too(void **state)
{
    fixture *f = *state;
    someone house;
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    build(f);
    become(&house, "house");
    support_folder(f, "open/inner/deep");
    support_put_text(f, "open/inner/deep/c", "deep");
    set_acl(f, "open/inner/deep", "{\"read\": [\"boss\"], \"write\": [\"boss\"]}");
    assert_int_equal(copy(f, &house, "open", "open2"), ASH_EACCES);
    assert_int_equal(erase(f, &house, "open"), ASH_EACCES);
    assert_int_equal(erase(f, &house, "open/inner"), ASH_EACCES);
    support_expect_text(f, "open/inner/deep/c", "deep");
    o.recursive = true;
    assert_ok(ash_tree_list(f->tree, "open", &o, &house.op, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "/open/a /open/inner /open/inner/b");
    assert_int_equal(ash_tree_list(f->tree, "open/inner/deep", &o, &house.op, &l, &f->err),
                     ASH_EACCES);
    ash_tree_usage usage = ASH_TREE_USAGE_INIT;
    assert_ok(ash_tree_measure(f->tree, "open", &house.op, &usage, &f->err), &f->err);
    assert_int_equal(usage.files, 2);
    bson_destroy(house.roles);
}

static void test_tree_acl__an_entry_is_no_right(void **state)
{
    fixture *f = *state;
    someone house;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_tree_reader *r = NULL;
    build(f);
    become(&house, "house");
    set_acl(f, "open/inner/b", "{\"read\": [\"boss\"]}");
    /* In the user's own listing it is not. */
    assert_ok(ash_tree_list(f->tree, "open/inner", NULL, &house.op, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "");
    assert_ok(ash_tree_list(f->tree, "open/inner", NULL, NULL, &l, &f->err), &f->err);
    assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
    assert_string_equal(ash_tree_entry_name(e), "b");
    assert_int_equal(ash_tree_open_entry(f->tree, e, NULL, &house.op, &r, &f->err), ASH_EACCES);
    assert_ok(ash_tree_open_entry(f->tree, e, NULL, NULL, &r, &f->err), &f->err);
    ash_tree_reader_free(r);
    ash_tree_listing_free(l);
    bson_destroy(house.roles);
}

/* What was is no way round what is. */
static void test_tree_acl__the_past_is_guarded(void **state)
{
    fixture *f = *state;
    someone house;
    ash_tree_listing *l = NULL;
    ash_tree_entry *e = NULL;
    build(f);
    become(&house, "house");
    bson_value_t id = support_id(f, "secret/a");
    int64_t then = support_moment(f);
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    support_put_text(f, "secret/a", "more");
    support_remove(f, "secret/a");
    when.at_ms = then;
    assert_int_equal(ash_tree_get(f->tree, "secret/a", &when, &house.op, &e, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_get_by_id(f->tree, &id, 0, &house.op, &e, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_get_by_id(f->tree, &id, 1, &house.op, &e, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_history(f->tree, "secret/a", 0, &house.op, &l, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_undelete(f->tree, &id, "open/mine", NULL, &house.op, NULL, &f->err),
                     ASH_EACCES);
    assert_ok(ash_tree_trash(f->tree, "/", 0, &house.op, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "");
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    assert_int_equal(
        ash_tree_copy(f->tree, "secret/a", &when, "open/mine", &o, &house.op, NULL, &f->err),
        ASH_EACCES);
    bson_destroy(house.roles);
}

/* A name that it had where it could be seen does not lead to where it is. */
static void test_tree_acl__moved_out_of_sight(void **state)
{
    fixture *f = *state;
    someone house;
    ash_tree_listing *l = NULL;
    ash_tree_entry *e = NULL;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    build(f);
    become(&house, "house");
    support_move(f, "open/a", "secret/b");
    assert_int_equal(ash_tree_history(f->tree, "open/a", 0, &house.op, &l, &f->err), ASH_EACCES);
    /* A file's own list guards its versions of before, and those of after it was deleted. */
    bson_value_t id = support_id(f, "open/inner/b");
    when.at_ms = support_moment(f);
    set_acl(f, "open/inner/b", "{\"read\": [\"boss\"]}");
    assert_int_equal(ash_tree_get_by_id(f->tree, &id, 1, &house.op, &e, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_get(f->tree, "open/inner/b", &when, &house.op, &e, &f->err),
                     ASH_EACCES);
    support_remove(f, "open/inner/b");
    assert_int_equal(ash_tree_get_by_id(f->tree, &id, 1, &house.op, &e, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_history(f->tree, "open/inner/b", 0, &house.op, &l, &f->err),
                     ASH_EACCES);
    assert_int_equal(ash_tree_undelete(f->tree, &id, NULL, NULL, &house.op, NULL, &f->err),
                     ASH_EACCES);
    bson_destroy(house.roles);
}

/* A list that was set later counts for what was before it. */
static void test_tree_acl__todays_lists_guard_the_past(void **state)
{
    fixture *f = *state;
    someone house;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *e = NULL;
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    support_folder(f, "d");
    support_put_text(f, "d/a", "x");
    when.at_ms = o.at_ms = support_moment(f);
    set_acl(f, "d", "{\"read\": [\"boss\"], \"write\": [\"boss\"]}");
    become(&house, "house");
    assert_int_equal(get(f, &house, "d/a"), ASH_EACCES);
    assert_int_equal(ash_tree_get(f->tree, "d/a", &when, &house.op, &e, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_list(f->tree, "d", &o, &house.op, &l, &f->err), ASH_EACCES);
    bson_destroy(house.roles);
}

/* What concerns the whole tree is for its owners. */
static void test_tree_acl__care_is_for_owners(void **state)
{
    fixture *f = *state;
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    static const char *const lists[] = {"{\"read\": [\"boss\", \"house\"], \"write\": [\"boss\"]}",
                                        "{\"read\": [\"boss\"], \"write\": [\"boss\", \"house\"]}"};
    someone house, boss;
    o.min_age_s = -1;
    become(&house, "house");
    become(&boss, "boss");
    support_put_seed(f, "a", 1);
    assert_ok(ash_tree_check(f->tree, NULL, &house.op, NULL, &f->err), &f->err);
    assert_ok(ash_tree_collect(f->tree, &o, &house.op, NULL, &f->err), &f->err);
    support_remove(f, "a");
    for (size_t i = 0; i < ASH_ARRAY_LEN(lists); i++) {
        set_acl(f, "/", lists[i]);
        assert_int_equal(ash_tree_check(f->tree, NULL, &house.op, NULL, &f->err), ASH_EACCES);
        assert_int_equal(ash_tree_collect(f->tree, &o, &house.op, NULL, &f->err), ASH_EACCES);
        assert_ok(ash_tree_check(f->tree, NULL, &boss.op, NULL, &f->err), &f->err);
        assert_ok(ash_tree_collect(f->tree, &o, &boss.op, NULL, &f->err), &f->err);
        assert_ok(ash_tree_collect(f->tree, &o, NULL, NULL, &f->err), &f->err);
    }
    bson_destroy(house.roles);
    bson_destroy(boss.roles);
}

static void test_tree_acl__lists_that_cannot_be(void **state)
{
    fixture *f = *state;
    static const char *const bad[] = {"{\"delete\": [\"a\"]}", "{\"read\": \"a\"}",
                                      "{\"read\": [1]}", "{\"read\": {\"0\": \"a\"}}"};
    support_folder(f, "d");
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        bson_t *acl = bson_new_from_json((const uint8_t *)bad[i], -1, NULL);
        assert_int_equal(ash_tree_set_acl(f->tree, "d", acl, NULL, NULL, &f->err), ASH_EINVAL);
        bson_destroy(acl);
    }
    assert_int_equal(ash_tree_allows(f->tree, "d", NULL, 8, NULL, &f->err), ASH_EINVAL);
    support_expect_version(f, "d", 1);
    set_acl(f, "d", "{\"read\": [\"a\"]}");
    support_expect_version(f, "d", 2); /* a version, as any change */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_acl__without_a_list_everything),
        here(test_tree_acl__lists_are_inherited),
        here(test_tree_acl__readers_do_not_write),
        here(test_tree_acl__nobody_gives_himself_rights),
        here(test_tree_acl__targets_count),
        here(test_tree_acl__a_right_that_is_not_named_is_nobodys),
        here(test_tree_acl__a_principal_without_roles),
        here(test_tree_acl__what_lies_below_counts_too),
        here(test_tree_acl__an_entry_is_no_right),
        here(test_tree_acl__the_past_is_guarded),
        here(test_tree_acl__moved_out_of_sight),
        here(test_tree_acl__todays_lists_guard_the_past),
        here(test_tree_acl__care_is_for_owners),
        here(test_tree_acl__lists_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
