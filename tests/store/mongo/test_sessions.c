/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Transactions and change streams. */

struct both {
    struct rig *r;
    int runs;
    int fail_with;
};

static int insert_two(ash_transaction *t, void *ctx, ash_error *err)
{
    struct both *b = ctx;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    int result;
    opts.op.transaction = t;
    b->runs++;
    result = rig_insert(b->r, &opts, NULL, "{'_id': 1}", NULL);
    if (result == 0)
        result = rig_insert(b->r, &opts, NULL, "{'_id': 2}", NULL);
    if (result != 0) {
        *err = b->r->err;
        return result;
    }
    if (b->fail_with != 0)
        *err = (ash_error){.code = b->fail_with, .text = "second thoughts"};
    return b->fail_with;
}

#define FIRST                                                                                      \
    "{'insert': 'c', 'startTransaction': true, 'autocommit': false, 'readConcern': {'level': "     \
    "'snapshot'}, 'writeConcern': '$none'}"
#define SECOND "{'insert': 'c', 'startTransaction': '$none', 'autocommit': false}"

static void test_mongo_sessions__a_transaction_commits_as_one(void **state)
{
    struct rig r;
    struct both b = {.r = &r};
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    assert_ok(ash_store_capabilities(r.store, &can, &r.err), &r.err);
    assert_true(can.transactions && can.watch);
    assert_string_equal(can.backend, "mongodb");
    mock_expect(r.m, FIRST, "{'ok': 1, 'n': 1}");
    mock_expect(r.m, SECOND, "{'ok': 1, 'n': 1}");
    mock_expect(r.m,
                "{'commitTransaction': 1, 'autocommit': false, 'writeConcern': {'w': 'majority', "
                "'j': true}}",
                "{'ok': 1}");
    assert_ok(ash_store_transact(r.store, insert_two, &b, NULL, &r.err), &r.err);
    assert_int_equal(b.runs, 1);
    rig_finish(&r);
}

static void test_mongo_sessions__a_callback_that_fails_aborts(void **state)
{
    struct rig r;
    struct both b = {.r = &r, .fail_with = ASH_ECONDITION};
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    mock_expect(r.m, FIRST, "{'ok': 1, 'n': 1}");
    mock_expect(r.m, SECOND, "{'ok': 1, 'n': 1}");
    mock_expect(r.m, "{'abortTransaction': 1}", "{'ok': 1}");
    assert_int_equal(ash_store_transact(r.store, insert_two, &b, NULL, &r.err), ASH_ECONDITION);
    assert_string_equal(r.err.text, "second thoughts");
    assert_int_equal(b.runs, 1);
    rig_finish(&r);
}

static void test_mongo_sessions__a_transient_conflict_runs_the_callback_again(void **state)
{
    struct rig r;
    struct both b = {.r = &r};
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    mock_expect(r.m, FIRST,
                "{'ok': 0, 'code': 112, 'codeName': 'WriteConflict', 'errmsg': 'conflict', "
                "'errorLabels': ['TransientTransactionError']}");
    mock_expect(r.m, "{'abortTransaction': 1}", "{'ok': 1}");
    mock_expect(r.m, FIRST, "{'ok': 1, 'n': 1}");
    mock_expect(r.m, SECOND, "{'ok': 1, 'n': 1}");
    mock_expect(r.m, "{'commitTransaction': 1}", "{'ok': 1}");
    assert_ok(ash_store_transact(r.store, insert_two, &b, NULL, &r.err), &r.err);
    assert_int_equal(b.runs, 2);
    rig_finish(&r);
}

static void test_mongo_sessions__a_lasting_failure_is_not_tried_again(void **state)
{
    struct rig r;
    struct both b = {.r = &r};
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    mock_expect(r.m, FIRST,
                "{'ok': 1, 'n': 0, 'writeErrors': [{'index': 0, 'code': 11000, 'errmsg': 'dup'}]}");
    mock_expect(r.m, "{'abortTransaction': 1}", "{'ok': 1}");
    assert_int_equal(ash_store_transact(r.store, insert_two, &b, NULL, &r.err), ASH_EEXISTS);
    assert_int_equal(r.err.server_code, 11000);
    assert_int_equal(b.runs, 1);
    rig_finish(&r);
}

