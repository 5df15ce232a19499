/* SPDX-License-Identifier: Apache-2.0 */
/* $lookup, $graphLookup, $out, $merge; what the head takes; errors. */
#include "pipeline_cases.h"

static void test_query_pipeline__lookup(void **state)
{
    (void)state;
#define JOIN "'from': 'items', 'as': 'i'"
    static const struct pipeline_case cases[] = {
        {"[{'$lookup': {" JOIN ", 'localField': 'k', 'foreignField': 'sku'}}]", "[{'k': 'b'}]",
         "[{'k': 'b', 'i': [{'_id': 2, 'sku': 'b', 'n': 20}]}]"},
        {"[{'$lookup': {" JOIN ", 'localField': 'k', 'foreignField': 'sku'}}]", "[{'x': 1}]",
         "[{'x': 1, 'i': [{'_id': 3, 'n': 30}]}]"},
        {"[{'$lookup': {" JOIN ", 'localField': 'k', 'foreignField': 'sku'}}, {'$set': {'i': "
         "'$i._id'}}]",
         "[{'k': ['a', 'b']}, {'k': 'zz'}]",
         "[{'k': ['a', 'b'], 'i': [1, 2, 4]}, {'k': 'zz', 'i': "
         "[]}]"},
        {"[{'$lookup': {" JOIN ", 'let': {'m': '$min'}, 'pipeline': [{'$match': {'$expr': {'$gte': "
         "['$n', '$$m']}}}, {'$project': {'n': 1, '_id': 0}}]}}]",
         "[{'min': 25}]", "[{'min': 25, 'i': [{'n': 30}, {'n': 40}]}]"},
        {"[{'$lookup': {" JOIN
         ", 'localField': 'k', 'foreignField': 'sku', 'pipeline': [{'$match': "
         "{'n': {'$gt': 15}}}, {'$unset': 'sku'}]}}]",
         "[{'k': 'a'}]", "[{'k': 'a', 'i': [{'_id': 4, 'n': 40}]}]"},
        {"[{'$lookup': {" JOIN ", 'pipeline': [{'$count': 'c'}]}}]", "[{}, {}]",
         "[{'i': [{'c': 4}]}, {'i': [{'c': 4}]}]"},
        {"[{'$lookup': {'from': 'items', 'as': 'a.b', 'localField': 'k', 'foreignField': '_id'}}, "
         "{'$set': {'n': '$a.b.n'}}, {'$unset': 'a'}]",
         "[{'k': 1}]", "[{'k': 1, 'n': [10]}]"},
        {"[{'$lookup': {" JOIN ", 'let': {'o': '$k'}, 'pipeline': [{'$match': {'_id': 1}}, "
         "{'$lookup': {'from': 'ring', 'as': 'r', 'pipeline': [{'$match': {'$expr': {'$eq': "
         "['$_id', '$$o']}}}]}}, {'$project': {'r': 1, '_id': 0}}]}}]",
         "[{'k': 3}]", "[{'k': 3, 'i': [{'r': [{'_id': 3, 'next': 1}]}]}]"},
        /* Of an argument given twice the last one counts. */
        {"[{'$lookup': {" JOIN ", 'let': {'v': 1}, 'let': {'a': 1, 'b': 2, 'v': '$k'}, 'pipeline': "
         "[{'$match': {'$expr': {'$eq': ['$_id', '$$v']}}}, {'$project': {'n': 1}}]}}]",
         "[{'k': 2}]", "[{'k': 2, 'i': [{'_id': 2, 'n': 20}]}]"},
        {"[{'$graphLookup': {'from': 'items', 'startWith': '$x', 'startWith': '$k', "
         "'connectFromField': 'n', 'connectToField': '_id', 'as': 'g'}}, {'$set': {'g': '$g.n'}}]",
         "[{'k': 1}]", "[{'k': 1, 'g': [10]}]"},
        /* A field that is missing makes a variable that is missing, not null. */
        {"[{'$lookup': {" JOIN ", 'let': {'v': '$k'}, 'pipeline': [{'$match': {'$expr': {'$eq': "
         "['$sku', '$$v']}}}, {'$set': {'t': {'$type': '$$v'}}}]}}]",
         "[{}, {'k': null}]",
         "[{'i': [{'_id': 3, 'n': 30, 't': 'missing'}]}, {'k': null, 'i': []}]"},
        {"[{'$lookup': {'as': 'd', 'pipeline': [{'$documents': [{'q': 1}]}]}}]", "[{}]",
         "[{'d': [{'q': 1}]}]"},
        {"[{'$lookup': {'as': 'd', 'pipeline': [{'$documents': [{'q': 1}, {'q': 2}]}, {'$limit': "
         "1}]}}]",
         "[{}]", "[{'d': [{'q': 1}]}]"},
        {"[{'$lookup': {'from': 'absent', 'as': 'i', 'localField': 'k', 'foreignField': 'x'}}]",
         "[{'k': 1}]", "[{'k': 1, 'i': []}]"},
        {"[{'$lookup': {" JOIN ", 'localField': 'k', 'foreignField': '_id'}}, {'$unwind': '$i'}, "
         "{'$replaceWith': '$i'}]",
         "[{'k': 1}, {'k': 2}]",
         "[{'_id': 1, 'sku': 'a', 'n': 10}, {'_id': 2, 'sku': 'b', 'n': 20}]"},
    };
    RUN_PIPELINE(cases);
}

