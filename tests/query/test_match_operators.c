/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/mem.h"

#include <string.h>

static void test_query_match__elem_match(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'$elemMatch': {'$gt': 1, '$lt': 5}}}", "{'a': [0, 7]}", false},
        {"{'a': {'$elemMatch': {'$gt': 1, '$lt': 5}}}", "{'a': [0, 3]}", true},
        {"{'a': {'$elemMatch': {'$gt': 1}}}", "{'a': 3}", false},
        {"{'a': {'$elemMatch': {'$ref': 'd', '$id': 5}}}", "{'a': [{'$ref': 'c', '$id': 5}]}",
         false},
        {"{'a': {'$elemMatch': {'$gt': 1}}}", "{'a': [[3]]}", false},
        {"{'a': {'$elemMatch': {'$elemMatch': {'$gt': 1}}}}", "{'a': [[3]]}", true},
        {"{'a': {'$elemMatch': {'$in': [1, null]}}}", "{'a': [null]}", true},
        {"{'a': {'$elemMatch': {'$ne': 1}}}", "{'a': [1]}", false},
        {"{'a': {'$elemMatch': {'$ne': 1}}}", "{'a': [1, 2]}", true},
        {"{'a': {'$elemMatch': {'$not': {'$gt': 5}}}}", "{'a': [9, 4]}", true},
        {"{'a': {'$elemMatch': {'$exists': true}}}", "{'a': [1]}", true},
        {"{'a': {'$elemMatch': {'$exists': true}}}", "{'a': []}", false},
        {"{'a': {'$elemMatch': {'b': 1, 'c': 2}}}", "{'a': [{'b': 1}, {'c': 2}]}", false},
        {"{'a': {'$elemMatch': {'b': 1, 'c': 2}}}", "{'a': [{'b': 1, 'c': 2}]}", true},
        {"{'a': {'$elemMatch': {'b': 1}}}", "{'a': {'b': 1}}", false},
        {"{'a': {'$elemMatch': {'0': 5}}}", "{'a': [[5]]}", true},
        {"{'a': {'$elemMatch': {'$or': [{'b': 1}, {'c': 1}]}}}", "{'a': [{'c': 1}]}", true},
        {"{'a.b': {'$elemMatch': {'c': 1}}}", "{'a': [{'b': [{'c': 1}]}]}", true},
        {"{'a': {'$elemMatch': {}}}", "{'a': [{}]}", true},
        {"{'a': {'$elemMatch': {}}}", "{'a': [1]}", false},
    };
    RUN_MATCH(cases);
}

static void test_query_match__all_and_size(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'$all': [1, 2]}}", "{'a': [2, 3, 1]}", true},
        {"{'a': {'$all': [1, 2]}}", "{'a': [1, 3]}", false},
        {"{'a': {'$all': [1]}}", "{'a': 1}", true},
        {"{'a': {'$all': [[1, 2]]}}", "{'a': [1, 2]}", true},
        {"{'a': {'$all': []}}", "{'a': []}", false},
        {"{'a': {'$all': [null]}}", "{}", true},
        {"{'a': {'$all': [{'$regularExpression': {'pattern': '^x', 'options': ''}}, 'y']}}",
         "{'a': ['y', 'xx']}", true},
        {"{'a': {'$all': [{'$elemMatch': {'b': 1}}, {'$elemMatch': {'b': 2}}]}}",
         "{'a': [{'b': 2}, {'b': 1}]}", true},
        {"{'a': {'$all': [{'$elemMatch': {'b': 1}}, {'$elemMatch': {'b': 2}}]}}",
         "{'a': [{'b': 2}]}", false},
        {"{'a': {'$not': {'$all': [1, 2]}}}", "{'a': [1]}", true},
        {"{'a': {'$size': 2}}", "{'a': [1, [2]]}", true},
        {"{'a': {'$size': 2}}", "{'a': [1]}", false},
        {"{'a': {'$size': 0}}", "{'a': []}", true},
        {"{'a': {'$size': 0}}", "{}", false},
        {"{'a': {'$size': 1}}", "{'a': [[1, 2]]}", true},
        {"{'a': {'$size': 2}}", "{'a': [[1, 2]]}", false},
        {"{'a.b': {'$size': 1}}", "{'a': [{'b': [1, 2]}, {'b': [3]}]}", true},
        {"{'a': {'$size': 2.0}}", "{'a': [1, 2]}", true},
    };
    RUN_MATCH(cases);
}