static void test_mongo_sessions__a_standalone_has_no_transactions(void **state)
{
    struct rig r;
    struct both b = {.r = &r};
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    assert_ok(ash_store_capabilities(r.store, &can, &r.err), &r.err);
    assert_false(can.transactions || can.watch);
    assert_int_equal(ash_store_transact(r.store, insert_two, &b, NULL, &r.err), ASH_EUNSUPPORTED);
    assert_int_equal(b.runs, 0);
    rig_finish(&r);
}

static void test_mongo_sessions__a_watch_gives_events_and_where_to_go_on(void **state)
{
    struct rig r;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    bson_t *token = mock_json("{'_data': 'aa'}");
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    mock_expect(r.m,
                "{'aggregate': 'c', 'pipeline': [{'$changeStream': {'resumeAfter': {'_data': "
                "'aa'}, 'fullDocument': 'updateLookup'}}]}",
                "{'ok': 1, 'cursor': {'id': {'$numberLong': '7'}, 'ns': 'test.c', 'firstBatch': "
                "[], 'postBatchResumeToken': {'_data': 'ab'}}}");
    mock_expect(r.m, "{'getMore': 7, 'maxTimeMS': 50}",
                "{'ok': 1, 'cursor': {'id': {'$numberLong': '7'}, 'ns': 'test.c', 'nextBatch': [], "
                "'postBatchResumeToken': {'_data': 'ac'}}}");
    mock_expect(r.m, "{'getMore': 7, 'maxTimeMS': 50}",
                "{'ok': 1, 'cursor': {'id': {'$numberLong': '7'}, 'ns': 'test.c', 'nextBatch': "
                "[{'_id': {'_data': 'ad'}, 'n': 3}], 'postBatchResumeToken': {'_data': 'ae'}}}");
    opts.resume_after = token;
    opts.full_document = "updateLookup";
    opts.max_await_ms = 50;
    assert_ok(ash_store_watch(r.store, "test", "c", &opts, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &r.err), &r.err);
    assert_int_equal(batch.count, 0);
    assert_false(batch.exhausted);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &r.err), &r.err);
    assert_int_equal(batch.count, 1);
    assert_int_equal(field_of(batch.docs[0], "n"), 3);
    bson_t after;
    assert_true(bson_init_static(&after, batch.resume_token.data, batch.resume_token.len));
    assert_json(&after, "{'_data': 'ae'}");
    ash_cursor_free(cursor);
    rig_finish(&r);
    bson_destroy(token);
}

static void test_mongo_sessions__a_watch_ends_with_its_collection(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    rig_expect_batch(&r, "{'aggregate': 'c'}", "first", 7, "");
    rig_expect_batch(&r, "{'getMore': 7}", "next", 0,
                     "{'_id': {'_data': 'aa'}, 'operationType': 'invalidate', 'n': 1}");
    assert_ok(ash_store_watch(r.store, "test", "c", NULL, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &r.err), &r.err);
    assert_int_equal(batch.count, 1);
    assert_int_equal(field_of(batch.docs[0], "n"), 1);
    for (int i = 0; i < 2; i++) {
        assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &r.err), &r.err);
        assert_int_equal(batch.count, 0);
        assert_true(batch.exhausted);
    }
    ash_cursor_free(cursor);
    rig_finish(&r);
}

static void test_mongo_sessions__watching_a_standalone_is_unsupported(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m,
                "{'aggregate': 1, '$db': 'admin', 'pipeline': [{'$changeStream': "
                "{'allChangesForCluster': true}}]}",
                "{'ok': 0, 'code': 40573, 'errmsg': 'only on replica sets'}");
    assert_int_equal(ash_store_watch(r.store, NULL, NULL, NULL, &cursor, &r.err), ASH_EUNSUPPORTED);
    assert_null(cursor);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_sessions__a_transaction_commits_as_one),
        cmocka_unit_test(test_mongo_sessions__a_callback_that_fails_aborts),
        cmocka_unit_test(test_mongo_sessions__a_transient_conflict_runs_the_callback_again),
        cmocka_unit_test(test_mongo_sessions__a_lasting_failure_is_not_tried_again),
        cmocka_unit_test(test_mongo_sessions__a_standalone_has_no_transactions),
        cmocka_unit_test(test_mongo_sessions__a_watch_gives_events_and_where_to_go_on),
        cmocka_unit_test(test_mongo_sessions__a_watch_ends_with_its_collection),
        cmocka_unit_test(test_mongo_sessions__watching_a_standalone_is_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
