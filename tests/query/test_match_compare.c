/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static void test_query_match__equality(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{}", "{'a': 1}", true},
        {"{'a': 1}", "{'a': 1}", true},
        {"{'a': 1}", "{'a': 2}", false},
        {"{'a': 1}", "{}", false},
        {"{'a': 1}", "{'b': 1}", false},
        {"{'a': 1}", "{'a': {'$numberLong': '1'}}", true},
        {"{'a': 1}", "{'a': 1.0}", true},
        {"{'a': 1}", "{'a': {'$numberDecimal': '1.00'}}", true},
        {"{'a': {'$numberDecimal': '1.5'}}", "{'a': 1.5}", true},
        {"{'a': 0}", "{'a': -0.0}", true},
        {"{'a': '1'}", "{'a': 1}", false},
        {"{'a': 'x'}", "{'a': 'x'}", true},
        {"{'a': 'x'}", "{'a': 'X'}", false},
        {"{'a': 'x'}", "{'a': {'$symbol': 'x'}}", true},
        {"{'a': ''}", "{'a': ''}", true},
        {"{'a': true}", "{'a': true}", true},
        {"{'a': true}", "{'a': 1}", false},
        {"{'a': {'$date': {'$numberLong': '-5'}}}", "{'a': {'$date': {'$numberLong': '-5'}}}",
         true},
        {"{'a': {'$date': {'$numberLong': '5'}}}", "{'a': 5}", false},
        {"{'a': {'$numberDouble': 'NaN'}}", "{'a': {'$numberDouble': 'NaN'}}", true},
        {"{'a': {'$numberDouble': 'NaN'}}", "{'a': {'$numberDecimal': 'NaN'}}", true},
        {"{'a': {'$numberDouble': 'NaN'}}", "{'a': 0}", false},
        {"{'a': {'$numberDouble': 'Infinity'}}", "{'a': {'$numberDouble': 'Infinity'}}", true},
        {"{'a': {'$minKey': 1}}", "{'a': {'$minKey': 1}}", true},
        {"{'a': {'$minKey': 1}}", "{'a': 1}", false},
        {"{'a': {'$oid': '0102030405060708090a0b0c'}}",
         "{'a': {'$oid': '0102030405060708090a0b0c'}}", true},
        {"{'a': {'$oid': '0102030405060708090a0b0c'}}",
         "{'a': {'$oid': '0102030405060708090a0b0d'}}", false},
        {"{'a': {'$binary': {'base64': 'AAE=', 'subType': '00'}}}",
         "{'a': {'$binary': {'base64': 'AAE=', 'subType': '00'}}}", true},
        {"{'a': {'$binary': {'base64': 'AAE=', 'subType': '00'}}}",
         "{'a': {'$binary': {'base64': 'AAE=', 'subType': '05'}}}", false},
        {"{'a': {'b': 1}}", "{'a': {'b': 1}}", true},
        {"{'a': {'b': 1}}", "{'a': {'b': 1, 'c': 2}}", false},
        {"{'a': {'b': 1, 'c': 2}}", "{'a': {'c': 2, 'b': 1}}", false},
        {"{'a': {}}", "{'a': {}}", true},
        {"{'a': {}}", "{'a': {'b': 1}}", false},
        {"{'a': {'$eq': {'b': 1}}}", "{'a': {'b': 1.0}}", true},
        {"{'a': 1, 'b': 2}", "{'a': 1, 'b': 2}", true},
        {"{'a': 1, 'b': 2}", "{'a': 1, 'b': 3}", false},
        {"{'a': {'$ref': 'c', '$id': 1}}", "{'a': {'$ref': 'c', '$id': 1}}", true},
        {"{'a': {'$ref': 'c', '$id': 1}}", "{'a': {'$ref': 'c', '$id': 2}}", false},
        {"{'a.$id': 1}", "{'a': {'$ref': 'c', '$id': 1}}", true},
    };
    RUN_MATCH(cases);
}

