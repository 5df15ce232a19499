/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_cases.h"

#include "base/mem.h"

#include <string.h>

static bson_t *explain(const struct plan_indexes *x, const char *filter, const char *sort,
                       const ash_plan_shape *shape)
{
    ash_error err = ASH_ERROR_INIT;
    struct planned q;
    bson_t *out = bson_new();
    ash_plan_shape own = shape == NULL ? (ash_plan_shape){0} : *shape;
    assert_ok(plan_query(&q, x, filter, sort, NULL, NULL, &err), &err);
    own.sort = q.sort_bson;
    ash__plan_explain(q.plan, q.matcher, &own, out);
    planned_release(&q);
    return out;
}

static void test_query_plan_explain__bounds_in_the_servers_style(void **state)
{
    (void)state;
    static const struct {
        const char *filter, *bounds;
    } cases[] = {
        {"{'a': 'x'}", "{'a': ['[\\'x\\', \\'x\\']'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': 5, 'b': 2}", "{'a': ['[5, 5]'], 'b': ['[2, 2]']}"},
        {"{'a': {'$gt': 5}}", "{'a': ['(5, inf.0]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$lte': 5.0}}", "{'a': ['[-inf.0, 5.0]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$gte': 1, '$lt': 5}}", "{'a': ['[1, 5)'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$lt': 'x'}}", "{'a': ['[\\'\\', \\'x\\')'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$gt': 'x'}}", "{'a': ['(\\'x\\', {})'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$in': [2, 1]}}", "{'a': ['[1, 1]', '[2, 2]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': null}",
         "{'a': ['[undefined, undefined]', '[null, null]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': 1, 'b': {'$lt': 7}}", "{'a': ['[1, 1]'], 'b': ['(7, -inf.0]']}"},
        {"{'a': {'$regularExpression': {'pattern': '^ab', 'options': ''}}}",
         "{'a': ['[\\'ab\\', \\'ac\\')', '[/^ab/, /^ab/]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': true}", "{'a': ['[true, true]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$date': {'$numberLong': '7'}}}",
         "{'a': ['[new Date(7), new Date(7)]'], 'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'$oid': '0102030405060708090a0b0c'}}",
         "{'a': ['[ObjectId(#0102030405060708090a0b0c#), ObjectId(#0102030405060708090a0b0c#)]'], "
         "'b': ['[MaxKey, MinKey]']}"},
        {"{'a': {'x': 1, 'y': ['z']}}",
         "{'a': ['[{ x: 1, y: [ \\'z\\' ] }, { x: 1, y: [ \\'z\\' ] }]'], 'b': ['[MaxKey, "
         "MinKey]']}"},
    };
    struct plan_indexes x;
    plan_indexes_init(&x, "{'a_1_b_-1': {'key': {'a': 1, 'b': -1}}}");
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        bson_t *out = explain(&x, cases[i].filter, "{}", NULL);
        bson_t *expected = cases_bson(cases[i].bounds);
        ash_doc stage = ash__value_doc(ash__doc_get(ash__doc_from_bson(out), "inputStage"));
        bson_t bounds;
        ash__doc_to_bson(ash__value_doc(ash__doc_get(stage, "indexBounds")), &bounds);
        char *got = bson_as_relaxed_extended_json(&bounds, NULL);
        char *wanted = bson_as_relaxed_extended_json(expected, NULL);
        for (char *c = wanted; *c != 0; c++)
            if (*c == '#')
                *c = '\'';
        assert_string_equal(got, wanted);
        bson_free(got);
        bson_free(wanted);
        bson_destroy(expected);
        bson_destroy(out);
    }
    plan_indexes_release(&x);
}

static void check_shape(const struct plan_indexes *x, const char *filter, const char *sort,
                        const ash_plan_shape *shape, const char *expected)
{
    char stages[200] = "";
    bson_t *out = explain(x, filter, sort, shape);
    ash_doc doc = ash__doc_from_bson(out);
    for (;;) {
        ash_value stage = ash__doc_get(doc, "stage");
        ash_value input = ash__doc_get(doc, "inputStage");
        strcat(stages, ash__value_string(stage, NULL));
        strcat(stages, ash__value_is_missing(ash__doc_get(doc, "filter")) ? " " : "(filter) ");
        if (ash__value_is_missing(input))
            break;
        doc = ash__value_doc(input);
    }
    assert_string_equal(stages, expected);
    bson_destroy(out);
}

