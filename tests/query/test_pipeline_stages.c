/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_cases.h"

static void test_query_pipeline__order_and_shape(void **state)
{
    (void)state;
    static const struct pipeline_case cases[] = {
        {"[]", "[{'a': 1}]", "[{'a': 1}]"},
        {"[{'$match': {'a': {'$gt': 1}}}]", "[{'a': 1}, {'a': 2}]", "[{'a': 2}]"},
        {"[{'$match': {'a': 1}}, {'$match': {'b': 1}}]", "[{'a': 1}, {'a': 1, 'b': 1}]",
         "[{'a': 1, 'b': 1}]"},
        {"[{'$sort': {'a': -1}}, {'$skip': 1}, {'$limit': 1}]", "[{'a': 1}, {'a': 3}, {'a': 2}]",
         "[{'a': 2}]"},
        {"[{'$limit': 2}, {'$skip': 1}]", "[{'a': 1}, {'a': 2}, {'a': 3}]", "[{'a': 2}]"},
        {"[{'$limit': 2}, {'$sort': {'a': 1}}]", "[{'a': 3}, {'a': 2}, {'a': 1}]",
         "[{'a': 2}, {'a': 3}]"},
        {"[{'$limit': 2}, {'$match': {'a': 1}}]", "[{'a': 3}, {'a': 2}, {'a': 1}]", "[]"},
        {"[{'$set': {'b': 1}}, {'$sort': {'a': 1}}, {'$skip': 1}, {'$limit': 1}]",
         "[{'a': 3}, {'a': 1}, {'a': 2}]", "[{'a': 2, 'b': 1}]"},
        {"[{'$project': {'a': 1, '_id': 0}}]", "[{'_id': 1, 'a': 1, 'b': 2}]", "[{'a': 1}]"},
        {"[{'$project': {'b': 0}}]", "[{'_id': 1, 'a': 1, 'b': 2}]", "[{'_id': 1, 'a': 1}]"},
        {"[{'$project': {'x': {'$add': ['$a', 1]}}}]", "[{'_id': 1, 'a': 1}]",
         "[{'_id': 1, 'x': 2}]"},
        {"[{'$project': {'a.b': 1}}]", "[{'_id': 1, 'a': [{'b': 1, 'c': 2}, 5]}]",
         "[{'_id': 1, 'a': [{'b': 1}]}]"},
        {"[{'$addFields': {'a.c': '$b', 'd': [1, '$b']}}]", "[{'a': {'x': 1}, 'b': 2}]",
         "[{'a': {'x': 1, 'c': 2}, 'b': 2, 'd': [1, 2]}]"},
        {"[{'$addFields': {'a.c': 1}}]", "[{'a': [{'x': 1}, 5]}]",
         "[{'a': [{'x': 1, 'c': 1}, {'c': 1}]}]"},
        {"[{'$addFields': {'a': {'c': 1}}}]", "[{'a': {'x': 1}}]", "[{'a': {'x': 1, 'c': 1}}]"},
        {"[{'$set': {'a': 5}}]", "[{'a': 1, 'b': 2}]", "[{'a': 5, 'b': 2}]"},
        {"[{'$unset': 'a'}]", "[{'a': 1, 'b': 2}]", "[{'b': 2}]"},
        {"[{'$replaceRoot': {'newRoot': {'x': '$a'}}}]", "[{'a': 1}]", "[{'x': 1}]"},
        {"[{'$replaceWith': '$d'}]", "[{'d': {'y': 1}}]", "[{'y': 1}]"},
        {"[{'$sample': {'size': 5}}]", "[{'a': 1}]", "[{'a': 1}]"},
        {"[{'$collStats': {'count': {}}}]", "[]", "[{'count': 5}]"},
        {"[{'$collStats': {'count': {}}}, {'$group': {'_id': 1, 'n': {'$sum': '$count'}}}]", "[]",
         "[{'_id': 1, 'n': 5}]"},
        {"[{'$documents': [{'a': 1}, {'a': 2}]}, {'$match': {'a': 2}}]", "[]", "[{'a': 2}]"},
    };
    RUN_PIPELINE(cases);
}