static void test_query_match__equality_and_arrays(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': 1}", "{'a': [1, 2]}", true},
        {"{'a': 3}", "{'a': [1, 2]}", false},
        {"{'a': [1, 2]}", "{'a': [1, 2]}", true},
        {"{'a': [1, 2]}", "{'a': [2, 1]}", false},
        {"{'a': [1, 2]}", "{'a': [1, 2, 3]}", false},
        {"{'a': [1, 2]}", "{'a': [[1, 2], 3]}", true},
        {"{'a': [1, 2]}", "{'a': [[[1, 2]]]}", false},
        {"{'a': 1}", "{'a': [[1]]}", false},
        {"{'a': []}", "{'a': []}", true},
        {"{'a': []}", "{'a': [[]]}", true},
        {"{'a': []}", "{'a': [1]}", false},
        {"{'a': {'b': 1}}", "{'a': [{'b': 1}, 5]}", true},
        {"{'a.b': 1}", "{'a': {'b': 1}}", true},
        {"{'a.b': 1}", "{'a': {'b': [3, 1]}}", true},
        {"{'a.b': 1}", "{'a': [{'b': 2}, {'b': 1}]}", true},
        {"{'a.b': 1}", "{'a': [{'b': 2}, {'b': [4, 1]}]}", true},
        {"{'a.b': 1}", "{'a': [[{'b': 1}]]}", false},
        {"{'a.b.c': 1}", "{'a': [{'b': [{'c': 2}, {'c': 1}]}]}", true},
        {"{'a.0': 5}", "{'a': [5, 6]}", true},
        {"{'a.1': 5}", "{'a': [5, 6]}", false},
        {"{'a.0': 5}", "{'a': {'0': 5}}", true},
        {"{'a.0': 5}", "{'a': [{'0': 5}]}", true},
        {"{'a.1.b': 5}", "{'a': [{'b': 1}, {'b': 5}]}", true},
        {"{'a.0.b': 5}", "{'a': [{'b': 1}, {'b': 5}]}", false},
        {"{'a': 1, 'b': 2}", "{'a': [1], 'b': [2]}", true},
    };
    RUN_MATCH(cases);
}

static void test_query_match__null_and_missing(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': null}", "{}", true},
        {"{'a': null}", "{'a': null}", true},
        {"{'a': null}", "{'a': {'$undefined': true}}", true},
        {"{'a': null}", "{'a': 0}", false},
        {"{'a': null}", "{'a': []}", false},
        {"{'a': null}", "{'a': [null]}", true},
        {"{'a': null}", "{'a': [1, null]}", true},
        {"{'a': null}", "{'a': {}}", false},
        {"{'a.b': null}", "{}", true},
        {"{'a.b': null}", "{'a': 5}", true},
        {"{'a.b': null}", "{'a': {}}", true},
        {"{'a.b': null}", "{'a': {'b': null}}", true},
        {"{'a.b': null}", "{'a': {'b': 1}}", false},
        {"{'a.b': null}", "{'a': [{'b': 1}, {}]}", true},
        {"{'a.b': null}", "{'a': [{'b': 1}, {'b': null}]}", true},
        {"{'a.b': null}", "{'a': [{'b': 1}]}", false},
        {"{'a.b': null}", "{'a': []}", false},
        {"{'a.b': null}", "{'a': [1, 2]}", false},
        {"{'a': {'$ne': null}}", "{}", false},
        {"{'a': {'$ne': null}}", "{'a': 1}", true},
        {"{'a': {'$ne': null}}", "{'a': []}", true},
        {"{'a': {'$ne': null}}", "{'a': [1, null]}", false},
        {"{'a': {'$gte': null}}", "{}", true},
        {"{'a': {'$lte': null}}", "{'a': null}", true},
        {"{'a': {'$gt': null}}", "{'a': null}", false},
        {"{'a': {'$gt': null}}", "{'a': 1}", false},
        {"{'a': {'$in': [null]}}", "{}", true},
        {"{'a': {'$in': [null, 2]}}", "{'a': 1}", false},
        {"{'a': {'$nin': [null]}}", "{}", false},
        {"{'a': {'$exists': true}}", "{'a': null}", true},
        {"{'a': {'$exists': true}}", "{}", false},
        {"{'a': {'$exists': false}}", "{}", true},
        {"{'a': {'$exists': false}}", "{'a': null}", false},
        {"{'a': {'$exists': 1}}", "{'a': []}", true},
        {"{'a': {'$exists': 0}}", "{'a': 1}", false},
        {"{'a.b': {'$exists': true}}", "{'a': [{}, {'b': 1}]}", true},
        {"{'a.b': {'$exists': false}}", "{'a': [{}, {'b': 1}]}", false},
        {"{'a.b': {'$exists': false}}", "{'a': [1, 2]}", true},
        {"{'a.1': {'$exists': true}}", "{'a': [1, 2]}", true},
        {"{'a.2': {'$exists': true}}", "{'a': [1, 2]}", false},
    };
    RUN_MATCH(cases);
}

