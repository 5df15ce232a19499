/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, loops, sets, objects, and how much an expression may use. */
#include "agg_cases.h"

#include "base/mem.h"

#include <string.h>

static void test_query_expr__arrays(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$arrayElemAt': ['$a', 1]}", "{'a': [1, 2, 3]}", "2"},
        {"{'$arrayElemAt': ['$a', -1]}", "{'a': [1, 2, 3]}", "3"},
        {"{'$arrayElemAt': ['$a', 9]}", "{'a': [1, 2, 3]}", NULL},
        {"{'$arrayElemAt': ['$x', 0]}", "{}", "null"},
        {"{'$first': '$a'}", "{'a': [1, 2]}", "1"},
        {"{'$last': '$a'}", "{'a': [1, 2]}", "2"},
        {"{'$first': '$a'}", "{'a': []}", NULL},
        {"{'$concatArrays': [[1], [2, 3], []]}", "{}", "[1, 2, 3]"},
        {"{'$concatArrays': [[1], '$x']}", "{}", "null"},
        {"{'$in': [2, '$a']}", "{'a': [1, 2.0]}", "true"},
        {"{'$in': [5, '$a']}", "{'a': [1, 2]}", "false"},
        {"{'$indexOfArray': [['a', 'b', 'b'], 'b']}", "{}", "1"},
        {"{'$indexOfArray': [['a', 'b', 'b'], 'b', 2]}", "{}", "2"},
        {"{'$indexOfArray': [['a', 'b'], 'b', 0, 1]}", "{}", "-1"},
        {"{'$indexOfArray': ['$x', 'b']}", "{}", "null"},
        {"{'$isArray': ['$a']}", "{'a': []}", "true"},
        {"{'$isArray': '$a'}", "{'a': 1}", "false"},
        {"{'$size': '$a'}", "{'a': [1, [2, 3]]}", "2"},
        {"{'$slice': ['$a', 2]}", "{'a': [1, 2, 3]}", "[1, 2]"},
        {"{'$slice': ['$a', -2]}", "{'a': [1, 2, 3]}", "[2, 3]"},
        {"{'$slice': ['$a', 1, 1]}", "{'a': [1, 2, 3]}", "[2]"},
        {"{'$slice': ['$a', -2, 9]}", "{'a': [1, 2, 3]}", "[2, 3]"},
        {"{'$slice': ['$a', 9, 1]}", "{'a': [1, 2, 3]}", "[]"},
        {"{'$slice': ['$x', 1]}", "{}", "null"},
        {"{'$range': [0, 6, 2]}", "{}", "[0, 2, 4]"},
        {"{'$range': [3, 0, -1]}", "{}", "[3, 2, 1]"},
        {"{'$range': [0, -5]}", "{}", "[]"},
        {"{'$reverseArray': '$a'}", "{'a': [1, 2, 3]}", "[3, 2, 1]"},
        {"{'$zip': {'inputs': [[1, 2], ['a', 'b', 'c']]}}", "{}", "[[1, 'a'], [2, 'b']]"},
        {"{'$zip': {'inputs': [[1], ['a', 'b']], 'useLongestLength': true}}", "{}",
         "[[1, 'a'], [null, 'b']]"},
        {"{'$zip': {'inputs': [[1], ['a', 'b']], 'useLongestLength': true, 'defaults': [0, 'z']}}",
         "{}", "[[1, 'a'], [0, 'b']]"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__loops(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$filter': {'input': '$a', 'cond': {'$gt': ['$$this', 1]}}}", "{'a': [1, 2, 3]}",
         "[2, 3]"},
        {"{'$filter': {'input': '$a', 'as': 'n', 'cond': {'$gt': ['$$n', 1]}, 'limit': 1}}",
         "{'a': [1, 2, 3]}", "[2]"},
        {"{'$filter': {'input': '$x', 'cond': true}}", "{}", "null"},
        {"{'$map': {'input': '$a', 'in': {'$multiply': ['$$this', 2]}}}", "{'a': [1, 2]}",
         "[2, 4]"},
        {"{'$map': {'input': '$a', 'as': 'o', 'in': '$$o.k'}}", "{'a': [{'k': 1}, {}]}",
         "[1, null]"},
        {"{'$map': {'input': [1, 2], 'as': 'o', 'in': {'$map': {'input': [10], 'as': 'p', 'in': "
         "{'$add': ['$$o', '$$p', '$c']}}}}}",
         "{'c': 100}", "[[111], [112]]"},
        {"{'$reduce': {'input': '$a', 'initialValue': 0, 'in': {'$add': ['$$value', '$$this']}}}",
         "{'a': [1, 2, 3]}", "6"},
        {"{'$reduce': {'input': [[1], [2, 3]], 'initialValue': [], 'in': {'$concatArrays': "
         "['$$value', '$$this']}}}",
         "{}", "[1, 2, 3]"},
        {"{'$reduce': {'input': '$x', 'initialValue': 0, 'in': 1}}", "{}", "null"},
        {"{'$sortArray': {'input': '$a', 'sortBy': 1}}", "{'a': [3, 1, 'x', 2]}", "[1, 2, 3, 'x']"},
        {"{'$sortArray': {'input': '$a', 'sortBy': {'k': -1, 'n': 1}}}",
         "{'a': [{'k': 1, 'n': 2}, {'k': 2}, {'k': 1, 'n': 1}]}",
         "[{'k': 2}, {'k': 1, 'n': 1}, {'k': 1, 'n': 2}]"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__sets(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$setUnion': [[2, 1], [3, 1]]}", "{}", "[1, 2, 3]"},
        {"{'$setUnion': [[1], '$x']}", "{}", "null"},
        {"{'$setIntersection': [[1, 2, 3], [3, 2.0, 9]]}", "{}", "[2, 3]"},
        {"{'$setIntersection': [[1], []]}", "{}", "[]"},
        {"{'$setDifference': [[3, 1, 2, 3], [1]]}", "{}", "[3, 2]"},
        {"{'$setEquals': [[1, 2], [2, 1, 1]]}", "{}", "true"},
        {"{'$setEquals': [[1], [1], [2]]}", "{}", "false"},
        {"{'$setIsSubset': [[1], [2, 1]]}", "{}", "true"},
        {"{'$setIsSubset': [[1, 5], [2, 1]]}", "{}", "false"},
        {"{'$anyElementTrue': [[0, 1]]}", "{}", "true"},
        {"{'$anyElementTrue': [[]]}", "{}", "false"},
        {"{'$allElementsTrue': [[1, 'x']]}", "{}", "true"},
        {"{'$allElementsTrue': [[1, null]]}", "{}", "false"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__objects(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$mergeObjects': [{'a': 1, 'b': 2}, {'b': 3, 'c': 4}]}", "{}",
         "{'a': 1, 'b': 3, 'c': 4}"},
        {"{'$mergeObjects': ['$x', {'a': 1}, null]}", "{}", "{'a': 1}"},
        {"{'$mergeObjects': '$l'}", "{'l': [{'a': 1}, {'a': 2}]}", "{'a': 2}"},
        {"{'$getField': 'a.b'}", "{'a.b': 5}", "5"},
        {"{'$getField': {'field': {'$literal': '$p'}, 'input': '$o'}}", "{'o': {'$p': 7}}", "7"},
        {"{'$getField': {'field': 'z', 'input': '$o'}}", "{'o': {'y': 7}}", NULL},
        {"{'$setField': {'field': 'a.b', 'input': '$$ROOT', 'value': 2}}", "{'x': 1}",
         "{'x': 1, 'a.b': 2}"},
        {"{'$setField': {'field': 'x', 'input': '$$ROOT', 'value': '$$REMOVE'}}",
         "{'x': 1, 'y': 2}", "{'y': 2}"},
        {"{'$unsetField': {'field': 'x', 'input': '$$ROOT'}}", "{'x': 1, 'y': 2}", "{'y': 2}"},
        {"{'$objectToArray': '$o'}", "{'o': {'a': 1, 'b': 2}}",
         "[{'k': 'a', 'v': 1}, {'k': 'b', 'v': 2}]"},
        {"{'$arrayToObject': [[['a', 1], ['b', 2], ['a', 3]]]}", "{}", "{'a': 3, 'b': 2}"},
        {"{'$arrayToObject': '$l'}", "{'l': [{'k': 'a', 'v': 1}]}", "{'a': 1}"},
        {"{'$arrayToObject': '$x'}", "{}", "null"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__array_errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'$arrayElemAt': ['$n', 0]}", 28689, NULL},
        {"{'$arrayElemAt': ['$a', 'x']}", 28690, NULL},
        {"{'$arrayElemAt': ['$a', 1.5]}", 28691, NULL},
        {"{'$concatArrays': ['$n']}", 28664, NULL},
        {"{'$in': [1, '$n']}", 40081, NULL},
        {"{'$indexOfArray': ['$n', 1]}", 40090, NULL},
        {"{'$size': '$n'}", 17124, "was of type: int"},
        {"{'$size': '$nope'}", 17124, "missing"},
        {"{'$slice': ['$n', 1]}", 28724, NULL},
        {"{'$slice': ['$a', 'x']}", 28725, NULL},
        {"{'$slice': ['$a', 0, 0]}", 28729, NULL},
        {"{'$range': [0, 5, 0]}", 34449, NULL},
        {"{'$range': ['x', 5]}", 34443, NULL},
        {"{'$range': [0, 2147483647]}", 10334, NULL},
        {"{'$reverseArray': '$n'}", 34435, NULL},
        {"{'$zip': {'inputs': '$n'}}", 34461, NULL},
        {"{'$zip': {'inputs': [1]}}", 34468, NULL},
        {"{'$zip': {'inputs': [[1]], 'defaults': [1]}}", 34466, NULL},
        {"{'$filter': {'input': '$n', 'cond': true}}", 28651, NULL},
        {"{'$filter': {'cond': true}}", 28648, NULL},
        {"{'$filter': {'input': '$a'}}", 28650, NULL},
        {"{'$filter': {'input': '$a', 'cond': 1, 'limit': 0}}", 327391, NULL},
        {"{'$filter': 1}", 28646, NULL},
        {"{'$filter': {'foo': 1}}", 28647, NULL},
        {"{'$map': {'input': '$n', 'in': 1}}", 16883, NULL},
        {"{'$map': {'input': '$a'}}", 16882, NULL},
        {"{'$map': {'input': '$a', 'as': 'Q', 'in': 1}}", 9, NULL},
        {"{'$map': {'input': '$a', 'as': 'q', 'in': '$$this'}}", 17276, NULL},
        {"{'$reduce': {'input': '$n', 'initialValue': 0, 'in': 1}}", 40080, NULL},
        {"{'$reduce': {'input': '$a', 'in': 1}}", 40078, NULL},
        {"{'$sortArray': {'input': '$n', 'sortBy': 1}}", 2942504, NULL},
        {"{'$sortArray': {'input': '$a', 'sortBy': 2}}", 2, NULL},
        {"{'$setUnion': ['$n']}", 17043, NULL},
        {"{'$setIntersection': ['$n']}", 17047, NULL},
        {"{'$setDifference': ['$n', []]}", 17048, NULL},
        {"{'$setEquals': [[], '$n']}", 17044, NULL},
        {"{'$setIsSubset': ['$n', []]}", 17046, NULL},
        {"{'$anyElementTrue': ['$n']}", 17041, NULL},
        {"{'$allElementsTrue': ['$n']}", 17040, NULL},
        {"{'$mergeObjects': ['$n']}", 40400, NULL},
        {"{'$getField': {'field': 5, 'input': '$a'}}", 3041704, NULL},
        {"{'$setField': {'field': 'x', 'input': '$n', 'value': 1}}", 4161105, NULL},
        {"{'$objectToArray': '$n'}", 40390, NULL},
        {"{'$arrayToObject': '$n'}", 40386, NULL},
        {"{'$arrayToObject': [[1]]}", 40398, NULL},
        {"{'$arrayToObject': [[[1, 2]]]}", 40394, NULL},
        {"{'$arrayToObject': [[['a']]]}", 40397, NULL},
    };
    RUN_EXPR_ERRORS(cases);
}

/* Values that grow with the data end in an error, not in all the memory or stack there is. */
static void test_query_expr__growth_is_bounded(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'$reduce': {'input': {'$range': [0, 30]}, 'initialValue': 'xxxxxxxxxxxxxxxx', 'in': "
         "{'$concat': ['$$value', '$$value']}}}",
         10334, NULL},
        {"{'$reduce': {'input': {'$range': [0, 1000]}, 'initialValue': 1, 'in': {'a': "
         "'$$value'}}}",
         15, "nested deeper"},
        {"{'$reduce': {'input': {'$range': [0, 100000]}, 'initialValue': [], 'in': "
         "{'$concatArrays': ['$$value', ['$$this']]}}}",
         146, NULL},
    };
    RUN_EXPR_ERRORS(cases);
}

static void test_query_expr__depth_is_bounded(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_expr *e;
    bson_t *doc = bson_new();
    bson_append_int32(doc, "x", -1, 1);
    for (int i = 0; i < 250; i++) {
        bson_t *outer = bson_new();
        bson_append_document(outer, "x", -1, doc);
        bson_destroy(doc);
        doc = outer;
    }
    int rc = ash__expr_new(ash__value_of_doc(ash__doc_from_bson(doc)), &case_env, &e, &err);
    cases_check_error("250 levels", rc, &err, 15, NULL);
    bson_destroy(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_expr__arrays),
        cmocka_unit_test(test_query_expr__loops),
        cmocka_unit_test(test_query_expr__sets),
        cmocka_unit_test(test_query_expr__objects),
        cmocka_unit_test(test_query_expr__array_errors),
        cmocka_unit_test(test_query_expr__growth_is_bounded),
        cmocka_unit_test(test_query_expr__depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