static void test_query_plan_explain__stages(void **state)
{
    (void)state;
    struct plan_indexes x;
    bson_t *projection = cases_bson("{'a': 1}"), *computed = cases_bson("{'a': '$b'}");
    ash_plan_shape shape = {.projection = projection, .skip = 2, .limit = 3};
    ash_plan_shape other = {.projection = computed};
    plan_indexes_init(&x, "{'a_1': {'key': {'a': 1}}, 'b_1': {'key': {'b': 1}}}");
    check_shape(&x, "{}", "{}", NULL, "COLLSCAN ");
    check_shape(&x, "{'c': 1}", "{}", NULL, "COLLSCAN(filter) ");
    check_shape(&x, "{'a': 1}", "{}", NULL, "FETCH IXSCAN ");
    check_shape(&x, "{'a': 1, 'c': 1}", "{}", NULL, "FETCH(filter) IXSCAN ");
    check_shape(&x, "{'a': 1}", "{'c': 1}", NULL, "SORT FETCH IXSCAN ");
    check_shape(&x, "{}", "{'a': 1}", NULL, "FETCH IXSCAN ");
    check_shape(&x, "{'a': {'$in': []}}", "{}", NULL, "EOF ");
    check_shape(&x, "{'$or': [{'a': 1}, {'b': 1}]}", "{}", NULL, "FETCH OR ");
    check_shape(&x, "{'a': 1}", "{}", &shape, "LIMIT SKIP PROJECTION_SIMPLE FETCH IXSCAN ");
    check_shape(&x, "{'a': 1}", "{'c': 1}", &other, "PROJECTION_DEFAULT SORT FETCH IXSCAN ");
    plan_indexes_release(&x);
    bson_destroy(projection);
    bson_destroy(computed);
}

static void test_query_plan_explain__merged_ranges_one_by_one(void **state)
{
    (void)state;
    static const char *const expected[] = {"{'a': ['[1, 1]'], 'b': ['[7, 5)']}",
                                           "{'a': ['[2, 2]'], 'b': ['[7, 5)']}"};
    struct plan_indexes x;
    plan_indexes_init(&x, "{'a_1_b_-1': {'key': {'a': 1, 'b': -1}}}");
    bson_t *out =
        explain(&x, "{'a': {'$in': [2, 1]}, 'b': {'$gt': 5, '$lte': 7}}", "{'b': -1}", NULL);
    ash_doc merge = ash__value_doc(ash__doc_get(ash__doc_from_bson(out), "inputStage"));
    assert_string_equal(ash__value_string(ash__doc_get(merge, "stage"), NULL), "SORT_MERGE");
    ash_doc_iter it = ash__doc_iter(ash__value_doc(ash__doc_get(merge, "inputStages")));
    for (size_t i = 0; i < ASH_ARRAY_LEN(expected); i++) {
        bson_t *wanted = cases_bson(expected[i]);
        assert_true(ash__doc_iter_next(&it));
        ash_value bounds = ash__doc_get(ash__value_doc(it.value), "indexBounds");
        assert_int_equal(ash__doc_compare(ash__value_doc(bounds), ash__doc_from_bson(wanted), NULL),
                         0);
        bson_destroy(wanted);
    }
    assert_false(ash__doc_iter_next(&it));
    bson_destroy(out);
    plan_indexes_release(&x);
}

static void test_query_plan_explain__scan_fields(void **state)
{
    (void)state;
    struct plan_indexes x;
    plan_indexes_init(&x, "{'a_1': {'key': {'a': 1}, 'unique': true}}");
    bson_t *out = explain(&x, "{'a': {'$gt': 1}}", "{'a': -1}", NULL);
    bson_t *expected =
        cases_bson("{'stage': 'FETCH', 'inputStage': {'stage': 'IXSCAN', 'keyPattern': {'a': 1}, "
                   "'indexName': 'a_1', 'isMultiKey': false, 'isUnique': true, 'isSparse': false, "
                   "'isPartial': false, 'indexVersion': 2, 'direction': 'backward', 'indexBounds': "
                   "{'a': ['[inf.0, 1)']}}}");
    char *got = bson_as_relaxed_extended_json(out, NULL);
    char *wanted = bson_as_relaxed_extended_json(expected, NULL);
    assert_string_equal(got, wanted);
    bson_free(got);
    bson_free(wanted);
    bson_destroy(out);
    bson_destroy(expected);
    plan_indexes_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_plan_explain__bounds_in_the_servers_style),
        cmocka_unit_test(test_query_plan_explain__stages),
        cmocka_unit_test(test_query_plan_explain__merged_ranges_one_by_one),
        cmocka_unit_test(test_query_plan_explain__scan_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
