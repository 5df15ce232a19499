/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "user/usage.h"

#include "base/clock.h"
#include "bson/builder.h"

#include <string.h>

static ash_usage *enter(ash_usage_table *t, const char *user, ash_limits limits)
{
    ash_error err = ASH_ERROR_INIT;
    ash_usage *u = NULL;
    assert_ok(ash__usage_enter(t, user, "admin", &limits, &u, &err), &err);
    return u;
}

static void test_user_usage__connections_are_counted_by_user(void **state)
{
    ash_usage_table *t = ash__usage_table_new();
    ash_limits two = {.connections = 2};
    ash_error err = ASH_ERROR_INIT;
    ash_usage *more;
    (void)state;
    ash_usage *a = enter(t, "ann", two), *b = enter(t, "ann", two), *c = enter(t, "bob", two);
    assert_ptr_equal(a, b);
    assert_int_equal(ash__usage_enter(t, "ann", "admin", &two, &more, &err), ASH_EBUSY);
    assert_int_equal(ash_error_server_code(&err), 462);
    assert_non_null(strstr(err.text, "ann@admin"));
    ash__usage_leave(t, a);
    ash_usage *again = enter(t, "ann", two);
    ash__usage_leave(t, b);
    ash__usage_leave(t, c);
    ash__usage_leave(t, again);
    ash__usage_leave(t, NULL);
    ash__usage_table_free(t);
}

static void test_user_usage__operations_have_a_pace(void **state)
{
    ash_usage_table *t = ash__usage_table_new();
    ash_usage *u = enter(t, "ann", (ash_limits){.operations = 100});
    ash_error err = ASH_ERROR_INIT;
    int64_t now = 5000000, wait = 0;
    (void)state;
    /* A second's worth at once, and then one each 10 ms. */
    for (int i = 0; i < 101; i++) {
        assert_ok(ash__usage_take(u, now, &wait, &err), &err);
        assert_int_equal(wait, 0);
    }
    for (int i = 1; i <= 500; i++) {
        assert_ok(ash__usage_take(u, now, &wait, &err), &err);
        assert_int_equal(wait, i * 10);
    }
    for (int i = 501; i < 1000; i++)
        assert_ok(ash__usage_take(u, now, &wait, &err), &err);
    /* Ten seconds wait already. */
    assert_int_equal(ash__usage_take(u, now, &wait, &err), ASH_EBUSY);
    assert_int_equal(ash_error_server_code(&err), 462);
    assert_int_equal(ash__usage_take(u, now, &wait, &err), ASH_EBUSY);
    /* What was refused was not counted. */
    assert_ok(ash__usage_take(u, now + 10000, &wait, &err), &err);
    assert_ok(ash__usage_take(u, now + 20000000, &wait, &err), &err);
    assert_int_equal(wait, 0);
    ash__usage_leave(t, u);
    ash__usage_table_free(t);
}

static void test_user_usage__bytes_are_paid_afterwards(void **state)
{
    ash_usage_table *t = ash__usage_table_new();
    ash_usage *u = enter(t, "ann", (ash_limits){.bytes = 1000});
    ash_error err = ASH_ERROR_INIT;
    int64_t now = 5000000, wait = 0;
    (void)state;
    ash__usage_add_bytes(u, 1000, now);
    assert_ok(ash__usage_take(u, now, &wait, &err), &err);
    assert_int_equal(wait, 0);
    ash__usage_add_bytes(u, 2000, now);
    assert_ok(ash__usage_take(u, now, &wait, &err), &err);
    assert_int_equal(wait, 2000);
    ash__usage_add_bytes(u, 20000, now);
    assert_int_equal(ash__usage_take(u, now, &wait, &err), ASH_EBUSY);
    assert_non_null(strstr(err.text, "1000 bytes a second"));
    /* Limits change while it is there. */
    ash__usage_limit(u, &(ash_limits){0});
    assert_ok(ash__usage_take(u, now, &wait, &err), &err);
    assert_int_equal(wait, 0);
    ash__usage_add_bytes(NULL, 1, now);
    ash__usage_leave(t, u);
    ash__usage_table_free(t);
}

/* Whoever signs in anew for each operation has a pace all the same. */
static void test_user_usage__who_comes_back_has_not_paid(void **state)
{
    ash_usage_table *t = ash__usage_table_new();
    ash_limits one = {.operations = 1};
    ash_error err = ASH_ERROR_INIT;
    int64_t wait = 0;
    (void)state;
    for (int i = 0; i < 3; i++) {
        ash_usage *u = enter(t, "ann", one);
        assert_ok(ash__usage_take(u, ash__clock_us(), &wait, &err), &err);
        ash__usage_leave(t, u);
    }
    assert_true(wait > 500 && wait <= 1000);
    /* Others in the table do not. */
    ash_usage *other = enter(t, "bob", one);
    assert_ok(ash__usage_take(other, ash__clock_us(), &wait, &err), &err);
    assert_int_equal(wait, 0);
    ash__usage_leave(t, other);
    ash__usage_table_free(t);
}

static void test_user_usage__limits_of_a_document(void **state)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_limits limits;
    (void)state;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "limits");
    ash__builder_int32(&b, "connections", 5);
    ash__builder_int32(&b, "operations", -1);
    ash__builder_text(&b, "bytes", "many");
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash__limits_read(ash__builder_doc(&b), &limits);
    assert_int_equal(limits.connections, 5);
    assert_int_equal(limits.operations, 0);
    assert_int_equal(limits.bytes, 0);
    ash__limits_read(ash__doc_empty, &limits);
    assert_int_equal(limits.connections, 0);
    ash__builder_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_usage__connections_are_counted_by_user),
        cmocka_unit_test(test_user_usage__operations_have_a_pace),
        cmocka_unit_test(test_user_usage__bytes_are_paid_afterwards),
        cmocka_unit_test(test_user_usage__who_comes_back_has_not_paid),
        cmocka_unit_test(test_user_usage__limits_of_a_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