static void test_query_match__ranges_stay_in_their_type(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'$gt': 1}}", "{'a': 2}", true},
        {"{'a': {'$gt': 1}}", "{'a': 1}", false},
        {"{'a': {'$gte': 1}}", "{'a': 1}", true},
        {"{'a': {'$gte': 1}}", "{'a': 0.99}", false},
        {"{'a': {'$lt': 1}}", "{'a': 0}", true},
        {"{'a': {'$lt': 1}}", "{'a': 1}", false},
        {"{'a': {'$lte': 1}}", "{'a': 1}", true},
        {"{'a': {'$lte': 1}}", "{'a': 1.5}", false},
        {"{'a': {'$gt': 1}}", "{'a': '2'}", false},
        {"{'a': {'$lt': 1}}", "{}", false},
        {"{'a': {'$lt': 1}}", "{'a': null}", false},
        {"{'a': {'$lt': 'b'}}", "{'a': 'a'}", true},
        {"{'a': {'$lt': 'b'}}", "{'a': 1}", false},
        {"{'a': {'$gt': 'b'}}", "{'a': {'x': 1}}", false},
        {"{'a': {'$gt': 1, '$lt': 5}}", "{'a': 3}", true},
        {"{'a': {'$gt': 1, '$lt': 5}}", "{'a': 7}", false},
        {"{'a': {'$gt': 1, '$lt': 5}}", "{'a': [0, 7]}", true},
        {"{'a': {'$gt': 10}}", "{'a': [1, 11]}", true},
        {"{'a': {'$gt': {'$numberLong': '9007199254740992'}}}",
         "{'a': {'$numberLong': '9007199254740993'}}", true},
        {"{'a': {'$gt': 9007199254740992.0}}", "{'a': {'$numberLong': '9007199254740993'}}", true},
        {"{'a': {'$lt': 0.1}}", "{'a': {'$numberDecimal': '0.1'}}", true},
        {"{'a': {'$gte': true}}", "{'a': true}", true},
        {"{'a': {'$gt': false}}", "{'a': true}", true},
        {"{'a': {'$gt': false}}", "{'a': 1}", false},
        {"{'a': {'$lt': {'$date': {'$numberLong': '10'}}}}",
         "{'a': {'$date': {'$numberLong': '-10'}}}", true},
        {"{'a': {'$lt': {'$date': {'$numberLong': '10'}}}}", "{'a': 5}", false},
        {"{'a': {'$gt': [1]}}", "{'a': [2]}", true},
        {"{'a': {'$gt': [1]}}", "{'a': [0]}", false},
        {"{'a': {'$gt': [1]}}", "{'a': 5}", false},
        {"{'a': {'$gt': {'b': 1}}}", "{'a': {'b': 2}}", true},
        {"{'a': {'$gt': {'b': 1}}}", "{'a': [{'b': 2}]}", true},
        {"{'a': {'$lt': 5}}", "{'a': {'$numberDouble': 'NaN'}}", false},
        {"{'a': {'$lte': {'$numberDouble': 'NaN'}}}", "{'a': {'$numberDouble': 'NaN'}}", true},
        {"{'a': {'$lt': {'$numberDouble': 'NaN'}}}", "{'a': {'$numberDouble': 'NaN'}}", false},
        {"{'a': {'$gte': {'$numberDouble': 'NaN'}}}", "{'a': 1}", false},
        {"{'a': {'$gte': {'$numberDouble': 'NaN'}}}", "{'a': {'$numberDecimal': 'NaN'}}", true},
        {"{'a': {'$gt': {'$numberDouble': 'NaN'}}}", "{'a': 1}", false},
        {"{'a': {'$gt': {'$numberDouble': 'NaN'}}}", "{'a': {'$numberDouble': 'NaN'}}", false},
        {"{'a': {'$elemMatch': {'$gt': {'$numberDouble': 'NaN'}}}}", "{'a': [1]}", false},
        {"{'a': {'$not': {'$gt': {'$numberDouble': 'NaN'}}}}", "{'a': 1}", true},
        {"{'a': {'$gt': {'$minKey': 1}}}", "{'a': 1}", true},
        {"{'a': {'$gt': {'$minKey': 1}}}", "{'a': {'$minKey': 1}}", false},
        {"{'a': {'$lt': {'$maxKey': 1}}}", "{'a': 'x'}", true},
        {"{'a': {'$gt': {'$maxKey': 1}}}", "{'a': 'x'}", false},
    };
    RUN_MATCH(cases);
}

