/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static void test_mongo_errors__an_unreachable_deployment_fails_the_open(void **state)
{
    mock *m = mock_start(MOCK_STANDALONE, NULL);
    char *uri = mock_uri(m, "serverSelectionTimeoutMS=300");
    ash_store *store = NULL;
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    mock_finish(m);
    assert_int_equal(ash_store_open(uri, NULL, &store, &err), ASH_ENETWORK);
    assert_null(store);
    bson_free(uri);
}

static void test_mongo_errors__a_refused_login_fails_the_open(void **state)
{
    mock *m = mock_start(MOCK_STANDALONE, NULL);
    char *uri = mock_uri(m, "");
    ash_store *store = NULL;
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    mock_expect(m, "{'buildInfo': 1, '$db': 'admin'}",
                "{'ok': 0, 'code': 18, 'codeName': 'AuthenticationFailed', 'errmsg': 'no'}");
    assert_int_equal(ash_store_open(uri, NULL, &store, &err), ASH_EACCES);
    assert_int_equal(err.server_code, 18);
    bson_free(uri);
    mock_finish(m);
}

static void test_mongo_errors__unacknowledged_writes_are_refused(void **state)
{
    ash_store *store = NULL;
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    assert_int_equal(ash_store_open("mongodb://127.0.0.1:1/?w=0", NULL, &store, &err), ASH_EINVAL);
    assert_int_equal(ash_store_open("mongodb://", NULL, &store, &err), ASH_EINVAL);
    assert_int_equal(ash_store_open("mongodb://127.0.0.1:1/a$b", NULL, &store, &err), ASH_EINVAL);
}

static void test_mongo_errors__codes_are_the_deployments(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    static const struct {
        const char *reply;
        int code;
        int32_t server_code;
    } cases[] = {
        {"{'ok': 0, 'code': 2, 'errmsg': 'unknown operator'}", ASH_EINVAL, 2},
        {"{'ok': 0, 'code': 13, 'errmsg': 'x'}", ASH_EACCES, 13},
        {"{'ok': 0, 'code': 50, 'errmsg': 'x'}", ASH_ETIMEOUT, 50},
        {"{'ok': 0, 'code': 292, 'errmsg': 'x'}", ASH_ENOMEM, 292},
        {"{'ok': 0, 'code': 40415, 'errmsg': 'unknown field'}", ASH_EINVAL, 40415},
        {"{'ok': 0, 'code': 8000, 'errmsg': 'x'}", ASH_EINTERNAL, 8000},
    };
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "retryReads=false", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mock_expect(r.m, "{'find': 'c'}", cases[i].reply);
        assert_int_equal(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), cases[i].code);
        assert_int_equal(r.err.server_code, cases[i].server_code);
        assert_null(cursor);
    }
    rig_finish(&r);
}

/* What a server lacks it says in its own way. */
static void test_mongo_errors__servers_that_know_less(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    static const char lacks[] = "{'ok': 0, 'code': 238, 'errmsg': 'noCursorTimeout'}";
    (void)state;
    opts.no_cursor_timeout = true;
    rig_start(&r, MOCK_STANDALONE, "retryReads=false", NULL);
    mock_expect(r.m, "{'find': 'c', 'noCursorTimeout': true}", lacks);
    rig_expect_batch(&r, "{'find': 'c', 'noCursorTimeout': '$none'}", "first", 0, "{'n': 0}");
    assert_ok(ash_collection_find(r.c, NULL, &opts, &cursor, &r.err), &r.err);
    ash_cursor_free(cursor);
    mock_expect(r.m, "{'find': 'c', 'noCursorTimeout': '$none'}", lacks);
    assert_int_equal(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), ASH_EUNSUPPORTED);
    mock_expect(r.m, "{'aggregate': 'c'}",
                "{'ok': 0, 'code': 40324, 'errmsg': 'Unrecognized stage: $changeStream'}");
    assert_int_equal(ash_store_watch(r.store, "test", "c", NULL, &cursor, &r.err),
                     ASH_EUNSUPPORTED);
    assert_int_equal(r.err.server_code, 40324);
    rig_finish(&r);
}

static void test_mongo_errors__a_cursor_that_is_gone_says_so(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c'}", "first", 5, "{'n': 0}");
    mock_expect(r.m, "{'getMore': 5}", "{'ok': 0, 'code': 43, 'errmsg': 'cursor id 5 not found'}");
    assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_int_equal(field_of(doc, "n"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ash_cursor_next(cursor, &doc, &r.err), ASH_ECURSOR);
        assert_int_equal(r.err.server_code, 43);
    }
    ash_cursor_free(cursor);
    rig_finish(&r);
}

static void test_mongo_errors__broken_documents_go_no_further(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t out;
    bool found;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c'}", "first", 0, "{'a': {'b': '$break'}}");
    assert_int_equal(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), ASH_ENETWORK);
    assert_non_null(strstr(r.err.text, "broken document"));
    mock_expect(r.m, "{'distinct': 'c'}", "{'ok': 1, 'values': [{'a': '$break'}]}");
    assert_int_equal(ash_collection_distinct(r.c, "a", NULL, NULL, NULL, &out, &r.err),
                     ASH_ENETWORK);
    mock_expect(r.m, "{'findAndModify': 'c'}",
                "{'ok': 1, 'value': {'a': {'b': '$break'}}, 'lastErrorObject': {'n': 1}}");
    opts.remove = true;
    assert_int_equal(ash_collection_find_and_modify(r.c, NULL, &opts, &out, &found, NULL, &r.err),
                     ASH_ENETWORK);
    rig_finish(&r);
}

