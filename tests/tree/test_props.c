/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Properties, type and time: what an entry says besides its bytes. */

static int set(fixture *f, const char *path, bson_t *props, ash_tree_entry **entry)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.props = props;
    int rc = ash_tree_set(f->tree, path, &o, NULL, entry, &f->err);
    bson_destroy(props);
    return rc;
}

static void test_tree_props__are_merged(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    assert_ok(set(f, "a", BCON_NEW("x", BCON_INT32(1), "y", BCON_UTF8("two")), NULL), &f->err);
    assert_ok(set(f, "a", BCON_NEW("y", BCON_NULL, "z", "{", "deep", BCON_BOOL(true), "}"), NULL),
              &f->err);
    assert_int_equal(support_count(f->current, "{\"props\": {\"x\": 1, \"z\": {\"deep\": true}}}"),
                     1);
    support_expect_history(f, "a", "3 2 1");
    assert_ok(set(f, "a", BCON_NEW("x", BCON_INT32(1)), NULL), &f->err);
    assert_ok(set(f, "a", BCON_NEW("nothing", BCON_NULL), NULL), &f->err);
    support_expect_version(f, "a", 3); /* it said so already */
    support_put_seed(f, "a", 2);       /* new bytes keep them */
    assert_int_equal(support_count(f->current, "{\"props.x\": 1}"), 1);
    assert_ok(set(f, "a", BCON_NEW("x", BCON_NULL, "z", BCON_NULL), NULL), &f->err);
    assert_int_equal(support_count(f->current, "{\"props\": {\"$exists\": true}}"), 0);
    assert_int_equal(support_count(f->past, "{\"props.x\": 1}"), 3);
    support_expect_seed_of(f, "a", 2, 0, 1);
    assert_int_equal(set(f, "no", BCON_NEW("x", BCON_INT32(1)), NULL), ASH_ENOTFOUND);
}

static bson_t *text_of(const char *name, size_t len)
{
    char *text = ash__alloc(len + 1);
    memset(text, 't', len);
    bson_t *props = BCON_NEW(name, BCON_UTF8(text));
    ash__free(text);
    return props;
}

static void test_tree_props__up_to_64_kib(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    assert_int_equal(set(f, "a", text_of("big", 65536), NULL), ASH_ETOOBIG);
    assert_ok(set(f, "a", text_of("big", 40000), NULL), &f->err);
    assert_int_equal(set(f, "a", text_of("more", 40000), NULL), ASH_ETOOBIG); /* together */
    support_expect_version(f, "a", 2);
    assert_ok(set(f, "a", text_of("big", 65536 - 15), NULL), &f->err);
    assert_int_equal(set(f, "a", text_of("big", 65536 - 14), NULL), ASH_ETOOBIG);
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    bson_t *props = text_of("big", 65536);
    o.props = props;
    assert_int_equal(support_try_put(f, "b", "x", 1, &o, NULL), ASH_ETOOBIG);
    assert_int_equal(ash_tree_make_folder(f->tree, "d", &o, NULL, NULL, &f->err), ASH_ETOOBIG);
    support_expect_list(f, "/", true, 0, "/a");
    bson_destroy(props);
}

static void test_tree_props__of_folders_and_of_the_root(void **state)
{
    fixture *f = *state;
    ash_tree_entry *e = NULL;
    support_folder(f, "d");
    support_put_seed(f, "d/a", 1);
    assert_ok(set(f, "d", BCON_NEW("colour", BCON_UTF8("red")), &e), &f->err);
    assert_true(ash_tree_entry_is_folder(e));
    assert_int_equal(ash_tree_entry_version(e), 2);
    ash_tree_entry_free(e);
    assert_ok(set(f, "/", BCON_NEW("title", BCON_UTF8("all")), &e), &f->err);
    assert_int_equal(ash_tree_entry_version(e), 1);
    assert_string_equal(ash_tree_entry_path(e), "/");
    ash_tree_entry_free(e);
    assert_ok(set(f, "/", BCON_NEW("title", BCON_UTF8("everything")), NULL), &f->err);
    support_expect_history(f, "/", "2 1");
    support_expect_list(f, "/", true, 0, "/d /d/a");
    support_expect_seed(f, "d/a", 1);
}

static void test_tree_props__types_and_times(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    support_put_seed(f, "a", 1);
    e = support_get(f, "a");
    assert_null(ash_tree_entry_content_type(e));
    assert_int_equal(ash_tree_entry_modified_ms(e), ash_tree_entry_changed_ms(e));
    assert_null(ash_tree_entry_changed_by(e));
    ash_tree_entry_free(e);
    o.content_type = "text/plain";
    o.modified_ms = 1234567890123;
    o.changed_by = "anna";
    assert_ok(ash_tree_set(f->tree, "a", &o, NULL, &e, &f->err), &f->err);
    assert_string_equal(ash_tree_entry_content_type(e), "text/plain");
    assert_int_equal(ash_tree_entry_modified_ms(e), 1234567890123);
    assert_string_equal(ash_tree_entry_changed_by(e), "anna");
    ash_tree_entry_free(e);
    support_put_seed(f, "a", 2);
    e = support_get(f, "a");
    assert_string_equal(ash_tree_entry_content_type(e), "text/plain");
    assert_null(ash_tree_entry_changed_by(e)); /* that was the other version's */
    ash_tree_entry_free(e);
    ash_tree_change_options none = ASH_TREE_CHANGE_OPTIONS_INIT;
    none.content_type = "";
    assert_ok(ash_tree_set(f->tree, "a", &none, NULL, &e, &f->err), &f->err);
    assert_null(ash_tree_entry_content_type(e));
    ash_tree_entry_free(e);
}

/* The time that a user's system had belongs to the bytes that it had: new bytes without one were
 * made when the version began. */
static void test_tree_props__a_time_is_of_its_bytes(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    uint8_t *data = support_bytes(500, 1);
    o.modified_ms = 1234567890123;
    assert_ok(support_try_put(f, "a", data, 500, &o, NULL), &f->err);
    support_move(f, "a", "b");
    ash_tree_entry *e = support_get(f, "b");
    assert_int_equal(ash_tree_entry_modified_ms(e), 1234567890123);
    ash_tree_entry_free(e);
    support_put_seed(f, "b", 2);
    e = support_get(f, "b");
    assert_int_equal(ash_tree_entry_modified_ms(e), ash_tree_entry_changed_ms(e));
    ash_tree_entry_free(e);
    ash__free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_props__are_merged),
        here(test_tree_props__up_to_64_kib),
        here(test_tree_props__of_folders_and_of_the_root),
        here(test_tree_props__types_and_times),
        here(test_tree_props__a_time_is_of_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