/* The filter that the host gets is one an index can serve. */
static void test_query_pipeline__lookup_asks_by_equality(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *found = NULL;
    cases_host_reset();
    assert_ok(cases_run_pipeline("[{'$lookup': {" JOIN ", 'localField': 'k', 'foreignField': "
                                 "'sku', 'pipeline': [{'$match': {'n': 1}}]}}]",
                                 "[{'k': 'b'}, {'k': ['a']}]", &case_env, &found, &err),
              &err);
    bson_t *expected = cases_bson("{'0': {'$and': [{'sku': {'$eq': 'b'}}, {'n': 1}]},"
                                  " '1': {'$and': [{'sku': {'$in': ['a']}}, {'n': 1}]}}");
    cases_same("filters", "$lookup", expected, cases_host_filters());
    bson_destroy(expected);
    bson_destroy(found);
    cases_host_reset();
}

/* So is what an equality with a variable implies; null, and what a path would spread over, is not
 * asked for. */
static void test_query_pipeline__lookup_asks_by_variable(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *found = NULL;
    cases_host_reset();
    assert_ok(cases_run_pipeline("[{'$lookup': {" JOIN
                                 ", 'let': {'v': '$k'}, 'pipeline': [{'$match': "
                                 "{'$expr': {'$and': [{'$eq': ['$sku', '$$v']}, {'$gt': ['$n', "
                                 "5]}]}}}]}}, {'$set': {'i': '$i._id'}}]",
                                 "[{'k': 'a'}, {'k': null}]", &case_env, &found, &err),
              &err);
    bson_t *filters = cases_bson("{'0': {'$and': [{'sku': {'$eq': 'a'}}]}, '1': {}}");
    bson_t *expected = cases_value("[{'k': 'a', 'i': [1]}, {'k': null, 'i': []}]");
    cases_same("filters", "$lookup", filters, cases_host_filters());
    cases_same("result", "$lookup", expected, found);
    bson_destroy(filters);
    bson_destroy(expected);
    bson_destroy(found);
    cases_host_reset();
}

/* Nobody reads a collection for a pipeline that brings its documents. */
static void test_query_pipeline__lookup_of_documents_asks_nothing(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *found = NULL;
    cases_host_reset();
    assert_ok(
        cases_run_pipeline("[{'$lookup': {" JOIN
                           ", 'pipeline': [{'$documents': [{'q': 1}]}, {'$set': {'r': 2}}]}}]",
                           "[{}]", &case_env, &found, &err),
        &err);
    bson_t *expected = cases_value("[{'i': [{'q': 1, 'r': 2}]}]");
    cases_same("result", "$lookup", expected, found);
    assert_null(cases_host_filters());
    bson_destroy(expected);
    bson_destroy(found);
}