static void test_query_match__sets_and_negation(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': {'$in': [1, 2]}}", "{'a': 2}", true},
        {"{'a': {'$in': [1, 2]}}", "{'a': 3}", false},
        {"{'a': {'$in': [1, 2]}}", "{'a': [3, 1]}", true},
        {"{'a': {'$in': []}}", "{'a': 1}", false},
        {"{'a': {'$in': [[1, 2]]}}", "{'a': [1, 2]}", true},
        {"{'a': {'$in': [{'b': 1}]}}", "{'a': {'b': 1}}", true},
        {"{'a': {'$in': [{'$regularExpression': {'pattern': '^x', 'options': ''}}]}}",
         "{'a': 'xy'}", true},
        {"{'a': {'$in': [1, {'$regularExpression': {'pattern': '^x', 'options': 'i'}}]}}",
         "{'a': ['q', 'XY']}", true},
        {"{'a': {'$in': [{'$regularExpression': {'pattern': '^x', 'options': ''}}]}}",
         "{'a': 'yx'}", false},
        {"{'a': {'$nin': [1, 2]}}", "{'a': 3}", true},
        {"{'a': {'$nin': [1, 2]}}", "{}", true},
        {"{'a': {'$nin': [1, 2]}}", "{'a': [3, 1]}", false},
        {"{'a': {'$nin': []}}", "{'a': 1}", true},
        {"{'a': {'$ne': 1}}", "{'a': 2}", true},
        {"{'a': {'$ne': 1}}", "{'a': 1.0}", false},
        {"{'a': {'$ne': 1}}", "{}", true},
        {"{'a': {'$ne': 1}}", "{'a': [1, 2]}", false},
        {"{'a': {'$ne': [1, 2]}}", "{'a': [1, 2]}", false},
        {"{'a.b': {'$ne': 1}}", "{'a': [{'b': 2}, {'b': 1}]}", false},
        {"{'a': {'$not': {'$gt': 5}}}", "{'a': 3}", true},
        {"{'a': {'$not': {'$gt': 5}}}", "{}", true},
        {"{'a': {'$not': {'$gt': 5}}}", "{'a': 'x'}", true},
        {"{'a': {'$not': {'$gt': 5}}}", "{'a': [3, 7]}", false},
        {"{'a': {'$not': {'$gt': 5, '$lt': 3}}}", "{'a': [1, 7]}", false},
        {"{'a': {'$not': {'$regularExpression': {'pattern': '^x', 'options': ''}}}}", "{'a': 'yx'}",
         true},
        {"{'a': {'$not': {'$not': {'$eq': 1}}}}", "{'a': 1}", true},
        {"{'$and': [{'a': 1}, {'b': 2}]}", "{'a': 1, 'b': 2}", true},
        {"{'$and': [{'a': 1}, {'b': 2}]}", "{'a': 1}", false},
        {"{'$or': [{'a': 1}, {'b': 2}]}", "{'b': 2}", true},
        {"{'$or': [{'a': 1}, {'b': 2}]}", "{'b': 3}", false},
        {"{'$nor': [{'a': 1}, {'b': 2}]}", "{'b': 3}", true},
        {"{'$nor': [{'a': 1}, {'b': 2}]}", "{'a': 1}", false},
        {"{'$or': [{'$and': [{'a': 1}, {'b': {'$gt': 2}}]}, {'c': 1}]}", "{'a': 1, 'b': 3}", true},
        {"{'a': 1, '$or': [{'b': 1}, {'b': 2}], '$nor': [{'c': 1}]}", "{'a': 1, 'b': 2}", true},
        {"{'a': 1, '$comment': 'why'}", "{'a': 1}", true},
        {"{'$alwaysTrue': 1}", "{}", true},
        {"{'$alwaysFalse': 1}", "{}", false},
    };
    RUN_MATCH(cases);
}

static void test_query_match__collation_folds_strings(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'a': 'abc'}", "{'a': 'ABC'}", true},
        {"{'a': 'abc'}", "{'a': 'abd'}", false},
        {"{'a': {'$in': ['x', 'abc']}}", "{'a': 'aBc'}", true},
        {"{'a': {'$gt': 'B'}}", "{'a': 'c'}", true},
        {"{'a': {'$ne': 'abc'}}", "{'a': 'ABC'}", false},
        {"{'a': {'b': 'x'}}", "{'a': {'b': 'X'}}", true},
        {"{'a': {'@regex': '^abc'}}", "{'a': 'ABC'}", false},
    };
    ash_query_env env = {.collation = {.ignore_case = true}};
    RUN_MATCH_ENV(cases, &env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_match__equality),
        cmocka_unit_test(test_query_match__equality_and_arrays),
        cmocka_unit_test(test_query_match__null_and_missing),
        cmocka_unit_test(test_query_match__ranges_stay_in_their_type),
        cmocka_unit_test(test_query_match__sets_and_negation),
        cmocka_unit_test(test_query_match__collation_folds_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
