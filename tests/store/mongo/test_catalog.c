/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

static void test_mongo_catalog__collections_are_made_and_dropped(void **state)
{
    struct rig r;
    bson_t *options = mock_json("{'capped': true, 'size': 4096}"), old;
    bson_t *changes = mock_json("{'index': {'name': 'a_1', 'expireAfterSeconds': 9}}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m,
                "{'create': 'c', '$db': 'test', 'capped': true, 'size': 4096, 'writeConcern': "
                "{'w': 'majority', 'j': true}}",
                "{'ok': 1}");
    assert_ok(ash_collection_create(r.c, options, NULL, &r.err), &r.err);
    mock_expect(r.m, "{'create': 'c'}", "{'ok': 0, 'code': 48, 'errmsg': 'exists'}");
    assert_int_equal(ash_collection_create(r.c, NULL, NULL, &r.err), ASH_EEXISTS);
    mock_expect(r.m, "{'collMod': 'c', 'index': {'name': 'a_1', 'expireAfterSeconds': 9}}",
                "{'ok': 1, 'expireAfterSeconds_old': 5, 'expireAfterSeconds_new': 9}");
    assert_ok(ash_collection_modify(r.c, changes, NULL, &old, &r.err), &r.err);
    assert_json(&old, "{'expireAfterSeconds_old': 5, 'expireAfterSeconds_new': 9}");
    bson_destroy(&old);
    mock_expect(r.m,
                "{'renameCollection': 'test.c', '$db': 'admin', 'to': 'other.d', 'dropTarget': "
                "true}",
                "{'ok': 1}");
    assert_ok(ash_collection_rename(r.c, "other", "d", true, NULL, &r.err), &r.err);
    mock_expect(r.m, "{'drop': 'c'}", "{'ok': 1, 'nIndexesWas': 1, 'ns': 'test.c'}");
    assert_ok(ash_collection_drop(r.c, NULL, &r.err), &r.err);
    rig_finish(&r);
    bson_destroy(changes);
    bson_destroy(options);
}

static void test_mongo_catalog__dropping_nothing_is_not_found_on_every_version(void **state)
{
    struct rig r;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m, "{'drop': 'c'}", "{'ok': 0, 'code': 26, 'errmsg': 'ns not found'}");
    mock_expect(r.m, "{'drop': 'c'}", "{'ok': 0, 'errmsg': 'ns not found'}");
    mock_expect(r.m, "{'drop': 'c'}", "{'ok': 1}");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ash_collection_drop(r.c, NULL, &r.err), ASH_ENOTFOUND);
        assert_int_equal(r.err.server_code, 26);
    }
    rig_finish(&r);
}

static void test_mongo_catalog__lists(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t *filter = mock_json("{'name': 'c'}"), databases;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    rig_expect_batch(&r, "{'listCollections': 1, '$db': 'test', 'filter': {'name': 'c'}}", "first",
                     0, "{'name': 'c', 'n': 3}");
    assert_ok(ash_store_list_collections(r.store, NULL, filter, NULL, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_int_equal(field_of(doc, "n"), 3);
    ash_cursor_free(cursor);
    mock_expect(r.m, "{'listDatabases': 1, '$db': 'admin'}",
                "{'databases': [{'name': 'x', 'sizeOnDisk': 1, 'empty': false}], 'totalSize': 1, "
                "'ok': 1, 'operationTime': {'$timestamp': {'t': 1, 'i': 1}}}");
    assert_ok(ash_store_list_databases(r.store, NULL, &databases, &r.err), &r.err);
    assert_json(&databases, "{'databases': [{'name': 'x'}], 'totalSize': 1}");
    bson_destroy(&databases);
    mock_expect(r.m, "{'dropDatabase': 1, '$db': 'test'}", "{'ok': 1}");
    assert_ok(ash_store_drop_database(r.store, NULL, NULL, &r.err), &r.err);
    rig_finish(&r);
    bson_destroy(filter);
}

static void test_mongo_catalog__indexes(void **state)
{
    struct rig r;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    bson_t *specs = mock_json("{'0': {'key': {'a': 1}, 'name': 'a_1', 'unique': true}}"), reply;
    bson_value_t all = {.value_type = BSON_TYPE_UTF8};
    static char star[] = "*";
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m,
                "{'createIndexes': 'c', 'indexes': [{'key': {'a': 1}, 'name': 'a_1', 'unique': "
                "true}]}",
                "{'numIndexesBefore': 1, 'numIndexesAfter': 2, 'ok': 1}");
    assert_ok(ash_collection_create_indexes(r.c, specs, NULL, &reply, &r.err), &r.err);
    assert_json(&reply, "{'numIndexesBefore': 1, 'numIndexesAfter': 2}");
    bson_destroy(&reply);
    rig_expect_batch(&r, "{'listIndexes': 'c'}", "first", 0, "{'v': 2}");
    assert_ok(ash_collection_list_indexes(r.c, NULL, &cursor, &r.err), &r.err);
    assert_ok(ash_cursor_next(cursor, &doc, &r.err), &r.err);
    assert_int_equal(field_of(doc, "v"), 2);
    ash_cursor_free(cursor);
    mock_expect(r.m, "{'listIndexes': 'c'}", "{'ok': 0, 'code': 26, 'errmsg': 'no ns'}");
    assert_int_equal(ash_collection_list_indexes(r.c, NULL, &cursor, &r.err), ASH_ENOTFOUND);
    mock_expect(r.m, "{'dropIndexes': 'c', 'index': '*'}",
                "{'ok': 0, 'code': 27, 'errmsg': 'no index'}");
    all.value.v_utf8.str = star;
    all.value.v_utf8.len = 1;
    assert_int_equal(ash_collection_drop_indexes(r.c, &all, NULL, &r.err), ASH_ENOTFOUND);
    assert_int_equal(r.err.server_code, 27);
    rig_finish(&r);
    bson_destroy(specs);
}

static void test_mongo_catalog__time_stats_and_flush(void **state)
{
    struct rig r;
    int64_t wall = 0;
    uint64_t newest = 0;
    bson_t stats;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m, "{'hello': 1, '$db': 'admin'}",
                "{'ok': 1, 'localTime': {'$date': {'$numberLong': '1700000000123'}}, "
                "'operationTime': {'$timestamp': {'t': 5, 'i': 2}}}");
    assert_ok(ash_store_time(r.store, &wall, &newest, &r.err), &r.err);
    assert_int_equal(wall, 1700000000123);
    assert_int_equal(newest, (uint64_t)5 << 32 | 2);
    mock_expect(r.m, "{'collStats': 'c', '$db': 'test', 'scale': 1024}", "{'ok': 1, 'count': 3}");
    assert_ok(ash_store_stats(r.store, NULL, "c", 1024, NULL, &stats, &r.err), &r.err);
    assert_json(&stats, "{'count': 3}");
    bson_destroy(&stats);
    mock_expect(
        r.m,
        "{'delete': '$any', '$db': 'test', 'deletes': [{'q': {'_id': {'$in': []}}, 'limit': "
        "1}], 'writeConcern': {'w': 'majority', 'j': true}}",
        "{'ok': 1, 'n': 0}");
    assert_ok(ash_store_flush(r.store, NULL, &r.err), &r.err);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_catalog__collections_are_made_and_dropped),
        cmocka_unit_test(test_mongo_catalog__dropping_nothing_is_not_found_on_every_version),
        cmocka_unit_test(test_mongo_catalog__lists),
        cmocka_unit_test(test_mongo_catalog__indexes),
        cmocka_unit_test(test_mongo_catalog__time_stats_and_flush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