static void test_query_pipeline__graph_lookup(void **state)
{
    (void)state;
#define GRAPH "'from': 'staff', 'as': 'up', 'connectFromField': 'boss', 'connectToField': '_id'"
    static const struct pipeline_case cases[] = {
        {"[{'$graphLookup': {" GRAPH ", 'startWith': '$boss'}}, {'$set': {'up': '$up._id'}}]",
         "[{'boss': 'ron'}]", "[{'boss': 'ron', 'up': ['ron', 'eliot', 'dev']}]"},
        {"[{'$graphLookup': {" GRAPH ", 'startWith': '$boss', 'maxDepth': 1}}, {'$set': {'up': "
         "'$up._id'}}]",
         "[{'boss': 'ron'}]", "[{'boss': 'ron', 'up': ['ron', 'eliot']}]"},
        {"[{'$graphLookup': {" GRAPH ", 'startWith': '$boss', 'maxDepth': 0, 'depthField': 'd'}}]",
         "[{'boss': 'eliot'}]",
         "[{'boss': 'eliot', 'up': [{'_id': 'eliot', 'boss': 'dev', 'd': {'$numberLong': '0'}}]}]"},
        {"[{'$graphLookup': {" GRAPH ", 'startWith': '$boss', 'restrictSearchWithMatch': {'_id': "
         "{'$ne': 'dev'}}}}, {'$set': {'up': '$up._id'}}]",
         "[{'boss': 'ron'}]", "[{'boss': 'ron', 'up': ['ron', 'eliot']}]"},
        {"[{'$graphLookup': {'from': 'staff', 'as': 'down', 'startWith': '$_id', "
         "'connectFromField': '_id', 'connectToField': 'boss', 'depthField': 'd'}}, {'$set': "
         "{'down': {'$map': {'input': '$down', 'in': ['$$this._id', {'$toInt': '$$this.d'}]}}}}]",
         "[{'_id': 'eliot'}]",
         "[{'_id': 'eliot', 'down': [['ron', 0], ['andrew', 0], ['asya', 1]]}]"},
        {"[{'$graphLookup': {'from': 'ring', 'as': 'r', 'startWith': '$s', 'connectFromField': "
         "'next', 'connectToField': '_id'}}, {'$set': {'r': '$r._id'}}]",
         "[{'s': 2}]", "[{'s': 2, 'r': [2, 3, 1]}]"},
        {"[{'$graphLookup': {'from': 'ring', 'as': 'r', 'startWith': '$s', 'connectFromField': "
         "'next', 'connectToField': '_id'}}]",
         "[{'x': 2}]", "[{'x': 2, 'r': []}]"},
    };
    RUN_PIPELINE(cases);
}

