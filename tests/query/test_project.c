/* SPDX-License-Identifier: Apache-2.0 */
#include "project_cases.h"

#include "base/mem.h"

static void test_query_project__inclusion_and_exclusion(void **state)
{
    (void)state;
    static const struct project_case cases[] = {
        {"{'a': 1}", "{'_id': 1, 'b': 2, 'a': 3}", "{'_id': 1, 'a': 3}"},
        {"{'a': true, '_id': 0}", "{'_id': 1, 'a': 3}", "{'a': 3}"},
        {"{'b': 1, 'a': 1}", "{'_id': 1, 'a': 3, 'b': 4}", "{'_id': 1, 'a': 3, 'b': 4}"},
        {"{'_id': 1}", "{'_id': 1, 'a': 3}", "{'_id': 1}"},
        {"{'_id': 0}", "{'_id': 1, 'a': 3}", "{'a': 3}"},
        {"{'a': 0}", "{'_id': 1, 'a': 3, 'b': 4}", "{'_id': 1, 'b': 4}"},
        {"{'a': 0, '_id': 1}", "{'_id': 1, 'a': 3, 'b': 4}", "{'_id': 1, 'b': 4}"},
        {"{'a': 0, '_id': 0}", "{'_id': 1, 'a': 3, 'b': 4}", "{'b': 4}"},
        {"{'x': 1}", "{'_id': 1, 'a': 3}", "{'_id': 1}"},
        {"{'a.b': 1}", "{'_id': 1, 'a': {'b': 1, 'c': 2}}", "{'_id': 1, 'a': {'b': 1}}"},
        {"{'a': {'b': 1}}", "{'_id': 1, 'a': {'b': 1, 'c': 2}}", "{'_id': 1, 'a': {'b': 1}}"},
        {"{'a.b': 1}", "{'_id': 1, 'a': {'c': 2}}", "{'_id': 1, 'a': {}}"},
        {"{'a.b': 1}", "{'_id': 1, 'a': 5}", "{'_id': 1}"},
        {"{'a.b': 1}", "{'_id': 1, 'a': [{'b': 1, 'c': 2}, 5, {'c': 3}]}",
         "{'_id': 1, 'a': [{'b': 1}, {}]}"},
        {"{'a.b': 1}", "{'_id': 1, 'a': [[{'b': 1, 'c': 2}], []]}",
         "{'_id': 1, 'a': [[{'b': 1}], []]}"},
        {"{'a.b': 0}", "{'_id': 1, 'a': {'b': 1, 'c': 2}}", "{'_id': 1, 'a': {'c': 2}}"},
        {"{'a.b': 0}", "{'_id': 1, 'a': [{'b': 1, 'c': 2}, 5]}", "{'_id': 1, 'a': [{'c': 2}, 5]}"},
        {"{'a.b': 0}", "{'_id': 1, 'a': 5}", "{'_id': 1, 'a': 5}"},
        {"{'a.b': 1, 'a.c': 1}", "{'_id': 1, 'a': {'c': 2, 'b': 1, 'd': 3}}",
         "{'_id': 1, 'a': {'c': 2, 'b': 1}}"},
        {"{'a': {'b': 0, 'c': 0}}", "{'_id': 1, 'a': {'c': 2, 'b': 1, 'd': 3}}",
         "{'_id': 1, 'a': {'d': 3}}"},
        {"{'_id.x': 1}", "{'_id': {'x': 1, 'y': 2}, 'a': 1}", "{'_id': {'x': 1}}"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++)
        project_check(&cases[i], NULL);
}

static void test_query_project__slice_and_elem_match(void **state)
{
    (void)state;
    static const struct project_case cases[] = {
        {"{'a': {'$slice': 2}}", "{'_id': 1, 'a': [1, 2, 3], 'b': 1}",
         "{'_id': 1, 'a': [1, 2], 'b': 1}"},
        {"{'a': {'$slice': -2}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': [2, 3]}"},
        {"{'a': {'$slice': -9}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': [1, 2, 3]}"},
        {"{'a': {'$slice': 0}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': []}"},
        {"{'a': {'$slice': [1, 1]}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': [2]}"},
        {"{'a': {'$slice': [-2, 1]}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': [2]}"},
        {"{'a': {'$slice': [-9, 1]}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': [1]}"},
        {"{'a': {'$slice': [9, 1]}}", "{'_id': 1, 'a': [1, 2, 3]}", "{'_id': 1, 'a': []}"},
        {"{'a': {'$slice': 1}}", "{'_id': 1, 'a': 7}", "{'_id': 1, 'a': 7}"},
        {"{'a': {'$slice': 1}, 'b': 1}", "{'_id': 1, 'a': [1, 2], 'b': 1, 'c': 1}",
         "{'_id': 1, 'a': [1], 'b': 1}"},
        {"{'a': {'$slice': 1}, 'b': 0}", "{'_id': 1, 'a': [1, 2], 'b': 1, 'c': 1}",
         "{'_id': 1, 'a': [1], 'c': 1}"},
        {"{'a.b': {'$slice': 1}}", "{'_id': 1, 'a': {'b': [1, 2], 'c': 3}}",
         "{'_id': 1, 'a': {'b': [1], 'c': 3}}"},
        {"{'a': {'$slice': 1}, '_id': 1}", "{'_id': 1, 'a': [1, 2], 'b': 1}",
         "{'_id': 1, 'a': [1]}"},
        {"{'a': {'$elemMatch': {'$gt': 1}}}", "{'_id': 1, 'a': [1, 2, 3], 'b': 1}",
         "{'_id': 1, 'a': [2]}"},
        {"{'a': {'$elemMatch': {'x': 2}}}", "{'_id': 1, 'a': [{'x': 1}, {'x': 2, 'y': 3}]}",
         "{'_id': 1, 'a': [{'x': 2, 'y': 3}]}"},
        {"{'a': {'$elemMatch': {'x': 9}}}", "{'_id': 1, 'a': [{'x': 1}]}", "{'_id': 1}"},
        {"{'a': {'$elemMatch': {'x': 1}}, 'b': 1}", "{'_id': 1, 'a': [{'x': 1}], 'b': 2}",
         "{'_id': 1, 'b': 2, 'a': [{'x': 1}]}"},
        {"{'a': {'$elemMatch': {'x': 1}}}", "{'_id': 1, 'a': 5}", "{'_id': 1}"},
        {"{'a': {'$elemMatch': {'0': 7}}}", "{'_id': 1, 'a': [[6], [7]]}",
         "{'_id': 1, 'a': [[7]]}"},
        {"{'a': {'$elemMatch': {'$or': [{'x': 1}, {'y': 1}]}}}",
         "{'_id': 1, 'a': [{'x': 2}, {'y': 1}]}", "{'_id': 1, 'a': [{'y': 1}]}"},
        {"{'_id': 0, 'a': {'$elemMatch': {'x': 1}}}", "{'_id': 1, 'a': [{'x': 1}], 'b': 1}",
         "{'a': [{'x': 1}]}"},
        {"{'_id': 0, 'a': {'$slice': 1}}", "{'_id': 1, 'a': [1, 2], 'b': 1}", "{'a': [1], 'b': 1}"},
        {"{'c': {'$slice': 1}, 'a': {'$elemMatch': {'x': 1}}}",
         "{'_id': 1, 'a': [{'x': 2}, {'x': 1}], 'b': 1, 'c': [1, 2]}",
         "{'_id': 1, 'b': 1, 'c': [1], 'a': [{'x': 1}]}"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++)
        project_check(&cases[i], NULL);
}

static void test_query_project__positional(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        struct project_case c;
    } cases[] = {
        {"{'a': {'$gt': 1}}",
         {"{'a.$': 1}", "{'_id': 1, 'a': [1, 2, 3], 'b': 4}", "{'_id': 1, 'a': [2]}"}},
        {"{'a.x': 2}",
         {"{'a.$': 1, 'b': 1}", "{'_id': 1, 'a': [{'x': 1}, {'x': 2}], 'b': 4}",
          "{'_id': 1, 'a': [{'x': 2}], 'b': 4}"}},
        {"{'a.b': 2}",
         {"{'a.b.$': 1}", "{'_id': 1, 'a': {'b': [1, 2]}}", "{'_id': 1, 'a': {'b': [2]}}"}},
        {"{'a': {'$elemMatch': {'x': 2}}}",
         {"{'_id': 0, 'a.$': 1}", "{'_id': 1, 'a': [{'x': 1}, {'x': 2, 'y': 1}]}",
          "{'a': [{'x': 2, 'y': 1}]}"}},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++)
        project_check(&cases[i].c, cases[i].filter);
}

static void test_query_project__positional_without_a_match(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    ash_projection *p = NULL;
    ash_builder out = ASH_BUILDER_INIT;
    ash_match_details details = {-1};
    bson_t *spec = cases_bson("{'a.$': 1}"), *doc = cases_bson("{'_id': 1, 'a': [1]}");
    assert_ok(ash__projection_new(spec, NULL, &p, &err), &err);
    assert_true(ash__projection_needs_details(p));
    assert_int_equal(ash__projection_apply(p, ash__doc_from_bson(doc), &details, &out, &err),
                     ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 51246);
    ash__projection_free(p);
    ash__builder_release(&out);
    bson_destroy(spec);
    bson_destroy(doc);
}

static void test_query_project__errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"{'a': 1, 'b': 0}", 31254, "b"},
        {"{'a': 0, 'b': 1}", 31253, "b"},
        {"{'_id': 0, 'a': 1, 'b': 0}", 31254, "b"},
        {"{'a': {}}", 51270, "a"},
        {"{'a': 1, 'a.b': 1}", 31249, "a.b"},
        {"{'a.b': 1, 'a': 1}", 31250, "a"},
        {"{'a.$': 1, 'b.$': 1}", 31276, "positional"},
        {"{'a.$': 0}", 31395, "a.$"},
        {"{'a.$': {'b': 1}}", 31271, "a.$"},
        {"{'a.$': '$b'}", 31308, "a.$"},
        {"{'a': {'$slice': 1, '$elemMatch': {'x': 1}}}", 16410, "$slice"},
        {"{'a.$.b': 1}", 31394, "a.$.b"},
        {"{'a': {'$elemMatch': 1}}", 31274, "elemMatch"},
        {"{'a.b': {'$elemMatch': {'x': 1}}}", 31275, "a.b"},
        {"{'a': {'$elemMatch': {'x': 1}}, 'b.$': 1}", 31256, "$elemMatch"},
        {"{'b.$': 1, 'a': {'$elemMatch': {'x': 1}}}", 31255, "$elemMatch"},
        {"{'a': {'$slice': [1, 0]}}", 28724, "positive"},
        {"{'a': {'$slice': [1, 2, 3]}}", 28724, "$slice"},
        {"{'a': {'$slice': [1, 'x']}}", 28724, "$slice"},
        {"{'a': {'$meta': 'textScore'}}", 40218, "$meta"},
        {"{'a..b': 1}", 56, "a..b"},
        {"{'$a': 1}", 16410, "$a"},
    };
    project_check_errors(cases, ASH_ARRAY_LEN(cases));
}

static void test_query_project__of_nothing(void **state)
{
    (void)state;
    ash_projection *none = NULL;
    assert_int_equal(ash__projection_new(NULL, NULL, &none, NULL), 0);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_project__inclusion_and_exclusion),
        cmocka_unit_test(test_query_project__slice_and_elem_match),
        cmocka_unit_test(test_query_project__positional),
        cmocka_unit_test(test_query_project__positional_without_a_match),
        cmocka_unit_test(test_query_project__errors),
        cmocka_unit_test(test_query_project__of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
