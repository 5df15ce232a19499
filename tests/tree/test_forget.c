/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* One version of the past that goes, and what stays. */

static int64_t collect(fixture *f)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    o.min_age_s = -1;
    assert_ok(ash_tree_collect(f->tree, &o, NULL, &report, &f->err), &f->err);
    return report.contents;
}

static void put_versions(fixture *f, const char *path, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        support_put_seed(f, path, first + i);
}

static void mark(fixture *f, const char *path, int32_t version, bool remove)
{
    assert_ok(ash_tree_tag(f->tree, path, version, "release", remove, NULL, &f->err), &f->err);
}

static int forget(fixture *f, const char *path, int32_t version)
{
    return ash_tree_forget(f->tree, path, version, NULL, NULL, &f->err);
}

/* One version goes; what is made of its bytes stays, and its moment has nothing. */
static void test_tree_forget__one_version_goes(void **state)
{
    fixture *f = *state;
    int64_t moments[5];
    uint8_t *data = support_bytes(200000, 1);
    for (uint32_t i = 1; i <= 4; i++) {
        data[100 * i] ^= 1; /* each a delta of the one before */
        support_put(f, "a", data, 200000);
        moments[i] = support_moment(f);
    }
    support_put_seed(f, "b", 9);
    assert_ok(forget(f, "a", 2), &f->err);
    support_expect_history(f, "a", "4 3 1");
    assert_int_equal(forget(f, "a", 2), ASH_ENOREVISION);
    (void)collect(f);
    support_expect_bytes(f, "a", data, 200000);
    data[400] ^= 1;
    ash_buffer out = ASH_BUFFER_INIT;
    assert_ok(support_read(f, "a", 3, 0, &out), &f->err);
    assert_int_equal(out.len, 200000);
    assert_memory_equal(out.data, data, 200000);
    assert_ok(support_read(f, "a", 0, moments[1], &out), &f->err);
    assert_int_equal(support_read(f, "a", 0, moments[2], &out), ASH_ENOTFOUND);
    assert_ok(support_read(f, "a", 0, moments[3], &out), &f->err);
    support_expect_list(f, "/", false, moments[2], "");
    assert_int_equal(ash_tree_restore(f->tree, "a", 2, NULL, NULL, NULL, &f->err), ASH_ENOREVISION);
    support_expect_sound(f);
    ash__buffer_release(&out);
    ash__free(data);
}

/* The bytes of a version that went are gone with the next collection, unless others have them. */
static void test_tree_forget__its_space_comes_back(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_put_seed(f, "a", 2);
    support_put_seed(f, "b", 2);
    support_put_seed(f, "a", 3);
    assert_ok(forget(f, "a", 2), &f->err);
    assert_int_equal(collect(f), 0);
    assert_ok(forget(f, "a", 1), &f->err);
    assert_int_equal(collect(f), 1);
    support_expect_history(f, "a", "3");
    support_expect_seed(f, "b", 2);
}

static void test_tree_forget__what_is_not_to_be_forgotten(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    put_versions(f, "a", 1, 3);
    assert_int_equal(forget(f, "a", 3), ASH_ESTATE);
    assert_int_equal(forget(f, "a", 4), ASH_ENOREVISION);
    assert_int_equal(forget(f, "a", 0), ASH_ENOREVISION);
    assert_int_equal(forget(f, "a", -1), ASH_ENOREVISION);
    assert_int_equal(forget(f, "no", 1), ASH_ENOTFOUND);
    assert_int_equal(forget(f, "no/a", 1), ASH_ENOTFOUND);
    mark(f, "a", 2, false);
    assert_int_equal(forget(f, "a", 2), ASH_ESTATE);
    o.if_version = 2;
    assert_int_equal(ash_tree_forget(f->tree, "a", 1, &o, NULL, &f->err), ASH_ECONFLICT);
    assert_string_equal(f->err.text, "/a has version 3 by now, not 2");
    support_expect_history(f, "a", "3 2 1");
    o.if_version = 3;
    assert_ok(ash_tree_forget(f->tree, "a", 1, &o, NULL, &f->err), &f->err);
    mark(f, "a", 2, true);
    assert_ok(forget(f, "a", 2), &f->err);
    support_folder(f, "d");
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    assert_ok(ash_tree_set_keep(f->tree, "d", &keep, NULL, NULL, &f->err), &f->err);
    assert_int_equal(forget(f, "d", 1), ASH_EINVAL);
    assert_int_equal(forget(f, "/", 1), ASH_EINVAL);
    support_put_seed(f, "a", 4);
    support_move(f, "a", "d/a");
    assert_int_equal(forget(f, "a", 3), ASH_ENOTFOUND);
    assert_ok(forget(f, "d/a", 3), &f->err);
}

