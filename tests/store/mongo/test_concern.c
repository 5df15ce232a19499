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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_concern__reads_carry_the_operations_own),
        cmocka_unit_test(test_mongo_concern__unknown_preferences_are_refused),
        cmocka_unit_test(test_mongo_concern__writes_carry_the_operations_own),
        cmocka_unit_test(test_mongo_concern__no_server_limit_inside_update_and_delete_statements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