static void test_query_match__types(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'@type': 'string'}}", "{'a': 'x'}", true},
        {"{'a': {'@type': 2}}", "{'a': 'x'}", true},
        {"{'a': {'@type': 'string'}}", "{'a': 1}", false},
        {"{'a': {'@type': 'number'}}", "{'a': {'$numberDecimal': '1'}}", true},
        {"{'a': {'@type': 'number'}}", "{'a': 1.5}", true},
        {"{'a': {'@type': 'number'}}", "{'a': '1'}", false},
        {"{'a': {'@type': ['string', 16]}}", "{'a': 1}", true},
        {"{'a': {'@type': ['string', 'null']}}", "{'a': 1}", false},
        {"{'a': {'@type': 'null'}}", "{}", false},
        {"{'a': {'@type': 'null'}}", "{'a': null}", true},
        {"{'a': {'@type': 'array'}}", "{'a': []}", true},
        {"{'a': {'@type': 'array'}}", "{'a': 1}", false},
        {"{'a': {'@type': 'int'}}", "{'a': ['x', 1]}", true},
        {"{'a': {'@type': 'long'}}", "{'a': {'$numberLong': '1'}}", true},
        {"{'a': {'@type': 'object'}}", "{'a': {}}", true},
        {"{'a': {'@type': 'object'}}", "{'a': [{}]}", true},
        {"{'a': {'@type': -1}}", "{'a': {'$minKey': 1}}", true},
        {"{'a': {'@type': 'minKey'}}", "{'a': {'$minKey': 1}}", true},
        {"{'a': {'@type': 127}}", "{'a': {'$maxKey': 1}}", true},
        {"{'a': {'@type': 'objectId'}}", "{'a': {'$oid': '0102030405060708090a0b0c'}}", true},
        {"{'a': {'@type': 'date'}}", "{'a': {'$date': {'$numberLong': '0'}}}", true},
        {"{'a': {'@type': 'timestamp'}}", "{'a': {'$timestamp': {'t': 1, 'i': 2}}}", true},
        {"{'a': {'@type': 'regex'}}",
         "{'a': {'$regularExpression': {'pattern': 'x', 'options': ''}}}", true},
        {"{'a': {'@type': 'bool'}}", "{'a': false}", true},
        {"{'a': {'@type': 'binData'}}", "{'a': {'$binary': {'base64': '', 'subType': '00'}}}",
         true},
    };
    RUN_MATCH(cases);
}

static void test_query_match__mod_and_bits(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'$mod': [4, 1]}}", "{'a': 5}", true},
        {"{'a': {'$mod': [4, 1]}}", "{'a': 6}", false},
        {"{'a': {'$mod': [4, 1]}}", "{'a': 5.9}", true},
        {"{'a': {'$mod': [4.9, 1.2]}}", "{'a': 5}", true},
        {"{'a': {'$mod': [4, -1]}}", "{'a': -5}", true},
        {"{'a': {'$mod': [4, 1]}}", "{'a': 'x'}", false},
        {"{'a': {'$mod': [4, 0]}}", "{}", false},
        {"{'a': {'$mod': [4, 0]}}", "{'a': {'$numberDouble': 'NaN'}}", false},
        {"{'a': {'$mod': [4, 0]}}", "{'a': {'$numberDouble': 'Infinity'}}", false},
        {"{'a': {'$mod': [-1, 0]}}", "{'a': {'$numberLong': '-9223372036854775808'}}", true},
        {"{'a': {'$mod': [4, 1]}}", "{'a': {'$numberDecimal': '5.7'}}", true},
        {"{'a': {'$mod': [4, 1]}}", "{'a': [2, 9]}", true},
        {"{'a': {'$bitsAllSet': 6}}", "{'a': 7}", true},
        {"{'a': {'$bitsAllSet': 6}}", "{'a': 3}", false},
        {"{'a': {'$bitsAllSet': [1, 2]}}", "{'a': 6}", true},
        {"{'a': {'$bitsAnySet': 6}}", "{'a': 3}", true},
        {"{'a': {'$bitsAnySet': 6}}", "{'a': 1}", false},
        {"{'a': {'$bitsAllClear': 6}}", "{'a': 9}", true},
        {"{'a': {'$bitsAllClear': 6}}", "{'a': 10}", false},
        {"{'a': {'$bitsAnyClear': 6}}", "{'a': 4}", true},
        {"{'a': {'$bitsAnyClear': 6}}", "{'a': 6}", false},
        {"{'a': {'$bitsAllSet': [200]}}", "{'a': -1}", true},
        {"{'a': {'$bitsAllClear': [200]}}", "{'a': 1}", true},
        {"{'a': {'$bitsAllSet': 1}}", "{'a': 1.5}", false},
        {"{'a': {'$bitsAllSet': 1}}", "{'a': 3.0}", true},
        {"{'a': {'$bitsAllSet': 1}}", "{'a': 'x'}", false},
        {"{'a': {'$bitsAllSet': 0}}", "{'a': 1}", true},
        {"{'a': {'$bitsAnySet': 0}}", "{'a': 1}", false},
        {"{'a': {'$bitsAllSet': [0, 9]}}",
         "{'a': {'$binary': {'base64': 'AQI=', 'subType': '00'}}}", true},
        {"{'a': {'$bitsAllSet': {'$binary': {'base64': 'AQI=', 'subType': '00'}}}}", "{'a': 513}",
         true},
        {"{'a': {'$bitsAllClear': [99]}}",
         "{'a': {'$binary': {'base64': 'AQI=', 'subType': '00'}}}", true},
    };
    RUN_MATCH(cases);
}