static void test_query_pipeline__group(void **state)
{
    (void)state;
#define SALES "[{'k': 'a', 'n': 1}, {'k': 'b', 'n': 5}, {'k': 'a', 'n': 3}, {'n': 7}]"
    static const struct pipeline_case cases[] = {
        {"[{'$group': {'_id': '$k', 't': {'$sum': '$n'}}}]", SALES,
         "[{'_id': 'a', 't': 4}, {'_id': 'b', 't': 5}, {'_id': null, 't': 7}]"},
        {"[{'$group': {'_id': null, 'n': {'$sum': 1}, 'avg': {'$avg': '$n'}}}]", SALES,
         "[{'_id': null, 'n': 4, 'avg': 4.0}]"},
        {"[{'$group': {'_id': null, 'min': {'$min': '$n'}, 'max': {'$max': '$n'}}}]", SALES,
         "[{'_id': null, 'min': 1, 'max': 7}]"},
        {"[{'$group': {'_id': '$k', 'f': {'$first': '$n'}, 'l': {'$last': '$n'}}}]", SALES,
         "[{'_id': 'a', 'f': 1, 'l': 3}, {'_id': 'b', 'f': 5, 'l': 5}, {'_id': null, 'f': 7, 'l': "
         "7}]"},
        {"[{'$group': {'_id': null, 'all': {'$push': '$k'}, 'set': {'$addToSet': '$k'}}}]", SALES,
         "[{'_id': null, 'all': ['a', 'b', 'a'], 'set': ['a', 'b']}]"},
        {"[{'$group': {'_id': {'x': '$k'}, 'c': {'$count': {}}}}]", SALES,
         "[{'_id': {'x': 'a'}, 'c': 2}, {'_id': {'x': 'b'}, 'c': 1}, {'_id': {}, 'c': 1}]"},
        {"[{'$group': {'_id': null, 'm': {'$mergeObjects': '$o'}}}]",
         "[{'o': {'a': 1, 'b': 1}}, {'o': {'b': 2}}, {}]",
         "[{'_id': null, 'm': {'a': 1, 'b': 2}}]"},
        {"[{'$group': {'_id': '$a'}}]", "[{'a': 1}, {'a': 1.0}, {'a': {'$numberLong': '1'}}]",
         "[{'_id': 1}]"},
        {"[{'$group': {'_id': null, 's': {'$sum': '$x'}, 'a': {'$avg': '$x'}}}]", "[{'a': 1}]",
         "[{'_id': null, 's': 0, 'a': null}]"},
        {"[{'$group': {'_id': null, 's': {'$sum': '$x'}}}]", "[{'x': 0.1}, {'x': 0.2}, {'x': 0.3}]",
         "[{'_id': null, 's': 0.6}]"},
        {"[{'$group': {'_id': null, 's': {'$stdDevPop': '$x'}}}]", "[{'x': 1}, {'x': 3}]",
         "[{'_id': null, 's': 1.0}]"},
        {"[{'$group': {'_id': 1, 'n': {'$sum': 1}}}]", "[]", "[]"},
        {"[{'$count': 'n'}]", "[{}, {}]", "[{'n': 2}]"},
        {"[{'$count': 'n'}]", "[]", "[]"},
        {"[{'$sortByCount': '$k'}]", "[{'k': 'a'}, {'k': 'b'}, {'k': 'b'}]",
         "[{'_id': 'b', 'count': 2}, {'_id': 'a', 'count': 1}]"},
        {"[{'$bucket': {'groupBy': '$n', 'boundaries': [0, 5, 10]}}]",
         "[{'n': 1}, {'n': 4.5}, {'n': 5}]", "[{'_id': 0, 'count': 2}, {'_id': 5, 'count': 1}]"},
        {"[{'$bucket': {'groupBy': '$n', 'boundaries': [0, 5], 'default': 'other', 'output': "
         "{'all': {'$push': '$n'}}}}]",
         "[{'n': 1}, {'n': 9}]", "[{'_id': 0, 'all': [1]}, {'_id': 'other', 'all': [9]}]"},
    };
    RUN_PIPELINE(cases);
}

static void test_query_pipeline__unwind(void **state)
{
    (void)state;
    static const struct pipeline_case cases[] = {
        {"[{'$unwind': '$a'}]", "[{'_id': 1, 'a': [1, 2], 'b': 3}]",
         "[{'_id': 1, 'a': 1, 'b': 3}, {'_id': 1, 'a': 2, 'b': 3}]"},
        {"[{'$unwind': '$a'}]", "[{'a': []}, {'b': 1}, {'a': null}, {'a': 5}]", "[{'a': 5}]"},
        {"[{'$unwind': {'path': '$a', 'preserveNullAndEmptyArrays': true}}]",
         "[{'x': 1, 'a': []}, {'b': 1}, {'a': null}, {'a': [7]}]",
         "[{'x': 1}, {'b': 1}, {'a': null}, {'a': 7}]"},
        {"[{'$unwind': {'path': '$a', 'includeArrayIndex': 'i'}}]", "[{'a': ['x', 'y']}, {'a': 5}]",
         "[{'a': 'x', 'i': {'$numberLong': '0'}}, {'a': 'y', 'i': {'$numberLong': '1'}}, {'a': 5, "
         "'i': null}]"},
        {"[{'$unwind': '$a.b'}]", "[{'a': {'b': [1, 2], 'c': 3}}]",
         "[{'a': {'b': 1, 'c': 3}}, {'a': {'b': 2, 'c': 3}}]"},
        {"[{'$unwind': '$a'}, {'$unwind': '$b'}]", "[{'a': [1, 2], 'b': [3, 4]}]",
         "[{'a': 1, 'b': 3}, {'a': 1, 'b': 4}, {'a': 2, 'b': 3}, {'a': 2, 'b': 4}]"},
        {"[{'$unwind': '$a'}, {'$group': {'_id': null, 's': {'$sum': '$a'}}}]",
         "[{'a': [1, 2]}, {'a': [3]}]", "[{'_id': null, 's': 6}]"},
    };
    RUN_PIPELINE(cases);
}