static void test_mongo_errors__a_cut_connection_is_a_network_error(void **state)
{
    struct rig r;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect_cut(r.m, "{'insert': 'c'}");
    mock_expect(r.m, "{'insert': 'c'}", "{'ok': 1, 'n': 1}");
    assert_int_equal(rig_insert(&r, NULL, NULL, "{'_id': 1}", NULL), ASH_ENETWORK);
    assert_ok(rig_insert(&r, NULL, NULL, "{'_id': 1}", NULL), &r.err);
    rig_finish(&r);
}

static void test_mongo_errors__a_retryable_write_is_sent_twice_as_one(void **state)
{
    struct rig r;
    static const char command[] = "{'insert': 'c', 'txnNumber': 1, 'lsid': '$any'}";
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    mock_expect_cut(r.m, command);
    mock_expect(r.m, command, "{'ok': 1, 'n': 1}");
    assert_ok(rig_insert(&r, NULL, NULL, "{'_id': 1}", NULL), &r.err);
    rig_finish(&r);
}

static void test_mongo_errors__a_labelled_write_is_retried_once(void **state)
{
    struct rig r;
    static const char step_down[] = "{'ok': 0, 'code': 10107, 'codeName': 'NotWritablePrimary', "
                                    "'errmsg': 'not primary', 'errorLabels': "
                                    "['RetryableWriteError']}";
    (void)state;
    rig_start(&r, MOCK_REPLICA_SET, "replicaSet=rs", NULL);
    mock_expect(r.m, "{'insert': 'c', 'txnNumber': 1}", step_down);
    mock_expect(r.m, "{'insert': 'c', 'txnNumber': 1}", "{'ok': 1, 'n': 1}");
    mock_expect(r.m, "{'insert': 'c', 'txnNumber': 2}", step_down);
    mock_expect(r.m, "{'insert': 'c', 'txnNumber': 2}", step_down);
    assert_ok(rig_insert(&r, NULL, NULL, "{'_id': 1}", NULL), &r.err);
    assert_int_equal(rig_insert(&r, NULL, NULL, "{'_id': 2}", NULL), ASH_ENETWORK);
    assert_int_equal(r.err.server_code, 10107);
    rig_finish(&r);
}

static void test_mongo_errors__written_but_not_replicated_is_told_apart(void **state)
{
    struct rig r;
    ash_write_result result;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    ash_write_result_init(&result);
    mock_expect(r.m, "{'insert': 'c'}",
                "{'ok': 1, 'n': 1, 'writeConcernError': {'code': 64, 'codeName': "
                "'WriteConcernFailed', 'errmsg': 'waiting for replication timed out'}}");
    assert_int_equal(rig_insert(&r, NULL, &result, "{'_id': 1}", NULL), ASH_ETIMEOUT);
    assert_int_equal(r.err.server_code, 64);
    assert_int_equal(result.inserted, 1);
    assert_int_equal(result.error_count, 0);
    assert_non_null(strstr(r.err.text, "applied, but not acknowledged"));
    ash_write_result_release(&result);
    rig_finish(&r);
}

static void test_mongo_errors__a_silent_deployment_is_given_up_at_the_deadline(void **state)
{
    struct rig r;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    int64_t start;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect_silence(r.m, "{'insert': 'c', 'maxTimeMS': '$any'}", 1500);
    start = ash_deadline(1);
    opts.op.deadline_ms = ash_deadline(150);
    assert_int_equal(rig_insert(&r, &opts, NULL, "{'_id': 1}", NULL), ASH_ETIMEOUT);
    assert_true(ash_deadline(1) - start < 1000);
    rig_finish(&r);
}

static void *set_flag(void *flag)
{
    struct timespec wait = {.tv_nsec = 100000000};
    nanosleep(&wait, NULL);
    __atomic_store_n((volatile int *)flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void test_mongo_errors__a_cancelled_wait_ends_and_the_cursor_says_so(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    volatile int cancel = 0;
    pthread_t thread;
    int64_t start;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c'}", "first", 5, "{'n': 0}");
    mock_expect_silence(r.m, "{'getMore': 5}", 1500);
    assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
    ash_cursor_set_op(cursor, 0, &cancel, -1);
    assert_int_equal(pthread_create(&thread, NULL, set_flag, (void *)(uintptr_t)&cancel), 0);
    start = ash_deadline(1);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_int_equal(field_of(doc, "n"), 0);
    assert_int_equal(ash_cursor_next(cursor, &doc, &r.err), ASH_EINTERRUPTED);
    assert_true(ash_deadline(1) - start < 1000);
    pthread_join(thread, NULL);
    ash_cursor_free(cursor);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_errors__an_unreachable_deployment_fails_the_open),
        cmocka_unit_test(test_mongo_errors__a_refused_login_fails_the_open),
        cmocka_unit_test(test_mongo_errors__unacknowledged_writes_are_refused),
        cmocka_unit_test(test_mongo_errors__codes_are_the_deployments),
        cmocka_unit_test(test_mongo_errors__servers_that_know_less),
        cmocka_unit_test(test_mongo_errors__a_cursor_that_is_gone_says_so),
        cmocka_unit_test(test_mongo_errors__broken_documents_go_no_further),
        cmocka_unit_test(test_mongo_errors__a_cut_connection_is_a_network_error),
        cmocka_unit_test(test_mongo_errors__a_retryable_write_is_sent_twice_as_one),
        cmocka_unit_test(test_mongo_errors__a_labelled_write_is_retried_once),
        cmocka_unit_test(test_mongo_errors__written_but_not_replicated_is_told_apart),
        cmocka_unit_test(test_mongo_errors__a_silent_deployment_is_given_up_at_the_deadline),
        cmocka_unit_test(test_mongo_errors__a_cancelled_wait_ends_and_the_cursor_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