static void test_query_match__regular_expressions(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'@regex': 'b+'}}", "{'a': 'abbc'}", true},
        {"{'a': {'@regex': '^b'}}", "{'a': 'abbc'}", false},
        {"{'a': {'$regularExpression': {'pattern': 'B', 'options': 'i'}}}", "{'a': 'abc'}", true},
        {"{'a': {'@regex': 'B', '@options': 'i'}}", "{'a': 'abc'}", true},
        {"{'a': {'@options': 'i', '@regex': 'B'}}", "{'a': 'abc'}", true},
        {"{'a': {'@regex': 'B', '@options': ''}}", "{'a': 'abc'}", false},
        {"{'a': {'@regex': '^b', '@options': 'm'}}", "{'a': 'a\\nb'}", true},
        {"{'a': {'@regex': '^b'}}", "{'a': 'a\\nb'}", false},
        {"{'a': {'@regex': 'a.b', '@options': 's'}}", "{'a': 'a\\nb'}", true},
        {"{'a': {'@regex': 'a.b'}}", "{'a': 'a\\nb'}", false},
        {"{'a': {'@regex': 'a b # c', '@options': 'x'}}", "{'a': 'ab'}", true},
        /* A regular expression as a value meets the same one, however it was written. */
        {"{'a': {'@regex': '^b', '@options': 'i'}}",
         "{'a': [{'$regularExpression': {'pattern': '^b', 'options': 'i'}}]}", true},
        {"{'a': {'@regex': '^b'}}",
         "{'a': {'$regularExpression': {'pattern': '^b', 'options': 'i'}}}", false},
        {"{'a': {'@regex': '^\\u00e9$', '@options': 'iu'}}", "{'a': '\\u00c9'}", true},
        {"{'a': {'@regex': '^.$'}}", "{'a': '\\u20ac'}", true},
        {"{'a': {'@regex': '^x$'}}", "{'a': ['y', 'x']}", true},
        {"{'a': {'@regex': '1'}}", "{'a': 1}", false},
        {"{'a': {'@regex': ''}}", "{}", false},
        {"{'a': {'@regex': ''}}", "{'a': ''}", true},
        {"{'a': {'$regularExpression': {'pattern': 'x', 'options': ''}}}",
         "{'a': {'$regularExpression': {'pattern': 'x', 'options': ''}}}", true},
        {"{'a': {'$eq': {'$regularExpression': {'pattern': 'x', 'options': ''}}}}", "{'a': 'x'}",
         false},
        {"{'a': {'$eq': {'$regularExpression': {'pattern': 'x', 'options': ''}}}}",
         "{'a': {'$regularExpression': {'pattern': 'x', 'options': ''}}}", true},
        {"{'a': {'@regex': '^a', '$ne': 'ab'}}", "{'a': 'ac'}", true},
        {"{'a': {'@regex': '^a', '$ne': 'ab'}}", "{'a': 'ab'}", false},
    };
    RUN_MATCH(cases);
}