static void test_query_pipeline__facet_and_union(void **state)
{
    (void)state;
    static const struct pipeline_case cases[] = {
        {"[{'$facet': {'n': [{'$count': 'c'}], 'top': [{'$sort': {'a': -1}}, {'$limit': 1}]}}]",
         "[{'a': 1}, {'a': 2}]", "[{'n': [{'c': 2}], 'top': [{'a': 2}]}]"},
        {"[{'$match': {'a': 5}}, {'$facet': {'x': [{'$match': {'a': 1}}]}}]", "[{'a': 1}]",
         "[{'x': []}]"},
        {"[{'$unionWith': 'ring'}]", "[{'a': 1}]",
         "[{'a': 1}, {'_id': 1, 'next': 2}, {'_id': 2, 'next': 3}, {'_id': 3, 'next': 1}]"},
        {"[{'$unionWith': {'coll': 'ring', 'pipeline': [{'$match': {'_id': 2}}, {'$unset': "
         "'next'}]}}]",
         "[{'a': 1}]", "[{'a': 1}, {'_id': 2}]"},
        {"[{'$unionWith': {'pipeline': [{'$documents': [{'z': 1}]}]}}]", "[{'a': 1}]",
         "[{'a': 1}, {'z': 1}]"},
        {"[{'$unionWith': 'absent'}]", "[{'a': 1}]", "[{'a': 1}]"},
    };
    RUN_PIPELINE(cases);
}

static int next_inner(void *ctx, ash_doc *out, ash_error *err)
{
    return ash__pipeline_next(ctx, out, err);
}

static void free_inner(void *ctx)
{
    ash__pipeline_free(ctx);
}

static void test_query_pipeline__memory_is_bounded(void **state)
{
    (void)state;
    static const char *const stages[] = {
        "[{'$group': {'_id': '$a', 'p': {'$push': '$$ROOT'}}}]",
        "[{'$set': {'b': 1}}, {'$sort': {'a': 1}}]",
        "[{'$facet': {'x': []}}]",
        "[{'$sample': {'size': 3}}]",
    };
    ash_query_env env = case_env;
    env.memory_limit_bytes = 64;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *spec = cases_bson(stages[i]);
        ash_pipeline *p;
        ash_doc doc;
        int rc = 0;
        assert_ok(ash__pipeline_new(spec, &env, NULL, &p, &err), &err);
        bson_destroy(spec);
        bson_t *inner = cases_bson("[{'$documents': [{'a': 'long enough to be over the limit', "
                                   "'b': 'and longer still'}, {'a': 2}]}]");
        ash_pipeline *source;
        assert_ok(ash__pipeline_new(inner, &case_env, NULL, &source, &err), &err);
        ash__pipeline_start(p, (ash_source){source, next_inner, free_inner});
        while (rc == 0 && (rc = ash__pipeline_next(p, &doc, &err)) == 0 && doc.data != NULL)
            continue;
        cases_check_error(stages[i], rc, &err, 292, NULL);
        ash__pipeline_free(p);
        bson_destroy(inner);
    }
}

static void test_query_pipeline__cancelled(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    const volatile int stop = 1;
    ash_query_env env = case_env;
    env.cancelled = &stop;
    bson_t *spec = cases_bson("[{'$unwind': '$a'}]");
    ash_pipeline *p;
    ash_doc doc;
    assert_ok(ash__pipeline_new(spec, &env, NULL, &p, &err), &err);
    assert_int_equal(ash__pipeline_next(p, &doc, &err), ASH_EINTERRUPTED);
    ash__pipeline_free(p);
    bson_destroy(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_pipeline__order_and_shape),
        cmocka_unit_test(test_query_pipeline__group),
        cmocka_unit_test(test_query_pipeline__unwind),
        cmocka_unit_test(test_query_pipeline__facet_and_union),
        cmocka_unit_test(test_query_pipeline__memory_is_bounded),
        cmocka_unit_test(test_query_pipeline__cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
