/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

static void test_mongo_concern__reads_carry_the_operations_own(void **state)
{
    struct rig r;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t *concern = mock_json("{'level': 'majority'}");
    bson_t *preference = mock_json("{'mode': 'secondaryPreferred'}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'find': 'c', 'readConcern': {'level': 'majority'}}", "first", 0, "");
    opts.op.read_concern = concern;
    opts.op.read_preference = preference;
    assert_ok(ash_collection_find(r.c, NULL, &opts, &cursor, &r.err), &r.err);
    ash_cursor_free(cursor);
    rig_expect_batch(&r, "{'find': 'c', 'readConcern': '$none'}", "first", 0, "");
    assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
    ash_cursor_free(cursor);
    rig_finish(&r);
    bson_destroy(concern);
    bson_destroy(preference);
}

static void test_mongo_concern__unknown_preferences_are_refused(void **state)
{
    static const char *const bad[] = {"{'mode': 'elsewhere'}", "{'mode': 1}", "{}",
                                      "{'mode': 'primary', 'tags': [{'a': 'b'}]}"};
    struct rig r;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ash_find_options opts = ASH_FIND_OPTIONS_INIT;
        ash_cursor *cursor = NULL;
        bson_t *preference = mock_json(bad[i]);
        opts.op.read_preference = preference;
        assert_int_equal(ash_collection_find(r.c, NULL, &opts, &cursor, &r.err), ASH_EINVAL);
        bson_destroy(preference);
    }
    rig_finish(&r);
}

static void test_mongo_concern__writes_carry_the_operations_own(void **state)
{
    struct rig r;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    bson_t *concern = mock_json("{'w': 2, 'wtimeout': 500}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m, "{'insert': 'c', 'writeConcern': {'w': 2, 'wtimeout': 500}}",
                "{'ok': 1, 'n': 1}");
    opts.op.write_concern = concern;
    assert_ok(rig_insert(&r, &opts, NULL, "{'_id': 1}", NULL), &r.err);
    rig_finish(&r);
    bson_destroy(concern);
}

static void test_mongo_concern__no_server_limit_inside_update_and_delete_statements(void **state)
{
    struct rig r;
    ash_update_options update = ASH_UPDATE_OPTIONS_INIT;
    ash_remove_options remove = ASH_REMOVE_OPTIONS_INIT;
    bson_t *change = mock_json("{'$set': {'a': 1}}");
    bson_value_t value = doc_value(change);
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m, "{'update': 'c', 'updates': [{'q': {}, 'u': '$any', 'maxTimeMS': '$none'}]}",
                "{'ok': 1, 'n': 1, 'nModified': 1}");
    mock_expect(r.m, "{'delete': 'c', 'deletes': [{'q': {}, 'limit': 0, 'maxTimeMS': '$none'}]}",
                "{'ok': 1, 'n': 1}");
    update.op.deadline_ms = remove.op.deadline_ms = ash_deadline(60000);
    assert_ok(ash_collection_update(r.c, NULL, &value, &update, NULL, &r.err), &r.err);
    assert_ok(ash_collection_remove(r.c, NULL, &remove, NULL, &r.err), &r.err);
    rig_finish(&r);
    bson_destroy(change);
}

static void list_with(struct rig *r)
{
    ash_cursor *cursor = NULL;
    bson_t reply;
    rig_expect_batch(r, "{'listIndexes': 'c', 'readConcern': '$none'}", "first", 0, "");
    assert_ok(ash_collection_list_indexes(r->c, NULL, &cursor, &r->err), &r->err);
    ash_cursor_free(cursor);
    rig_expect_batch(r, "{'listCollections': 1, 'readConcern': '$none'}", "first", 0, "");
    assert_ok(ash_store_list_collections(r->store, NULL, NULL, NULL, &cursor, &r->err), &r->err);
    ash_cursor_free(cursor);
    mock_expect(r->m, "{'listDatabases': 1, 'readConcern': '$none'}", "{'ok': 1, 'databases': []}");
    assert_ok(ash_store_list_databases(r->store, NULL, &reply, &r->err), &r->err);
    bson_destroy(&reply);
    mock_expect(r->m, "{'dbStats': 1, 'readConcern': '$none'}", "{'ok': 1}");
    assert_ok(ash_store_stats(r->store, "test", NULL, 1, NULL, &reply, &r->err), &r->err);
    bson_destroy(&reply);
}

/* A deployment refuses these with any other level than "local", and streams with any but
 * "majority". */
static void test_mongo_concern__of_the_uri_goes_with_reads_alone(void **state)
{
    static const char *const levels[] = {"local", "available", "majority", "linearizable",
                                         "snapshot"};
    (void)state;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        struct rig r;
        ash_cursor *cursor = NULL;
        bson_t values;
        char *option = bson_strdup_printf("readConcernLevel=%s", levels[i]);
        char *find = bson_strdup_printf("{'find': 'c', 'readConcern': {'level': '%s'}}", levels[i]);
        char *distinct =
            bson_strdup_printf("{'distinct': 'c', 'readConcern': {'level': '%s'}}", levels[i]);
        rig_start(&r, MOCK_REPLICA_SET, option, NULL);
        rig_expect_batch(&r, find, "first", 0, "");
        assert_ok(ash_collection_find(r.c, NULL, NULL, &cursor, &r.err), &r.err);
        ash_cursor_free(cursor);
        mock_expect(r.m, distinct, "{'ok': 1, 'values': []}");
        assert_ok(ash_collection_distinct(r.c, "a", NULL, NULL, NULL, &values, &r.err), &r.err);
        bson_destroy(&values);
        list_with(&r);
        rig_expect_batch(&r,
                         "{'aggregate': 'c', 'pipeline': [{'$changeStream': '$any'}], "
                         "'readConcern': {'level': 'majority'}}",
                         "first", 0, "");
        assert_ok(ash_store_watch(r.store, NULL, "c", NULL, &cursor, &r.err), &r.err);
        ash_cursor_free(cursor);
        rig_finish(&r);
        bson_free(distinct);
        bson_free(find);
        bson_free(option);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_concern__reads_carry_the_operations_own),
        cmocka_unit_test(test_mongo_concern__of_the_uri_goes_with_reads_alone),
        cmocka_unit_test(test_mongo_concern__unknown_preferences_are_refused),
        cmocka_unit_test(test_mongo_concern__writes_carry_the_operations_own),
        cmocka_unit_test(test_mongo_concern__no_server_limit_inside_update_and_delete_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
