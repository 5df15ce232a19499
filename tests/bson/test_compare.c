/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "bson/compare.h"
#include "samples.h"

#include <string.h>

static void check_order(const char *a_json, const char *b_json, int want)
{
    bson_t *a = sample_json(a_json);
    bson_t *b = sample_json(b_json);
    int order = sample_sign(ash__value_compare(sample_v(a), sample_v(b), NULL));
    int back = sample_sign(ash__value_compare(sample_v(b), sample_v(a), NULL));
    if (order != want || back != -want)
        fail_msg("%s with %s: %d, back %d, not %d", a_json, b_json, order, back, want);
    assert_true(ash__value_equal(sample_v(a), sample_v(b), NULL) == (want == 0));
    bson_destroy(a);
    bson_destroy(b);
}

/* Ascending, one of each bracket and neighbours inside one. */
static const char *const ascending[] = {
    "{'v': {'$minKey': 1}}",
    "{'v': null}",
    "{'v': {'$numberDouble': 'NaN'}}",
    "{'v': {'$numberDouble': '-Infinity'}}",
    "{'v': -1}",
    "{'v': {'$numberDouble': '-0.5'}}",
    "{'v': 0}",
    "{'v': {'$numberDouble': '0.1'}}",
    "{'v': 1}",
    "{'v': {'$numberDouble': 'Infinity'}}",
    "{'v': ''}",
    "{'v': 'A'}",
    "{'v': {'$symbol': 'B'}}",
    "{'v': 'Ba'}",
    "{'v': 'a'}",
    "{'v': {}}",
    "{'v': {'b': 1}}",
    "{'v': {'b': 1, 'a': 0}}",
    "{'v': {'a': 'x'}}",
    "{'v': {'a': 'x', 'b': null}}",
    "{'v': {'a': {}}}",
    "{'v': []}",
    "{'v': [1]}",
    "{'v': [1, 2]}",
    "{'v': [2]}",
    "{'v': {'$binary': {'base64': '', 'subType': '05'}}}",
    "{'v': {'$binary': {'base64': 'AQ==', 'subType': '00'}}}",
    "{'v': {'$binary': {'base64': 'AQ==', 'subType': '05'}}}",
    "{'v': {'$binary': {'base64': 'AAA=', 'subType': '00'}}}",
    "{'v': {'$oid': '000000000000000000000001'}}",
    "{'v': {'$oid': 'ff0000000000000000000001'}}",
    "{'v': false}",
    "{'v': true}",
    "{'v': {'$date': {'$numberLong': '-1'}}}",
    "{'v': {'$date': {'$numberLong': '1'}}}",
    "{'v': {'$timestamp': {'t': 1, 'i': 2}}}",
    "{'v': {'$timestamp': {'t': 4294967295, 'i': 1}}}",
    "{'v': {'$regularExpression': {'pattern': 'a', 'options': ''}}}",
    "{'v': {'$regularExpression': {'pattern': 'a', 'options': 'i'}}}",
    "{'v': {'$regularExpression': {'pattern': 'b', 'options': ''}}}",
    "{'v': {'$dbPointer': {'$ref': 'z', '$id': {'$oid': '000000000000000000000001'}}}}",
    "{'v': {'$dbPointer': {'$ref': 'aa', '$id': {'$oid': '000000000000000000000001'}}}}",
    "{'v': {'$code': 'a'}}",
    "{'v': {'$code': 'b'}}",
    "{'v': {'$code': 'a', '$scope': {}}}",
    "{'v': {'$code': 'a', '$scope': {'x': 1}}}",
    "{'v': {'$maxKey': 1}}",
};

static void test_bson_compare__order_over_all_types(void **state)
{
    (void)state;
    for (int i = 0; i < (int)ASH_ARRAY_LEN(ascending); i++) {
        for (int j = 0; j < (int)ASH_ARRAY_LEN(ascending); j++)
            check_order(ascending[i], ascending[j], sample_sign(i - j));
    }
}

static void test_bson_compare__equal_across_types(void **state)
{
    (void)state;
    check_order("{'v': 3}", "{'v': {'$numberLong': '3'}}", 0);
    check_order("{'v': 3}", "{'v': {'$numberDouble': '3'}}", 0);
    check_order("{'v': 3}", "{'v': {'$numberDecimal': '3.00'}}", 0);
    check_order("{'v': {'$numberDouble': '-0.0'}}", "{'v': 0}", 0);
    check_order("{'v': null}", "{'v': {'$undefined': true}}", 0);
    check_order("{'v': 'a'}", "{'v': {'$symbol': 'a'}}", 0);
    check_order("{'v': {'$numberDouble': 'NaN'}}", "{'v': {'$numberDecimal': 'NaN'}}", 0);
    check_order("{'v': {'a': 1}}", "{'v': {'a': {'$numberDouble': '1.0'}}}", 0);
    bson_t *null = sample_json("{'v': null}");
    assert_true(ash__value_equal(ASH_VALUE_MISSING, sample_v(null), NULL));
    bson_destroy(null);
}

static void test_bson_compare__strings_by_bytes(void **state)
{
    (void)state;
    check_order("{'v': 'a\\u0000b'}", "{'v': 'a'}", 1);
    check_order("{'v': 'a\\u0000b'}", "{'v': 'a\\u0000c'}", -1);
    check_order("{'v': '\\u00e9'}", "{'v': 'z'}", 1);
}

static int fold_compare(const char *a, const char *b, bool diacritics)
{
    ash_collation c = {.ignore_case = true, .ignore_diacritics = diacritics};
    return sample_sign(ash__collation_compare(&c, a, (uint32_t)strlen(a), b, (uint32_t)strlen(b)));
}

static void test_bson_compare__collation(void **state)
{
    (void)state;
    assert_int_equal(fold_compare("Straße", "sTRAßE", false), 0);
    assert_int_equal(fold_compare("ΑΘΗΝΑ", "αθηνα", false), 0);
    assert_int_equal(fold_compare("МОСКВА", "москва", false), 0);
    assert_int_equal(fold_compare("É", "é", false), 0);
    assert_int_equal(fold_compare("É", "e\u0301", false), 0);
    assert_int_equal(fold_compare("e\u0323\u0301", "e\u0301\u0323", false), 0);
    assert_int_equal(fold_compare("é", "e", true), 0);
    assert_int_equal(fold_compare("é", "e", false), 1);
    assert_int_equal(fold_compare("abc", "ABD", false), -1);
    assert_int_equal(fold_compare("abc", "AB", false), 1);
    assert_int_equal(fold_compare("ab", "ABé", false), -1);
    assert_int_equal(fold_compare("\xff", "\xff", true), 0);
    bson_t *a = sample_json("{'v': ['A', {'x': 'B'}]}");
    bson_t *b = sample_json("{'v': ['a', {'x': 'b'}]}");
    ash_collation c = {.ignore_case = true};
    assert_true(ash__value_equal(sample_v(a), sample_v(b), &c));
    assert_false(ash__value_equal(sample_v(a), sample_v(b), NULL));
    bson_destroy(a);
    bson_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_compare__order_over_all_types),
        cmocka_unit_test(test_bson_compare__equal_across_types),
        cmocka_unit_test(test_bson_compare__strings_by_bytes),
        cmocka_unit_test(test_bson_compare__collation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
