/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "user/origin.h"

static bool admits(const char *json, const char *remote, const char *local)
{
    bson_error_t err;
    bson_t *doc = bson_new_from_json((const uint8_t *)json, -1, &err);
    assert_non_null(doc);
    bool admits = ash__origins_admit(ash__doc_from_bson(doc), remote, local);
    bson_destroy(doc);
    return admits;
}

#define SOURCE(text) "{\"authenticationRestrictions\": [{\"clientSource\": [" text "]}]}"

static void test_user_origin__addresses_and_ranges(void **state)
{
    (void)state;
    const char *here = "127.0.0.1:27017";
    assert_true(admits("{}", "anonymous unix socket", "/x"));
    assert_true(admits("{\"authenticationRestrictions\": []}", "192.0.2.1:1", here));
    assert_true(admits(SOURCE("\"192.0.2.1\""), "192.0.2.1:4711", here));
    assert_false(admits(SOURCE("\"192.0.2.1\""), "192.0.2.10:4711", here));
    assert_true(admits(SOURCE("\"10.0.0.0/8\", \"192.0.2.0/25\""), "192.0.2.127:1", here));
    assert_false(admits(SOURCE("\"10.0.0.0/8\", \"192.0.2.0/25\""), "192.0.2.128:1", here));
    assert_true(admits(SOURCE("\"0.0.0.0/0\""), "192.0.2.1:1", here));
    assert_false(admits(SOURCE("\"0.0.0.0/0\""), "[2001:db8::1]:1", here));
    assert_true(admits(SOURCE("\"192.0.2.1\""), "[::ffff:192.0.2.1]:1", here));
    assert_true(admits(SOURCE("\"2001:db8::/32\""), "[2001:db8:1::1]:1", here));
    assert_false(admits(SOURCE("\"2001:db8::/32\""), "[2001:db9::1]:1", here));
    assert_true(admits(SOURCE("\"fe80::1\""), "[fe80::1%eth0]:1", here));
    /* Who has no address fits none. */
    assert_false(admits(SOURCE("\"0.0.0.0/0\", \"::/0\""), "anonymous unix socket", "/x"));
    assert_false(admits(SOURCE(""), "192.0.2.1:1", here));
}

static void test_user_origin__all_of_one_document(void **state)
{
    const char *json = "{\"authenticationRestrictions\": ["
                       "{\"clientSource\": [\"192.0.2.1\"], \"serverAddress\": [\"10.0.0.1\"]},"
                       "{\"serverAddress\": [\"127.0.0.0/8\"]}]}";
    (void)state;
    assert_true(admits(json, "192.0.2.1:1", "10.0.0.1:27017"));
    assert_false(admits(json, "192.0.2.2:1", "10.0.0.1:27017"));
    assert_true(admits(json, "192.0.2.2:1", "127.0.0.1:27017"));
}

/* What nobody understands lets nobody in. */
static void test_user_origin__what_is_none(void **state)
{
    static const char *const wrong[] = {
        "{\"authenticationRestrictions\": {\"clientSource\": [\"192.0.2.1\"]}}",
        "{\"authenticationRestrictions\": [{\"clientSource\": \"192.0.2.1\"}]}",
        "{\"authenticationRestrictions\": [{\"from\": [\"192.0.2.1\"]}]}",
        "{\"authenticationRestrictions\": [{}], \"x\": 1}",
        SOURCE("\"192.0.2.1/33\""),
        SOURCE("\"192.0.2.1/\""),
        SOURCE("\"192.0.2.1/-1\""),
        SOURCE("\"localhost\""),
        SOURCE("1"),
        "{\"authenticationRestrictions\": [1]}",
    };
    bson_error_t error;
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bson_t *doc = bson_new_from_json((const uint8_t *)wrong[i], -1, &error);
        ash_value v = ash__doc_get(ash__doc_from_bson(doc), "authenticationRestrictions");
        if (v.type == BSON_TYPE_ARRAY)
            assert_int_equal(ash__origins_check(ash__value_doc(v), &err), ASH_EINVAL);
        /* An empty one, which no command makes, asks for nothing. */
        if (i != 3)
            assert_false(admits(wrong[i], "192.0.2.1:1", "127.0.0.1:1"));
        bson_destroy(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_origin__addresses_and_ranges),
        cmocka_unit_test(test_user_origin__all_of_one_document),
        cmocka_unit_test(test_user_origin__what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