/* A deletion goes with the version that it ended; the last one stays with the one that comes back. */
static void test_tree_forget__versions_of_what_was_deleted(void **state)
{
    fixture *f = *state;
    put_versions(f, "a", 1, 2);
    bson_value_t id = support_id(f, "a");
    support_remove(f, "a");
    support_expect_history(f, "a", "d3 2 1");
    assert_int_equal(forget(f, "a", 2), ASH_ESTATE);
    assert_int_equal(forget(f, "a", 3), ASH_ENOREVISION);
    assert_ok(forget(f, "a", 1), &f->err);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_history(f, "a", "4 d3 2");
    assert_int_equal(forget(f, "a", 3), ASH_ENOREVISION);
    assert_ok(forget(f, "a", 2), &f->err);
    support_expect_history(f, "a", "4");
    support_expect_seed(f, "a", 2);
    support_expect_sound(f);
}

static void test_tree_forget__of_those_who_may(void **state)
{
    fixture *f = *state;
    ash_principal eve = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    bson_t nobody = BSON_INITIALIZER;
    eve.user = "eve";
    eve.db = "test";
    op.principal = &eve;
    support_folder(f, "d");
    put_versions(f, "d/a", 1, 2);
    put_versions(f, "d/b", 11, 2);
    put_versions(f, "c", 21, 2);
    support_remove(f, "d/b");
    assert_ok(ash_tree_set_acl(f->tree, "d", &nobody, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_forget(f->tree, "d/a", 1, NULL, &op, &f->err), ASH_EACCES);
    assert_int_equal(ash_tree_forget(f->tree, "d/b", 1, NULL, &op, &f->err), ASH_EACCES);
    assert_ok(ash_tree_forget(f->tree, "c", 1, NULL, &op, &f->err), &f->err);
    support_expect_history(f, "d/a", "2 1");
    support_expect_history(f, "d/b", "d3 2 1");
    support_expect_history(f, "c", "2");
    bson_destroy(&nobody);
}

/* A folder that becomes what it was when such a version was the newest has the file no more; it is in
 * the trash, with all that is left of it. */
static void test_tree_forget__a_folder_as_it_was(void **state)
{
    fixture *f = *state;
    ash_tree_restore_options o = ASH_TREE_RESTORE_OPTIONS_INIT;
    ash_tree_restore_report r = ASH_TREE_RESTORE_REPORT_INIT;
    support_folder(f, "d");
    put_versions(f, "d/a", 1, 1);
    put_versions(f, "d/b", 11, 1);
    bson_value_t id = support_id(f, "d/a");
    o.at_ms = support_moment(f);
    put_versions(f, "d/a", 2, 1);
    assert_ok(forget(f, "d/a", 1), &f->err);
    assert_ok(ash_tree_restore_folder(f->tree, "d", &o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.deleted, 1);
    support_expect_list(f, "d", false, 0, "b");
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_expect_seed(f, "d/a", 2);
}

/* In a caller's transaction, with what else is done there, or not at all. */
static int forget_two(ash_transaction *t, void *ctx, ash_error *err)
{
    fixture *f = ctx;
    ash_op op = ASH_OP_INIT;
    op.transaction = t;
    int rc = ash_tree_forget(f->tree, "a", 1, NULL, &op, err);
    return rc == 0 ? ash_tree_forget(f->tree, "a", 3, NULL, &op, err) : rc;
}

static void test_tree_forget__all_or_nothing(void **state)
{
    fixture *f = *state;
    put_versions(f, "a", 1, 3);
    assert_int_equal(ash_store_transact(f->store, forget_two, f, NULL, &f->err), ASH_ESTATE);
    support_expect_history(f, "a", "3 2 1");
    support_put_seed(f, "a", 4);
    assert_ok(ash_store_transact(f->store, forget_two, f, NULL, &f->err), &f->err);
    support_expect_history(f, "a", "4 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_forget__one_version_goes),
        here(test_tree_forget__its_space_comes_back),
        here(test_tree_forget__what_is_not_to_be_forgotten),
        here(test_tree_forget__versions_of_what_was_deleted),
        here(test_tree_forget__of_those_who_may),
        here(test_tree_forget__a_folder_as_it_was),
        here(test_tree_forget__all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
