/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, variables, comparison, logic, control, arithmetic. */
#include "agg_cases.h"

static void test_query_expr__paths_and_variables(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"'$a'", "{'a': 1}", "1"},
        {"'$a.b'", "{'a': {'b': 2}}", "2"},
        {"'$a.b'", "{'a': 1}", NULL},
        {"'$x'", "{'a': 1}", NULL},
        {"'$a.b'", "{'a': [{'b': 1}, {'c': 2}, {'b': 3}, 4]}", "[1, 3]"},
        {"'$a.b.c'", "{'a': [{'b': [{'c': 1}]}, {'b': {'c': 2}}]}", "[[1], 2]"},
        {"'$a.0'", "{'a': [{'0': 5}]}", "[5]"},
        {"'$a.0'", "{'a': [7, 8]}", "[]"},
        {"'$$ROOT'", "{'a': 1}", "{'a': 1}"},
        {"'$$CURRENT.a'", "{'a': 1}", "1"},
        {"'$$REMOVE'", "{}", NULL},
        {"'$$NOW'", "{}", "{'$date': {'$numberLong': '1709209845678'}}"},
        {"'$$CLUSTER_TIME'", "{}", "{'$timestamp': {'t': 1000, 'i': 7}}"},
        {"'text'", "{}", "'text'"},
        {"1.5", "{}", "1.5"},
        {"{'x': '$a', 'y': '$b', 'z': {'w': 1}}", "{'a': 5}", "{'x': 5, 'z': {'w': 1}}"},
        {"['$a', '$b', 3]", "{'a': 5}", "[5, null, 3]"},
        {"{'$literal': '$a'}", "{'a': 1}", "'$a'"},
        {"{'$literal': {'$add': [1, 2]}}", "{}", "{'$add': [1, 2]}"},
        {"{'$let': {'vars': {'x': '$a', 'y': 2}, 'in': {'$add': ['$$x', '$$y']}}}", "{'a': 1}",
         "3"},
        {"{'$let': {'vars': {'x': {'k': 4}}, 'in': '$$x.k'}}", "{}", "4"},
        {"{'$let': {'vars': {'CURRENT': '$a'}, 'in': '$b'}}", "{'a': {'b': 9}}", "9"},
        {"{'$type': '$a'}", "{'a': 1}", "'int'"},
        {"{'$type': '$b'}", "{'a': 1}", "'missing'"},
        {"{'$type': '$a'}", "{'a': {'$numberLong': '1'}}", "'long'"},
        {"{'$isNumber': '$a'}", "{'a': 1.5}", "true"},
        {"{'$isNumber': '$a'}", "{'a': '1'}", "false"},
        {"{'$type': {'$rand': {}}}", "{}", "'double'"},
        {"{'$and': [{'$gte': [{'$rand': {}}, 0]}, {'$lt': [{'$rand': []}, 1]}]}", "{}", "true"},
        {"{'$eq': [{'$rand': {}}, {'$rand': {}}]}", "{}", "false"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__comparison(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$eq': [1, 1.0]}", "{}", "true"},
        {"{'$eq': ['$x', null]}", "{}", "false"},
        {"{'$eq': ['$x', '$y']}", "{}", "true"},
        {"{'$ne': [1, 2]}", "{}", "true"},
        {"{'$gt': ['b', 'a']}", "{}", "true"},
        {"{'$gt': [null, '$x']}", "{}", "true"},
        {"{'$gte': [2, 2]}", "{}", "true"},
        {"{'$lt': [5, 'a']}", "{}", "true"},
        {"{'$lte': [3, 2]}", "{}", "false"},
        {"{'$cmp': [1, 2]}", "{}", "-1"},
        {"{'$cmp': [2, 1]}", "{}", "1"},
        {"{'$cmp': [[1, 2], [1, 2]]}", "{}", "0"},
        {"{'$eq': [{'a': 1}, {'a': 1}]}", "{}", "true"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__logic_and_control(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$and': []}", "{}", "true"},
        {"{'$and': [1, '$a']}", "{'a': 0}", "false"},
        {"{'$and': [1, 'x', []]}", "{}", "true"},
        {"{'$or': []}", "{}", "false"},
        {"{'$or': [null, '$x', 0]}", "{}", "false"},
        {"{'$or': [null, 5]}", "{}", "true"},
        {"{'$not': [0]}", "{}", "true"},
        {"{'$not': '$a'}", "{'a': 3}", "false"},
        {"{'$cond': [true, 'y', 'n']}", "{}", "'y'"},
        {"{'$cond': {'if': '$a', 'then': 1, 'else': 2}}", "{'a': null}", "2"},
        {"{'$cond': [true, 1, {'$divide': [1, 0]}]}", "{}", "1"},
        {"{'$ifNull': ['$x', 'd']}", "{}", "'d'"},
        {"{'$ifNull': ['$x', '$y', 3]}", "{'y': null}", "3"},
        {"{'$ifNull': ['$x', 3]}", "{'x': 0}", "0"},
        {"{'$switch': {'branches': [{'case': '$a', 'then': 'A'}, {'case': '$b', 'then': 'B'}]}}",
         "{'b': 1}", "'B'"},
        {"{'$switch': {'branches': [{'case': false, 'then': 1}], 'default': 'd'}}", "{}", "'d'"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__arithmetic(void **state)
{
    (void)state;
    static const struct expr_case cases[] = {
        {"{'$add': []}", "{}", "0"},
        {"{'$add': [1, 2, 3]}", "{}", "6"},
        {"{'$add': [1, 2.5]}", "{}", "3.5"},
        {"{'$add': [1, '$x']}", "{}", "null"},
        {"{'$add': [2147483647, 1]}", "{}", "{'$numberLong': '2147483648'}"},
        {"{'$add': [{'$numberLong': '9223372036854775807'}, 1]}", "{}", "9223372036854775808.0"},
        {"{'$add': ['$d', 1000]}", "{'d': {'$date': {'$numberLong': '5'}}}",
         "{'$date': {'$numberLong': '1005'}}"},
        {"{'$subtract': [5, 3]}", "{}", "2"},
        {"{'$subtract': ['$d', 5]}", "{'d': {'$date': {'$numberLong': '15'}}}",
         "{'$date': {'$numberLong': '10'}}"},
        {"{'$subtract': ['$d', '$d']}", "{'d': {'$date': {'$numberLong': '15'}}}",
         "{'$numberLong': '0'}"},
        {"{'$multiply': [3, 4]}", "{}", "12"},
        {"{'$multiply': [100000, 100000]}", "{}", "{'$numberLong': '10000000000'}"},
        {"{'$divide': [7, 2]}", "{}", "3.5"},
        {"{'$divide': [6, 2]}", "{}", "3.0"},
        {"{'$mod': [7, 3]}", "{}", "1"},
        {"{'$mod': [-7, 3]}", "{}", "-1"},
        {"{'$abs': -5}", "{}", "5"},
        {"{'$ceil': 1.2}", "{}", "2.0"},
        {"{'$floor': -1.2}", "{}", "-2.0"},
        {"{'$sqrt': 9}", "{}", "3.0"},
        {"{'$exp': 0}", "{}", "1.0"},
        {"{'$ln': 1}", "{}", "0.0"},
        {"{'$log10': 100}", "{}", "2.0"},
        {"{'$log': [8, 2]}", "{}", "3.0"},
        {"{'$pow': [2, 10]}", "{}", "1024"},
        {"{'$round': [2.5]}", "{}", "2.0"},
        {"{'$round': [3.14159, 2]}", "{}", "3.14"},
        {"{'$round': [1234, -2]}", "{}", "1200"},
        {"{'$trunc': [2.9]}", "{}", "2.0"},
        {"{'$trunc': [-2.97, 1]}", "{}", "-2.9"},
        {"{'$add': [{'$numberDecimal': '0.1'}, {'$numberDecimal': '0.2'}]}", "{}",
         "{'$numberDecimal': '0.3'}"},
        {"{'$divide': [{'$numberDecimal': '1'}, 4]}", "{}", "{'$numberDecimal': '0.25'}"},
        /* Too small for a double, but not zero. */
        {"{'$divide': [1, {'$numberDecimal': '1E-400'}]}", "{}", "{'$numberDecimal': '1E+400'}"},
        {"{'$mod': [{'$numberDecimal': '5E-400'}, {'$numberDecimal': '3E-400'}]}", "{}",
         "{'$numberDecimal': '2E-400'}"},
        {"{'$pow': [{'$numberDecimal': '1E-400'}, -1]}", "{}", "{'$numberDecimal': '1E+400'}"},
        {"{'$log10': {'$numberDecimal': '1E-400'}}", "{}", "{'$numberDecimal': '-400'}"},
        {"{'$gt': [0, {'$ln': {'$numberDecimal': '1E-400'}}]}", "{}", "true"},
        {"{'$gt': [-399, {'$log': [{'$numberDecimal': '1E-400'}, 10]}]}", "{}", "true"},
        {"{'$sum': [1, 'x', 2]}", "{}", "3"},
        {"{'$sum': '$a'}", "{'a': [1, 2, 3.5]}", "6.5"},
        {"{'$avg': '$a'}", "{'a': [1, 2, 3]}", "2.0"},
        {"{'$avg': []}", "{}", "null"},
        {"{'$min': [3, 1, null]}", "{}", "1"},
        {"{'$max': '$a'}", "{'a': [3, 'x', 1]}", "'x'"},
        {"{'$stdDevPop': '$a'}", "{'a': [2, 4, 4, 4, 5, 5, 7, 9]}", "2.0"},
        {"{'$stdDevSamp': [1]}", "{}", "null"},
    };
    RUN_EXPR(cases);
}

static void test_query_expr__basic_errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'$foo': 1}", 168, "Unrecognized expression '$foo'"},
        {"{'$add': 1, '$subtract': 2}", 15983, "exactly one field"},
        {"'$'", 16872, NULL},
        {"'$a.'", 40353, NULL},
        {"'$a..b'", 15998, NULL},
        {"'$a.$b'", 16410, NULL},
        {"{'$rand': 1}", 3040501, "does not currently accept arguments"},
        {"'$$nope'", 17276, "nope"},
        {"{'a.b': 1}", 16412, NULL},
        {"{'$eq': [1]}", 16020, "takes exactly 2 arguments. 1 were passed in."},
        {"{'$round': []}", 28667, NULL},
        {"{'$ifNull': [1]}", 1257300, NULL},
        {"{'$add': ['$s', 1]}", 14, "$add only supports numeric or date types, not string"},
        {"{'$add': ['$$NOW', '$$NOW']}", 16612, NULL},
        {"{'$subtract': ['$s', 1]}", 14, "can't $subtract int from string"},
        {"{'$multiply': ['$s', 1]}", 14, "$multiply only supports numeric types, not string"},
        {"{'$divide': [1, 0]}", 2, "can't $divide by zero"},
        {"{'$mod': [1, 0]}", 16610, "can't $mod by zero"},
        {"{'$divide': ['$s', 1]}", 14, NULL},
        {"{'$abs': '$s'}", 28765, NULL},
        {"{'$sqrt': -1}", 28714, NULL},
        {"{'$ln': 0}", 28766, NULL},
        {"{'$log10': -1}", 28761, NULL},
        {"{'$sqrt': {'$numberDecimal': '-1E-400'}}", 28714, NULL},
        {"{'$log': [8, {'$numberDecimal': '1.0'}]}", 28759, NULL},
        {"{'$divide': [1, {'$numberDecimal': '0E-400'}]}", 2, NULL},
        {"{'$log': [8, 1]}", 28759, NULL},
        {"{'$log': ['$s', 1]}", 28756, NULL},
        {"{'$pow': [0, -1]}", 28764, NULL},
        {"{'$pow': [2, '$s']}", 28763, NULL},
        {"{'$round': [1, 101]}", 51083, NULL},
        {"{'$round': [1, 0.5]}", 51082, NULL},
        {"{'$cond': {'if': 1, 'then': 2}}", 17082, NULL},
        {"{'$cond': {'if': 1, 'then': 2, 'else': 3, 'x': 4}}", 17083, "x"},
        {"{'$cond': [1, 2]}", 16020, NULL},
        {"{'$switch': {'branches': []}}", 40068, NULL},
        {"{'$switch': {'branches': 1}}", 40061, NULL},
        {"{'$switch': {'branches': [{'case': false, 'then': 1}]}}", 40066, NULL},
        {"{'$switch': {'branches': [{'then': 1}]}}", 40064, NULL},
        {"{'$let': {'vars': {'X': 1}, 'in': 1}}", 9, NULL},
        {"{'$let': {'vars': {'a': 1}}}", 16877, NULL},
        {"{'$let': {'in': 1}}", 16876, NULL},
    };
    RUN_EXPR_ERRORS(cases);
}

static void test_query_expr__let_of_the_command(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *let = cases_bson("{'limit': {'low': 3}}");
    ash_query_env env = {.let = let};
    bson_t *spec = cases_value("{'$gt': ['$a', '$$limit.low']}");
    bson_t *doc = cases_bson("{'a': 4}");
    ash_arena *arena = ash__arena_new();
    ash_expr *e;
    ash_value v;
    assert_ok(ash__expr_new(ash__doc_get(ash__doc_from_bson(spec), "v"), &env, &e, &err), &err);
    assert_ok(ash__expr_eval(e, ash__doc_from_bson(doc), NULL, arena, &v, &err), &err);
    assert_true(ash__value_truthy(v));
    ash__expr_free(e);
    ash__arena_free(arena);
    bson_destroy(let);
    bson_destroy(spec);
    bson_destroy(doc);
}

static void test_query_expr__every_operator_is_listed(void **state)
{
    (void)state;
    size_t count = 0;
    for (const ash_feature *f = ash__expr_features(); f->name != NULL; f++, count++) {
        assert_int_equal(f->name[0], '$');
        assert_non_null(f->note);
    }
    assert_true(count > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_expr__paths_and_variables),
        cmocka_unit_test(test_query_expr__comparison),
        cmocka_unit_test(test_query_expr__logic_and_control),
        cmocka_unit_test(test_query_expr__arithmetic),
        cmocka_unit_test(test_query_expr__basic_errors),
        cmocka_unit_test(test_query_expr__let_of_the_command),
        cmocka_unit_test(test_query_expr__every_operator_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