static void test_query_match__a_regex_has_bounded_work(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *filter = cases_bson("{'a': {'$not': {'@regex': '^(a+)+$'}}}");
    bson_t *doc =
        cases_bson("{'a': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'}");
    ash_matcher *m = NULL;
    assert_ok(ash__matcher_new(filter, NULL, &m, &err), &err);
    assert_false(ash__matcher_test(m, ash__doc_from_bson(doc), NULL, &err));
    assert_int_equal(ash_error_server_code(&err), 51156);
    ash__matcher_free(m);
    bson_destroy(filter);
    bson_destroy(doc);
}

/* {a: {$regex: pattern, or pad times "x"}} on {a: "aaa…z"}: found, or a server code. */
static void check_long(const char *pattern, size_t pad, bool found, int32_t code)
{
    enum { TEXT_BYTES = 50000 };
    ash_error err = ASH_ERROR_INIT;
    ash_matcher *m = NULL;
    bson_t filter = BSON_INITIALIZER, doc = BSON_INITIALIZER;
    char *text = ash__alloc(TEXT_BYTES), *padded = ash__alloc(strlen(pattern) + pad + 2);
    memset(text, 'a', TEXT_BYTES);
    text[TEXT_BYTES - 1] = 'z';
    bson_append_utf8(&doc, "a", -1, text, TEXT_BYTES);
    memset(padded, 'x', pad);
    padded[pad] = '|';
    strcpy(padded + pad + 1, pattern);
    bson_append_regex(&filter, "a", -1, pad > 0 ? padded : pattern, "");
    assert_ok(ash__matcher_new(&filter, NULL, &m, &err), &err);
    for (int i = 0; i < 2; i++) { /* the second time it is compiled */
        assert_int_equal(ash__matcher_test(m, ash__doc_from_bson(&doc), NULL, &err), found);
        assert_int_equal(err.code == 0 ? 0 : ash_error_server_code(&err), code);
    }
    ash__matcher_free(m);
    ash__free(text);
    ash__free(padded);
    bson_destroy(&filter);
    bson_destroy(&doc);
}

static void test_query_match__a_regex_on_a_long_text(void **state)
{
    enum { TOO_LARGE_FOR_CALLOUTS = 12000 };
    (void)state;
    check_long("z$", 0, true, 0);
    check_long("^a+z", 0, true, 0);
    check_long("az.", 0, false, 0);
    check_long("^(a+)+$", 0, false, 51156);
    check_long("z$", TOO_LARGE_FOR_CALLOUTS, true, 0);
    check_long("az.", TOO_LARGE_FOR_CALLOUTS, false, 0);
    check_long("(?:a+a+|b)a+[bc]", TOO_LARGE_FOR_CALLOUTS, false, 51156);
}