static void test_query_pipeline__head(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    static const struct {
        const char *stages, *match, *sort;
        int64_t skip, limit;
        bool streaming;
    } cases[] = {
        {"[]", "{}", "{}", 0, 0, true},
        {"[{'$match': {'a': 1}}, {'$sort': {'b': 1}}, {'$skip': 2}, {'$limit': 3}]", "{'a': 1}",
         "{'b': 1}", 2, 3, true},
        {"[{'$match': {'a': 1}}, {'$match': {'b': 1}}]", "{'$and': [{'a': 1}, {'b': 1}]}", "{}", 0,
         0, true},
        {"[{'$limit': 3}, {'$limit': 2}, {'$skip': 1}]", "{}", "{}", 0, 2, false},
        {"[{'$skip': 1}, {'$skip': 1}, {'$sort': {'a': 1}}]", "{}", "{}", 2, 0, false},
        {"[{'$set': {'x': 1}}, {'$match': {'a': 1}}]", "{}", "{}", 0, 0, true},
        {"[{'$sort': {'a': 1}}, {'$match': {'a': 1}}]", "{}", "{'a': 1}", 0, 0, true},
        {"[{'$match': {'$expr': {'$eq': ['$a', '$$NOW']}}}]", "{'$expr': {'$eq': ['$a', '$$NOW']}}",
         "{}", 0, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bson_t *spec = cases_bson(cases[i].stages);
        bson_t *match = cases_bson(cases[i].match);
        bson_t *sort = cases_bson(cases[i].sort);
        ash_pipeline *p;
        assert_ok(ash__pipeline_new(spec, &case_env, NULL, &p, &err), &err);
        const ash_pipeline_head *head = ash__pipeline_head(p);
        cases_same(cases[i].stages, "match", match, &head->match);
        cases_same(cases[i].stages, "sort", sort, &head->sort);
        assert_int_equal(head->skip, cases[i].skip);
        assert_int_equal(head->limit, cases[i].limit);
        assert_int_equal(ash__pipeline_is_streaming(p), cases[i].streaming);
        assert_false(head->is_coll_stats || head->is_change_stream || head->has_write_out);
        ash__pipeline_free(p);
        bson_destroy(spec);
        bson_destroy(match);
        bson_destroy(sort);
    }
}

static void test_query_pipeline__change_stream_head(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    bson_t *spec = cases_bson("[{'$changeStream': {'fullDocument': 'updateLookup'}}, {'$match': "
                              "{'operationType': 'insert'}}, {'$project': {'_id': 1}}]");
    bson_t *expected = cases_bson("{'fullDocument': 'updateLookup'}");
    ash_pipeline *p;
    assert_ok(ash__pipeline_new(spec, &case_env, NULL, &p, &err), &err);
    const ash_pipeline_head *head = ash__pipeline_head(p);
    assert_true(head->is_change_stream);
    assert_true(ash__pipeline_is_streaming(p));
    assert_true(bson_empty(&head->match));
    cases_same("spec", "$changeStream", expected, &head->change_stream);
    ash__pipeline_free(p);
    bson_destroy(spec);
    bson_destroy(expected);
}

static void test_query_pipeline__writes(void **state)
{
    (void)state;
    ash_error err = ASH_ERROR_INIT;
    static const struct {
        const char *stages, *written;
    } cases[] = {
        {"[{'$match': {'a': 1}}, {'$out': 'x'}]", "{'merge': false, '0': {'a': 1}}"},
        {"[{'$set': {'b': 1}}, {'$merge': {'into': 'x', 'on': '_id', 'whenMatched': 'replace'}}]",
         "{'merge': true, '0': {'a': 1, 'b': 1}, '1': {'a': 2, 'b': 1}}"},
        {"[{'$merge': 'x'}]", "{'merge': true, '0': {'a': 1}, '1': {'a': 2}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bson_t *found = NULL;
        bson_t *none = cases_value("[]");
        bson_t *expected = cases_bson(cases[i].written);
        assert_ok(
            cases_run_pipeline(cases[i].stages, "[{'a': 1}, {'a': 2}]", &case_env, &found, &err),
            &err);
        cases_same(cases[i].stages, "result", none, found);
        cases_same(cases[i].stages, "written", expected, cases_host_written());
        bson_destroy(found);
        bson_destroy(none);
        bson_destroy(expected);
        cases_host_reset();
    }
}

static void test_query_pipeline__errors(void **state)
{
    (void)state;
    static const struct error_case cases[] = {
        {"[{'$foo': 1}]", 40324, "Unrecognized pipeline stage name: '$foo'"},
        {"[{'$geoNear': {}}]", 238, "$geoNear"},
        {"[{'$setWindowFields': {}}]", 238, "$setWindowFields"},
        {"[{'$match': {}, '$limit': 1}]", 40323, NULL},
        {"[{}]", 40323, NULL},
        {"[5]", 14, NULL},
        {"[{'$match': 5}]", 15959, NULL},
        {"[{'$match': {'a': {'$foo': 1}}}]", 2, "$foo"},
        {"[{'$sort': {}}]", 15976, NULL},
        {"[{'$sort': 1}]", 15973, NULL},
        {"[{'$limit': 0}]", 15958, NULL},
        {"[{'$limit': 'x'}]", 5107201, NULL},
        {"[{'$skip': -1}]", 5107200, NULL},
        {"[{'$project': {}}]", 51272, NULL},
        {"[{'$project': 1}]", 15969, NULL},
        {"[{'$project': {'a': 1, 'b': 0}}]", 31254, NULL},
        {"[{'$project': {'a.$': 1}}]", 31324, NULL},
        {"[{'$project': {'a.$.b': 1}}]", 31394, NULL},
        {"[{'$project': {'a.$b': 1}}]", 16410, NULL},
        {"[{'$project': {'a': {'$elemMatch': {'x': 1}}}}]", 168, "$elemMatch"},
        {"[{'$addFields': {}}]", 40177, NULL},
        {"[{'$addFields': 1}]", 40272, NULL},
        {"[{'$set': {'a': 1, 'a.b': 2}}]", 40176, NULL},
        {"[{'$set': {'a.b': 1, 'a': 2}}]", 40176, NULL},
        {"[{'$set': {'$a': 1}}]", 16410, NULL},
        {"[{'$unset': 5}]", 31002, NULL},
        {"[{'$unset': ['a', 5]}]", 31120, NULL},
        {"[{'$unset': []}]", 31119, NULL},
        {"[{'$replaceRoot': {'newRoot': 5}}]", 40228, "must evaluate to an object"},
        {"[{'$replaceRoot': 5}]", 40229, NULL},
        {"[{'$group': 5}]", 15947, NULL},
        {"[{'$group': {'a': {'$sum': 1}}}]", 15955, NULL},
        {"[{'$group': {'_id': 1, 'a': 1}}]", 40234, "must be an accumulator object"},
        {"[{'$group': {'_id': 1, 'a': {'$foo': 1}}}]", 15952, "unknown group operator '$foo'"},
        {"[{'$group': {'_id': 1, 'a': {'$sum': 1, '$avg': 1}}}]", 40238, NULL},
        {"[{'$group': {'_id': 1, 'a.b': {'$sum': 1}}}]", 40235, NULL},
        {"[{'$group': {'_id': 1, 'a': {'$mergeObjects': '$a'}}}]", 40400, NULL},
        {"[{'$unwind': 5}]", 15981, NULL},
        {"[{'$unwind': 'a'}]", 28818, NULL},
        {"[{'$unwind': {'path': '$a', 'foo': 1}}]", 28811, NULL},
        {"[{'$unwind': {'path': '$a', 'includeArrayIndex': 'x..y'}}]", 56, NULL},
        {"[{'$unwind': {}}]", 28812, NULL},
        {"[{'$count': 5}]", 40156, NULL},
        {"[{'$count': ''}]", 40157, NULL},
        {"[{'$count': '$a'}]", 40158, NULL},
        {"[{'$count': 'a.b'}]", 40160, NULL},
        {"[{'$sortByCount': 'a'}]", 40148, NULL},
        {"[{'$bucket': {'groupBy': '$a', 'boundaries': [1]}}]", 40192, NULL},
        {"[{'$bucket': {'groupBy': '$a', 'boundaries': [2, 1]}}]", 40194, NULL},
        {"[{'$bucket': {'groupBy': '$a', 'boundaries': [1, 'x']}}]", 40193, NULL},
        {"[{'$bucket': {'groupBy': '$a', 'boundaries': [5, 6]}}]", 40066, NULL},
        {"[{'$lookup': {'from': 'x'}}]", 9, "'as'"},
        {"[{'$lookup': {'from': 'x', 'as': 'y'}}]", 9, "$lookup requires"},
        {"[{'$lookup': {'from': 'x', 'as': 'y', 'localField': 'a'}}]", 9, "both or neither"},
        {"[{'$lookup': {'from': 'x', 'as': 'y', 'foo': 1}}]", 9, "unknown argument"},
        {"[{'$lookup': {'from': 'x', 'as': 'y', 'pipeline': [{'$out': 'z'}]}}]", 51047, NULL},
        {"[{'$lookup': {'from': 'x', 'as': 'y', 'pipeline': [{'$foo': 'z'}]}}]", 40324, NULL},
        {"[{'$lookup': {'from': 'x', 'as': 'y', 'pipeline': [{'$set': {'a': '$$v'}}]}}]", 17276,
         NULL},
        {"[{'$graphLookup': {'from': 'x'}}]", 40105, NULL},
        {"[{'$graphLookup': {'foo': 'x'}}]", 40104, NULL},
        {"[{'$graphLookup': {'maxDepth': -1}}]", 40101, NULL},
        {"[{'$out': 'x'}, {'$match': {}}]", 40601, NULL},
        {"[{'$out': 5}]", 16990, NULL},
        {"[{'$merge': {'into': 'x', 'foo': 1}}]", 40415, NULL},
        {"[{'$merge': {'whenMatched': 'fail'}}]", 40414, NULL},
        {"[{'$merge': {'into': 'x', 'whenMatched': 'foo'}}]", 2, "whenMatched"},
        {"[{'$match': {}}, {'$collStats': {}}]", 40602, NULL},
        {"[{'$match': {}}, {'$changeStream': {}}]", 40602, NULL},
        {"[{'$facet': {}}]", 40169, NULL},
        {"[{'$facet': {'a': 1}}]", 40170, NULL},
        {"[{'$facet': {'a': [{'$out': 'x'}]}}]", 40600, NULL},
        {"[{'$facet': {'a': [{'$facet': {'b': []}}]}}]", 40600, NULL},
        {"[{'$unionWith': {}}]", 9, NULL},
        {"[{'$sample': {}}]", 28749, NULL},
        {"[{'$sample': {'size': -1}}]", 28747, NULL},
        {"[{'$documents': 5}]", 5858203, NULL},
        {"[{'$set': {'x': {'$divide': ['$a', 0]}}}]", 2, "divide"},
    };
    RUN_PIPELINE_ERRORS(cases);
}

static void test_query_pipeline__features_name_every_stage_once(void **state)
{
    (void)state;
    const ash_feature *all = ash__pipeline_features();
    for (const ash_feature *f = all; f->name != NULL; f++) {
        assert_int_equal(f->name[0], '$');
        for (const ash_feature *g = all; g != f; g++)
            assert_string_not_equal(f->name, g->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_pipeline__lookup),
        cmocka_unit_test(test_query_pipeline__lookup_asks_by_equality),
        cmocka_unit_test(test_query_pipeline__lookup_asks_by_variable),
        cmocka_unit_test(test_query_pipeline__lookup_of_documents_asks_nothing),
        cmocka_unit_test(test_query_pipeline__graph_lookup),
        cmocka_unit_test(test_query_pipeline__head),
        cmocka_unit_test(test_query_pipeline__change_stream_head),
        cmocka_unit_test(test_query_pipeline__writes),
        cmocka_unit_test(test_query_pipeline__errors),
        cmocka_unit_test(test_query_pipeline__features_name_every_stage_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
