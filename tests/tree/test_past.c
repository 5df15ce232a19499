/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* What was: histories, earlier versions, what was deleted, and the tree as it was at a moment. */

static int try_undelete(fixture *f, const bson_value_t *id, const char *to, bool make_folders)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = make_folders;
    return ash_tree_undelete(f->tree, id, to, &o, NULL, NULL, &f->err);
}

static void expect_trash(fixture *f, const char *path, const char *paths)
{
    ash_tree_listing *l = NULL;
    assert_ok(ash_tree_trash(f->tree, path, 0, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, paths);
}

/* ---- versions ---- */

static void test_tree_past__versions_are_read(void **state)
{
    fixture *f = *state;
    for (uint32_t i = 1; i <= 5; i++)
        support_put_seed(f, "a", i);
    support_expect_history(f, "a", "5 4 3 2 1");
    for (int32_t i = 1; i <= 5; i++)
        support_expect_seed_of(f, "a", i, 0, (uint32_t)i);
    ash_buffer got = ASH_BUFFER_INIT;
    assert_int_equal(support_read(f, "a", 6, 0, &got), ASH_ENOREVISION);
    ash__buffer_release(&got);
    ash_tree_listing *l = NULL;
    assert_ok(ash_tree_history(f->tree, "a", 2, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "/a /a");
}

static void test_tree_past__versions_end_where_the_next_begins(void **state)
{
    fixture *f = *state;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    support_put_seed(f, "a", 1);
    support_moment(f);
    support_move(f, "a", "b");
    support_moment(f);
    support_remove(f, "b");
    int64_t began = 0;
    static const char *const paths[] = {"/b", "/b", "/a"};
    assert_ok(ash_tree_history(f->tree, "b", 0, NULL, &l, &f->err), &f->err);
    for (int i = 0; i < 3; i++) {
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
        assert_non_null(e);
        assert_int_equal(ash_tree_entry_version(e), 3 - i);
        assert_int_equal(ash_tree_entry_ended_ms(e), began);
        assert_int_equal(ash_tree_entry_is_deleted(e), i == 0);
        assert_string_equal(ash_tree_entry_path(e), paths[i]);
        began = ash_tree_entry_changed_ms(e);
        assert_true(began > 0);
    }
    ash_tree_listing_free(l);
}

static void test_tree_past__an_earlier_version_comes_back(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    o.content_type = "text/x-first";
    o.props = BCON_NEW("colour", BCON_UTF8("red"));
    assert_ok(support_try_put(f, "a", "first", 5, &o, NULL), &f->err);
    bson_destroy((bson_t *)(uintptr_t)o.props);
    o.content_type = "text/x-second";
    o.props = BCON_NEW("colour", BCON_NULL, "size", BCON_INT32(5));
    uint8_t *data = support_bytes(500, 2);
    assert_ok(support_try_put(f, "a", data, 500, &o, NULL), &f->err);
    bson_destroy((bson_t *)(uintptr_t)o.props);
    ash__free(data);
    support_move(f, "a", "b");
    assert_ok(ash_tree_restore(f->tree, "b", 1, NULL, NULL, &e, &f->err), &f->err);
    assert_int_equal(ash_tree_entry_version(e), 4);
    assert_string_equal(ash_tree_entry_content_type(e), "text/x-first");
    assert_string_equal(ash_tree_entry_path(e), "/b"); /* its name stays */
    ash_tree_entry_free(e);
    support_expect_text(f, "b", "first");
    assert_int_equal(support_count(f->current, "{\"props\": {\"colour\": \"red\"}}"), 1);
    assert_int_equal(support_count(f->contents, "{\"refs\": []}"), 1);
    assert_ok(ash_tree_restore(f->tree, "b", 2, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_seed(f, "b", 2);
    support_expect_refs(f, "b", 1, 1);
    assert_ok(ash_tree_restore(f->tree, "b", 5, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_version(f, "b", 5); /* it says the same */
    assert_int_equal(ash_tree_restore(f->tree, "b", 9, NULL, NULL, NULL, &f->err), ASH_ENOREVISION);
}

/* ---- what was deleted ---- */

static void test_tree_past__documents_of_deletions(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_remove(f, "a");
    assert_int_equal(support_count(f->current, "{}"), 0);
    bson_t *doc = support_document(f->past, "{\"_version\": \"deleted:2\"}");
    support_expect_fields(doc, "_id _version deleted_at");
    support_expect_type(doc, "deleted_at", BSON_TYPE_DATE_TIME);
    bson_destroy(doc);
    assert_int_equal(support_count(f->past, "{\"_id._version\": 2}"), 1);
    assert_int_equal(support_count(f->past, "{\"_id._version\": 1, \"_version\": 1}"), 1);
    bson_t *content = support_document(f->contents, "{}");
    bson_iter_t it, child;
    assert_true(bson_iter_init_find(&it, content, "refHistory") && bson_iter_recurse(&it, &child));
    assert_true(bson_iter_next(&child));
    bson_destroy(content);
    assert_int_equal(support_count(f->contents, "{\"refs\": []}"), 1);
}

static void test_tree_past__a_file_comes_back_where_it_was(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    support_remove(f, "a");
    assert_ok(try_undelete(f, &id, NULL, false), &f->err);
    support_expect_history(f, "a", "3 d2 1");
    support_expect_seed(f, "a", 1);
    support_expect_refs(f, "a", 1, 1);
    expect_trash(f, "/", "");
    support_remove(f, "a");
    support_put_seed(f, "a", 2);
    assert_int_equal(try_undelete(f, &id, NULL, false), ASH_EEXISTS);
    assert_int_equal(try_undelete(f, &id, "x/b", false), ASH_ENOTFOUND);
    assert_ok(try_undelete(f, &id, "x/b", true), &f->err);
    support_expect_history(f, "x/b", "5 d4 3 d2 1");
    support_expect_seed(f, "x/b", 1);
    support_expect_seed(f, "a", 2);
    bson_value_t nobody = id;
    nobody.value.v_oid.bytes[3] ^= 1;
    assert_int_equal(try_undelete(f, &nobody, NULL, false), ASH_ENOTFOUND);
}

static void test_tree_past__a_folder_comes_back_with_what_it_had(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    assert_ok(ash_tree_make_folder(f->tree, "d/e/empty", &o, NULL, NULL, &f->err), &f->err);
    support_put_seed(f, "d/a", 1);
    support_put_seed(f, "d/e/b", 2);
    support_put_seed(f, "d/e/before", 3);
    support_put_seed(f, "d/moved", 4);
    support_remove(f, "d/e/before");
    support_move(f, "d/moved", "moved");
    bson_value_t d = support_id(f, "d"), b = support_id(f, "d/e/b"), e = support_id(f, "d/e");
    assert_int_equal(ash_tree_remove(f->tree, "d", NULL, NULL, &f->err), ASH_ESTATE);
    support_moment(f);
    support_remove(f, "d");
    support_expect_list(f, "/", true, 0, "/moved");
    assert_int_equal(support_count(f->contents, "{\"refs\": []}"), 3);
    assert_int_equal(try_undelete(f, &b, NULL, false), ASH_ENOTFOUND);
    assert_int_equal(try_undelete(f, &e, NULL, false), ASH_ENOTFOUND);
    assert_ok(try_undelete(f, &d, NULL, false), &f->err);
    support_expect_list(f, "/", true, 0, "/d /d/a /d/e /d/e/b /d/e/empty /moved");
    support_expect_id(f, "d/e/b", &b);
    support_expect_seed(f, "d/a", 1);
    support_expect_refs(f, "d/e/b", 1, 1);
    support_expect_history(f, "d/e/b", "3 d2 1");
    expect_trash(f, "/", "/d/e/before");
    expect_trash(f, "/d/e", "/d/e/before");
}

static void test_tree_past__a_folder_comes_back_elsewhere(void **state)
{
    fixture *f = *state;
    support_folder(f, "d");
    support_folder(f, "d/e");
    support_put_seed(f, "d/e/b", 1);
    support_put_seed(f, "d/c", 2);
    bson_value_t d = support_id(f, "d"), b = support_id(f, "d/e/b");
    support_remove(f, "d");
    support_folder(f, "d");
    assert_int_equal(try_undelete(f, &d, NULL, false), ASH_EEXISTS);
    assert_ok(try_undelete(f, &b, "first", false), &f->err); /* one of those that were in it */
    assert_ok(try_undelete(f, &d, "d/old", false), &f->err);
    support_expect_list(f, "/", true, 0, "/d /d/old /d/old/c /d/old/e /first");
    support_expect_seed(f, "first", 1);
    support_expect_seed(f, "d/old/c", 2);
}

/* ---- moments ---- */

static void test_tree_past__the_tree_as_it_was(void **state)
{
    fixture *f = *state;
    int64_t at[7];
    at[0] = support_moment(f);
    support_put_seed(f, "a", 1);
    support_folder(f, "d");
    support_put_seed(f, "d/b", 2);
    at[1] = support_moment(f);
    support_move(f, "d", "e");
    at[2] = support_moment(f);
    support_put_seed(f, "a", 3);
    bson_value_t b = support_id(f, "e/b");
    support_remove(f, "e/b");
    at[3] = support_moment(f);
    assert_ok(try_undelete(f, &b, "b", false), &f->err);
    support_move(f, "a", "e/a");
    at[4] = support_moment(f);
    support_remove(f, "e");
    support_put_seed(f, "e", 4); /* a file has the folder's name */
    at[5] = support_moment(f);
    support_move(f, "b", "d");
    support_remove(f, "e");
    at[6] = support_moment(f);
    static const char *const was[] = {"",           "/a /d /d/b", "/a /e /e/b", "/a /e",
                                      "/b /e /e/a", "/b /e",      "/d"};
    for (int i = 0; i < 7; i++)
        support_expect_list(f, "/", true, at[i], was[i]);
    support_expect_list(f, "/", true, 0, "/d");
    support_expect_seed_of(f, "a", 0, at[2], 1);
    support_expect_seed_of(f, "a", 0, at[3], 3);
    support_expect_seed_of(f, "e/a", 0, at[4], 3);
    support_expect_seed_of(f, "d/b", 0, at[1], 2);
    support_expect_seed_of(f, "e/b", 0, at[2], 2);
    support_expect_seed_of(f, "b", 0, at[5], 2);
    support_expect_seed_of(f, "e", 0, at[5], 4);
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *e = NULL;
    when.at_ms = at[2];
    assert_int_equal(ash_tree_get(f->tree, "d", &when, NULL, &e, &f->err), ASH_ENOTFOUND);
    when.at_ms = at[4];
    assert_int_equal(ash_tree_get(f->tree, "e/b", &when, NULL, &e, &f->err), ASH_ENOTFOUND);
}

static void test_tree_past__names_that_others_have_now(void **state)
{
    fixture *f = *state;
    int64_t at[3];
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    for (uint32_t i = 0; i < 3; i++) {
        char other[] = "b0";
        other[1] = (char)('0' + i);
        support_put_seed(f, "a", i + 1);
        at[i] = support_moment(f);
        support_move(f, "a", other);
    }
    for (uint32_t i = 0; i < 3; i++) {
        char other[] = "b0";
        ash_tree_entry *e = NULL;
        other[1] = (char)('0' + i);
        bson_value_t id = support_id(f, other);
        when.at_ms = at[i];
        assert_ok(ash_tree_get(f->tree, "a", &when, NULL, &e, &f->err), &f->err);
        assert_true(bson_oid_equal(&ash_tree_entry_id(e)->value.v_oid, &id.value.v_oid));
        assert_true(ash_tree_entry_ended_ms(e) > at[i]);
        ash_tree_entry_free(e);
        support_expect_seed_of(f, "a", 0, at[i], i + 1);
    }
    support_expect_list(f, "/", false, at[1], "a b0");
    support_expect_history(f, "a", "2 1"); /* of b2, which had the name last */
}

/* ---- v7files' own history ---- */

#define ID     "{\"$oid\": \"64b000000000000000000001\"}"
#define DAY(n) "{\"$date\": \"2012-02-0" #n "T00:00:00Z\"}"

static void insert_old_version(fixture *f, const char *id, int version, const char *dates,
                               const char *base64)
{
    ash_buffer json = ASH_BUFFER_INIT;
    ash__buffer_printf(&json,
                       "{\"_id\": %s, \"_version\": %d, \"parent\": \"/\", \"filename\": \"a\", "
                       "\"in\": {\"$binary\": {\"base64\": \"%s\", \"subType\": \"00\"}}, %s}",
                       id, version, base64, dates);
    support_insert(strchr(id + 1, '{') != NULL ? f->past : f->current, ash__buffer_text(&json));
    ash__buffer_release(&json);
}

/* Its documents do not say when a version ended: the next one's beginning does. */
static void test_tree_past__history_without_ends(void **state)
{
    fixture *f = *state;
    insert_old_version(f, "{\"_id\": " ID ", \"_version\": 1}", 1, "\"created_at\": " DAY(1),
                       "MQ==");
    insert_old_version(f, "{\"_id\": " ID ", \"_version\": 2}", 2,
                       "\"created_at\": " DAY(1) ", \"updated_at\": " DAY(3), "Mg==");
    insert_old_version(f, ID, 3, "\"created_at\": " DAY(1) ", \"updated_at\": " DAY(5), "Mw==");
    const int64_t day_ms = 86400000, first = 1328054400000; /* 2012-02-01 */
    support_expect_history(f, "a", "3 2 1");
    support_expect_text_of(f, "a", 0, first + day_ms, "1");
    support_expect_text_of(f, "a", 0, first + 3 * day_ms, "2");
    support_expect_text_of(f, "a", 0, first + 5 * day_ms, "3");
    support_expect_list(f, "/", false, first - 1, "");
    support_expect_list(f, "/", false, first + 3 * day_ms, "a");
    support_put_text(f, "a", "4");
    support_expect_history(f, "a", "4 3 2 1");
    support_expect_text_of(f, "a", 0, first + 5 * day_ms, "3");
    support_expect_text_of(f, "a", 2, 0, "2");
}

static void test_tree_past__deletions_without_ends(void **state)
{
    fixture *f = *state;
    insert_old_version(f, "{\"_id\": " ID ", \"_version\": 1}", 1, "\"created_at\": " DAY(1),
                       "MQ==");
    support_insert(f->past, "{\"_id\": {\"_id\": " ID ", \"_version\": 2}, \"_version\": "
                            "\"deleted:2\", \"deleted_at\": " DAY(3) "}");
    bson_value_t id = {.value_type = BSON_TYPE_OID};
    bson_oid_init_from_string(&id.value.v_oid, "64b000000000000000000001");
    support_expect_list(f, "/", false, 0, "");
    support_expect_list(f, "/", false, 1328054400000 + 86400000, "a");
    support_expect_list(f, "/", false, 1328054400000 + 3 * (int64_t)86400000, "");
    support_expect_history(f, "a", "d2 1");
    expect_trash(f, "/", "/a");
    assert_ok(try_undelete(f, &id, NULL, false), &f->err);
    support_expect_text(f, "a", "1");
    support_expect_history(f, "a", "3 d2 1");
}

/* v7files wrote the history first, so that a crash left a version there that is current, too. */
static void test_tree_past__a_history_that_is_ahead(void **state)
{
    fixture *f = *state;
    insert_old_version(f, ID, 1, "\"created_at\": " DAY(1), "MQ==");
    insert_old_version(f, "{\"_id\": " ID ", \"_version\": 1}", 1, "\"created_at\": " DAY(1),
                       "MQ==");
    support_put_text(f, "a", "2");
    support_expect_history(f, "a", "2 1");
    support_expect_text_of(f, "a", 1, 0, "1");
    bson_value_t id = support_id(f, "a");
    insert_old_version(f, "{\"_id\": " ID ", \"_version\": 2}", 2, "\"created_at\": " DAY(1),
                       "Mg==");
    support_remove(f, "a");
    support_expect_history(f, "a", "d3 2 1");
    assert_ok(try_undelete(f, &id, NULL, false), &f->err);
    support_expect_text(f, "a", "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_past__versions_are_read),
        here(test_tree_past__versions_end_where_the_next_begins),
        here(test_tree_past__an_earlier_version_comes_back),
        here(test_tree_past__documents_of_deletions),
        here(test_tree_past__a_file_comes_back_where_it_was),
        here(test_tree_past__a_folder_comes_back_with_what_it_had),
        here(test_tree_past__a_folder_comes_back_elsewhere),
        here(test_tree_past__the_tree_as_it_was),
        here(test_tree_past__names_that_others_have_now),
        here(test_tree_past__history_without_ends),
        here(test_tree_past__deletions_without_ends),
        here(test_tree_past__a_history_that_is_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