static void test_query_match__schema(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'$jsonSchema': {}}", "{'a': 1}", true},
        {"{'$jsonSchema': {'required': ['a', 'b']}}", "{'a': 1, 'b': null}", true},
        {"{'$jsonSchema': {'required': ['a', 'b']}}", "{'a': 1}", false},
        {"{'$jsonSchema': {'bsonType': 'object'}}", "{}", true},
        {"{'$jsonSchema': {'bsonType': 'array'}}", "{}", false},
        {"{'$jsonSchema': {'properties': {'a': {'bsonType': 'int'}}}}", "{'a': 1}", true},
        {"{'$jsonSchema': {'properties': {'a': {'bsonType': 'int'}}}}", "{'a': 'x'}", false},
        {"{'$jsonSchema': {'properties': {'a': {'bsonType': 'int'}}}}", "{}", true},
        {"{'$jsonSchema': {'properties': {'a': {'bsonType': ['int', 'string']}}}}", "{'a': 'x'}",
         true},
        {"{'$jsonSchema': {'properties': {'a': {'type': 'number'}}}}", "{'a': 1.5}", true},
        {"{'$jsonSchema': {'properties': {'a': {'type': ['boolean', 'null']}}}}", "{'a': null}",
         true},
        {"{'$jsonSchema': {'properties': {'a': {'type': 'string'}}}}", "{'a': ['x']}", false},
        {"{'$jsonSchema': {'properties': {'a': {'enum': ['x', 1, null]}}}}", "{'a': 1.0}", true},
        {"{'$jsonSchema': {'properties': {'a': {'enum': ['x', 1, null]}}}}", "{'a': 2}", false},
        {"{'$jsonSchema': {'properties': {'a': {'enum': ['x', 1, null]}}}}", "{'a': null}", true},
        {"{'$jsonSchema': {'properties': {'a': {'enum': ['x', 1]}}}}", "{'a': null}", false},
        {"{'$jsonSchema': {'properties': {'a': {'enum': [{'x': 1, 'y': 2}]}}}}",
         "{'a': {'y': 2, 'x': 1.0}}", true},
        {"{'$jsonSchema': {'properties': {'a': {'enum': [[{'x': {'p': 1, 'q': []}, 'y': 2}]]}}}}",
         "{'a': [{'y': 2, 'x': {'q': [], 'p': 1}}]}", true},
        {"{'$jsonSchema': {'properties': {'a': {'enum': [{'x': 1, 'y': 2}]}}}}",
         "{'a': {'x': 2, 'y': 1}}", false},
        {"{'$jsonSchema': {'properties': {'a': {'enum': [[1, 2]]}}}}", "{'a': [2, 1]}", false},
        {"{'$jsonSchema': {'properties': {'a': {'enum': [{}]}}}}", "{'a': []}", false},
        {"{'$jsonSchema': {'properties': {'a': {'minimum': 2, 'maximum': 4}}}}", "{'a': 2}", true},
        {"{'$jsonSchema': {'properties': {'a': {'minimum': 2, 'maximum': 4}}}}", "{'a': 5}", false},
        {"{'$jsonSchema': {'properties': {'a': {'minimum': 2}}}}", "{'a': 'x'}", true},
        {"{'$jsonSchema': {'properties': {'a': {'minimum': 2, 'exclusiveMinimum': true}}}}",
         "{'a': 2}", false},
        {"{'$jsonSchema': {'properties': {'a': {'maximum': 2, 'exclusiveMaximum': true}}}}",
         "{'a': 1.5}", true},
        {"{'$jsonSchema': {'properties': {'a': {'minLength': 2}}}}", "{'a': '\\u20ac'}", false},
        {"{'$jsonSchema': {'properties': {'a': {'maxLength': 1}}}}", "{'a': '\\u20ac'}", true},
        {"{'$jsonSchema': {'properties': {'a': {'pattern': '^x'}}}}", "{'a': 'yx'}", false},
        {"{'$jsonSchema': {'properties': {'a': {'items': {'type': 'string'}, 'minItems': 1}}}}",
         "{'a': ['x']}", true},
        {"{'$jsonSchema': {'properties': {'a': {'items': {'type': 'string'}}}}}", "{'a': ['x', 1]}",
         false},
        {"{'$jsonSchema': {'properties': {'a': {'maxItems': 1}}}}", "{'a': ['x', 1]}", false},
        {"{'$jsonSchema': {'properties': {'a': {}}, 'additionalProperties': false}}", "{'b': 1}",
         false},
        {"{'$jsonSchema': {'properties': {'a': {'properties': {'b': {'type': 'string'}}, "
         "'required': "
         "['b']}}}}",
         "{'a': {'b': 'x'}}", true},
        {"{'$jsonSchema': {'properties': {'a': {'required': ['b']}}}}", "{'a': {}}", false},
        {"{'$jsonSchema': {'title': 't', 'description': 'd'}, 'a': 1}", "{'a': 1}", true},
        {"{'$nor': [{'$jsonSchema': {'required': ['a']}}]}", "{}", true},
    };
    RUN_MATCH(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_match__elem_match),
        cmocka_unit_test(test_query_match__all_and_size),
        cmocka_unit_test(test_query_match__types),
        cmocka_unit_test(test_query_match__mod_and_bits),
        cmocka_unit_test(test_query_match__regular_expressions),
        cmocka_unit_test(test_query_match__a_regex_has_bounded_work),
        cmocka_unit_test(test_query_match__a_regex_on_a_long_text),
        cmocka_unit_test(test_query_match__schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
