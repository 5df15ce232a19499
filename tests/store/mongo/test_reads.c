/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

static void test_mongo_reads__find_sends_its_options_and_walks_batches(void **state)
{
    struct rig r;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t *filter = mock_json("{'files_id': 7}"), *sort = mock_json("{'n': 1}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r,
                     "{'find': 'c', '$db': 'test', 'filter': {'files_id': 7}, 'sort': {'n': 1}, "
                     "'skip': 2, 'batchSize': 2, 'limit': '$none', 'maxTimeMS': '$none'}",
                     "first", 99, "{'n': 0}, {'n': 1}");
    rig_expect_batch(&r, "{'getMore': 99, 'collection': 'c', 'batchSize': 2}", "next", 0,
                     "{'n': 2}");
    opts.sort = sort;
    opts.skip = 2;
    opts.batch_size = 2;
    assert_ok(ash_collection_find(r.c, filter, &opts, &cursor, &r.err), &r.err);
    for (int64_t n = 0; n < 3; n++) {
        assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
        assert_int_equal(field_of(doc, "n"), n);
    }
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_null(doc.data);
    ash_cursor_free(cursor);
    rig_finish(&r);
    bson_destroy(sort);
    bson_destroy(filter);
}

static void test_mongo_reads__a_batch_outlives_the_drivers_documents(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c'}", "first", 5, "{'n': 0}, {'n': 1}");
    rig_expect_batch(&r, "{'getMore': 5}", "next", 0, "{'n': 2}, {'n': 3}");
    assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next_batch(cursor, 3, 0, &batch, &r.err), &r.err);
    assert_int_equal(batch.count, 3);
    assert_false(batch.exhausted);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(field_of(batch.docs[i], "n"), i);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &r.err), &r.err);
    assert_int_equal(batch.count, 1);
    assert_int_equal(field_of(batch.docs[0], "n"), 3);
    assert_true(batch.exhausted);
    ash_cursor_free(cursor);
    rig_finish(&r);
}

static void test_mongo_reads__a_cursor_left_early_is_killed(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c'}", "first", 6, "{'n': 0}");
    mock_expect(r.m, "{'killCursors': 'c', 'cursors': [6]}", "{'ok': 1, 'cursorsKilled': [6]}");
    assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next_batch(cursor, 1, 0, &batch, &r.err), &r.err);
    assert_int_equal(batch.count, 1);
    ash_cursor_free(cursor);
    rig_finish(&r);
}

static void test_mongo_reads__an_ended_cursor_gives_its_connection_back(void **state)
{
    struct rig r;
    ash_cursor *first = NULL, *second = NULL;
    ash_doc doc;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "maxPoolSize=1&waitQueueTimeoutMS=200", NULL);
    rig_expect_batch(&r, "{'find': 'c'}", "first", 0, "{'n': 1}");
    rig_expect_batch(&r, "{'find': 'c'}", "first", 0, "{'n': 1}");
    assert_ok(ash_collection_find(r.c, NULL, NULL, &first, &r.err), &r.err);
    assert_int_equal(ash_collection_find(r.c, NULL, NULL, &second, &r.err), ASH_ETIMEOUT);
    while (ash_cursor_next(first, &doc, &r.err) == 0 && doc.data != NULL) {
    }
    assert_ok(ash_collection_find(r.c, NULL, NULL, &second, &r.err), &r.err);
    ash_cursor_free(first);
    ash_cursor_free(second);
    rig_finish(&r);
}

static void test_mongo_reads__a_tailable_cursor_waits_and_goes_on(void **state)
{
    struct rig r;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c', 'tailable': true, 'awaitData': true, 'maxTimeMS': '$none'}",
                     "first", 8, "{'n': 1}");
    rig_expect_batch(&r, "{'getMore': 8, 'maxTimeMS': 250}", "next", 8, "");
    rig_expect_batch(&r, "{'getMore': 8, 'maxTimeMS': 250}", "next", 8, "{'n': 2}");
    opts.tailable = opts.await_data = true;
    opts.max_await_ms = 250;
    assert_ok(ash_collection_find(r.c, NULL, &opts, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_int_equal(field_of(doc, "n"), 1);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_null(doc.data);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_int_equal(field_of(doc, "n"), 2);
    ash_cursor_free(cursor);
    rig_finish(&r);
}

static void test_mongo_reads__counts_and_distinct_values(void **state)
{
    struct rig r;
    ash_count_options opts = ASH_COUNT_OPTIONS_INIT;
    int64_t count = 0;
    bson_t values, *filter = mock_json("{'a': 1}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r,
                     "{'aggregate': 'c', 'pipeline': [{'$match': {'a': 1}}, {'$skip': 1}, "
                     "{'$limit': 9}, {'$group': {'n': {'$sum': 1}}}]}",
                     "first", 0, "{'n': 4}");
    mock_expect(r.m, "{'distinct': 'c', 'key': 'filename', 'query': {'a': 1}}",
                "{'ok': 1, 'values': ['x', 'y']}");
    opts.skip = 1;
    opts.limit = 9;
    assert_ok(ash_collection_count(r.c, filter, &opts, &count, &r.err), &r.err);
    assert_int_equal(count, 4);
    assert_ok(ash_collection_distinct(r.c, "filename", filter, NULL, NULL, &values, &r.err),
              &r.err);
    assert_json(&values, "{'values': ['x', 'y']}");
    bson_destroy(&values);
    rig_finish(&r);
    bson_destroy(filter);
}

static void test_mongo_reads__merge_is_done_when_aggregate_returns(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    bson_t *stages = mock_json("{'0': {'$merge': {'into': 'd'}}}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m,
                "{'aggregate': 'c', 'pipeline': [{'$merge': {'into': 'd'}}], 'writeConcern': {'w': "
                "'majority', 'j': true}}",
                "{'ok': 0, 'code': 13, 'errmsg': 'not authorized'}");
    assert_int_equal(ash_collection_aggregate(r.c, stages, NULL, &cursor, &r.err), ASH_EACCES);
    assert_null(cursor);
    rig_finish(&r);
    bson_destroy(stages);
}

static void test_mongo_reads__find_one_copies(void **state)
{
    struct rig r;
    bson_t doc;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c', 'limit': 1}", "first", 0, "{'_id': 1}");
    rig_expect_batch(&r, "{'find': 'c', 'limit': 1}", "first", 0, "");
    assert_ok(ash_collection_find_one(r.c, NULL, NULL, &doc, &r.err), &r.err);
    assert_json(&doc, "{'_id': 1}");
    bson_destroy(&doc);
    assert_int_equal(ash_collection_find_one(r.c, NULL, NULL, &doc, &r.err), ASH_ENOTFOUND);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_reads__find_sends_its_options_and_walks_batches),
        cmocka_unit_test(test_mongo_reads__a_batch_outlives_the_drivers_documents),
        cmocka_unit_test(test_mongo_reads__a_cursor_left_early_is_killed),
        cmocka_unit_test(test_mongo_reads__an_ended_cursor_gives_its_connection_back),
        cmocka_unit_test(test_mongo_reads__a_tailable_cursor_waits_and_goes_on),
        cmocka_unit_test(test_mongo_reads__counts_and_distinct_values),
        cmocka_unit_test(test_mongo_reads__merge_is_done_when_aggregate_returns),
        cmocka_unit_test(test_mongo_reads__find_one_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
