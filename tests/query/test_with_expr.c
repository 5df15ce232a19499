/* SPDX-License-Identifier: Apache-2.0 */
#include "project_cases.h"

#include "base/mem.h"

static void test_query_match__expressions(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        {"{'$expr': {'$gt': ['$a', '$b']}}", "{'a': 2, 'b': 1}", true},
        {"{'$expr': {'$gt': ['$a', '$b']}}", "{'a': 1, 'b': 1}", false},
        {"{'$expr': {'$eq': [{'$add': ['$a', 1]}, '$b']}, 'c': 1}", "{'a': 1, 'b': 2, 'c': 1}",
         true},
        {"{'$expr': {'$eq': [{'$add': ['$a', 1]}, '$b']}, 'c': 1}", "{'a': 1, 'b': 2, 'c': 2}",
         false},
        {"{'$expr': '$a'}", "{'a': true}", true},
        {"{'$expr': '$a'}", "{'a': 0}", false},
        {"{'$expr': '$a'}", "{}", false},
        {"{'$or': [{'$expr': {'$lt': ['$a', 0]}}, {'b': 1}]}", "{'a': 1, 'b': 1}", true},
        {"{'$nor': [{'$expr': {'$lt': ['$a', 0]}}]}", "{'a': 1}", true},
    };
    static const struct error_case errors[] = {
        {"{'$expr': {'$foo': 1}}", 168, "$foo"},
    };
    RUN_MATCH(cases);
    RUN_FILTER_ERRORS(errors);
}

static void test_query_match__a_failing_expression_never_matches(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_matcher *m = NULL;
    bson_t *filter = cases_bson("{'$nor': [{'$expr': {'$gt': [{'$divide': [1, '$a']}, 5]}}]}");
    bson_t *zero = cases_bson("{'a': 0}"), *one = cases_bson("{'a': 1}");
    assert_ok(ash__matcher_new(filter, NULL, &m, &err), &err);
    assert_true(ash__matcher_test(m, ash__doc_from_bson(one), NULL, &err));
    assert_int_equal(err.code, 0);
    assert_false(ash__matcher_test(m, ash__doc_from_bson(zero), NULL, &err));
    assert_int_not_equal(err.code, 0);
    assert_false(ash__matcher_test(m, ash__doc_from_bson(zero), NULL, NULL));
    ash__matcher_free(m);
    bson_destroy(filter);
    bson_destroy(zero);
    bson_destroy(one);
}

/* What onError replaces is no failure of the filter. */
static void test_query_match__a_caught_failure_is_none(void **state)
{
    (void)state;
    static const char *const exprs[] = {
        "{'$convert': {'input': '$a', 'to': 'int', 'onError': 7}}",
        "{'$dateFromString': {'dateString': '$a', 'onError': 7}}",
    };
    bson_t *doc = cases_bson("{'a': 'x'}");
    for (size_t i = 0; i < ASH_ARRAY_LEN(exprs); i++) {
        ash_error err = ASH_ERROR_INIT;
        ash_matcher *m = NULL;
        bool matches = false;
        char *text = ash__sprintf("{'$expr': {'$eq': [%s, 7]}}", exprs[i]);
        bson_t *filter = cases_bson(text);
        assert_ok(ash__matcher_new(filter, NULL, &m, &err), &err);
        assert_ok(ash__matcher_check(m, ash__doc_from_bson(doc), NULL, &matches, &err), &err);
        assert_true(matches);
        assert_int_equal(err.code, 0);
        ash__matcher_free(m);
        bson_destroy(filter);
        ash__free(text);
    }
    bson_destroy(doc);
}

static void test_query_project__expressions(void **state)
{
    (void)state;
    static const struct project_case cases[] = {
        {"{'x': '$a'}", "{'_id': 1, 'a': 3}", "{'_id': 1, 'x': 3}"},
        {"{'x': '$a', '_id': 0}", "{'_id': 1, 'a': 3}", "{'x': 3}"},
        {"{'x': {'$add': ['$a', '$b']}, 'b': 1}", "{'_id': 1, 'a': 3, 'b': 4}",
         "{'_id': 1, 'b': 4, 'x': 7}"},
        {"{'a': {'$add': ['$a', 1]}, 'b': 1}", "{'_id': 1, 'a': 3, 'b': 4}",
         "{'_id': 1, 'b': 4, 'a': 4}"},
        {"{'x': 'text', 'y': {'$literal': 1}}", "{'_id': 1}", "{'_id': 1, 'x': 'text', 'y': 1}"},
        {"{'x': '$nothing'}", "{'_id': 1}", "{'_id': 1}"},
        {"{'a.x': '$b'}", "{'_id': 1, 'a': {'y': 2}, 'b': 3}", "{'_id': 1, 'a': {'x': 3}}"},
        {"{'a.x': '$b', 'a.y': 1}", "{'_id': 1, 'a': {'y': 2}, 'b': 3}",
         "{'_id': 1, 'a': {'y': 2, 'x': 3}}"},
        {"{'a.x': '$b'}", "{'_id': 1, 'a': [{'y': 1}, 5], 'b': 3}",
         "{'_id': 1, 'a': [{'x': 3}, {'x': 3}]}"},
        {"{'a.x': '$b'}", "{'_id': 1, 'b': 3}", "{'_id': 1, 'a': {'x': 3}}"},
        {"{'a.x': '$b'}", "{'_id': 1, 'a': 7, 'b': 3}", "{'_id': 1, 'a': {'x': 3}}"},
        {"{'a': {'x': '$b', 'y': 1}}", "{'_id': 1, 'a': {'y': 2}, 'b': 3}",
         "{'_id': 1, 'a': {'y': 2, 'x': 3}}"},
        {"{'x': {'$slice': ['$a', 1]}}", "{'_id': 1, 'a': [1, 2]}", "{'_id': 1, 'x': [1]}"},
        {"{'x': ['$a', 1]}", "{'_id': 1, 'a': 2}", "{'_id': 1, 'x': [2, 1]}"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++)
        project_check(&cases[i], NULL);
}

static void test_query_project__expression_errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'b': 0, 'a': '$x'}", 31310, "a"},
        {"{'b': 0, 'a': {'$add': [1, 2]}}", 31252, "a"},
        {"{'a': {'$add': [1, {'$foo': 1}]}}", 168, "$foo"},
        {"{'a': '$x', 'b': 0}", 31254, "b"},
        {"{'a': {'$foo': 1}}", 31325, "$foo"},
        {"{'a': '$x', 'a.b': 1}", 31249, "a.b"},
    };
    project_check_errors(cases, ASH_ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_match__expressions),
        cmocka_unit_test(test_query_match__a_failing_expression_never_matches),
        cmocka_unit_test(test_query_match__a_caught_failure_is_none),
        cmocka_unit_test(test_query_project__expressions),
        cmocka_unit_test(test_query_project__expression_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
