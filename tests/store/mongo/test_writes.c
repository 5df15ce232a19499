/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

static void test_mongo_writes__insert_names_the_documents_that_failed(void **state)
{
    struct rig r;
    ash_write_result result;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    ash_write_result_init(&result);
    opts.unordered = true;
    mock_expect(r.m,
                "{'insert': 'c', '$db': 'test', 'ordered': false, 'documents': [{'_id': 1}, "
                "{'_id': 2}, {'_id': 1}], 'writeConcern': {'w': 'majority', 'j': true}}",
                "{'ok': 1, 'n': 2, 'writeErrors': [{'index': 2, 'code': 11000, 'errmsg': 'dup', "
                "'keyPattern': {'_id': 1}, 'keyValue': {'_id': 1}}]}");
    assert_int_equal(rig_insert(&r, &opts, &result, "{'_id': 1}", "{'_id': 2}", "{'_id': 1}", NULL),
                     ASH_EEXISTS);
    assert_int_equal(r.err.server_code, 11000);
    assert_int_equal(result.inserted, 2);
    assert_int_equal(result.error_count, 1);
    assert_json(&result.errors, "{'0': {'index': 2, 'code': 11000, 'errmsg': 'dup', "
                                "'keyPattern': {'_id': 1}, 'keyValue': {'_id': 1}}}");
    ash_write_result_release(&result);
    rig_finish(&r);
}

static void test_mongo_writes__an_insert_without_id_gets_one_first(void **state)
{
    struct rig r;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m, "{'insert': 'c', 'documents': [{'_id': '$any', 'a': 1}]}",
                "{'ok': 1, 'n': 1}");
    assert_ok(rig_insert(&r, NULL, NULL, "{'a': 1}", NULL), &r.err);
    rig_finish(&r);
}

static void test_mongo_writes__large_inserts_are_split_below_48_megabytes(void **state)
{
    enum { DOCS = 5, BYTES = 12 * 1024 * 1024 };
    struct rig r;
    ash_doc docs[DOCS];
    ash_write_result result;
    bson_t doc = BSON_INITIALIZER;
    uint8_t *filler = calloc(1, BYTES);
    (void)state;
    BSON_APPEND_INT32(&doc, "_id", 1);
    BSON_APPEND_BINARY(&doc, "data", BSON_SUBTYPE_BINARY, filler, BYTES);
    for (int i = 0; i < DOCS; i++)
        docs[i] = (ash_doc){bson_get_data(&doc), doc.len};
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    ash_write_result_init(&result);
    mock_expect(r.m, "{'insert': 'c', 'documents': ['$any', '$any', '$any']}", "{'ok': 1, 'n': 3}");
    mock_expect(r.m, "{'insert': 'c', 'documents': ['$any', '$any']}", "{'ok': 1, 'n': 2}");
    assert_ok(ash_collection_insert(r.c, docs, DOCS, NULL, &result, &r.err), &r.err);
    assert_int_equal(result.inserted, DOCS);
    assert_true(mock_last_bytes(r.m) > 2 * BYTES);
    ash_write_result_release(&result);
    rig_finish(&r);
    bson_destroy(&doc);
    free(filler);
}

/* What is sent for {w, j} depends on the collection, the store's durability and the operation's. */
static void one_insert(enum mock_kind kind, const char *options, ash_durability store,
                       ash_durability op, const char *coll, const char *expected)
{
    struct rig r;
    ash_store_options store_opts = ASH_STORE_OPTIONS_INIT;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    store_opts.durability = store;
    opts.op.durability = op;
    rig_start(&r, kind, options, &store_opts);
    ash_collection_free(r.c);
    assert_ok(ash_collection_new(r.store, NULL, coll, &r.c, &r.err), &r.err);
    mock_expect(r.m, expected, "{'ok': 1, 'n': 1}");
    assert_ok(rig_insert(&r, &opts, NULL, "{'_id': 1}", NULL), &r.err);
    rig_finish(&r);
}

static void test_mongo_writes__durability_becomes_a_write_concern(void **state)
{
    static const char none[] = "{'insert': '$any', 'writeConcern': '$none'}";
    static const char full[] = "{'insert': '$any', 'writeConcern': {'w': 'majority', 'j': true}}";
    static const char own[] = "{'insert': '$any', 'writeConcern': {'w': 2, 'j': '$none'}}";
    (void)state;
    one_insert(MOCK_STANDALONE, "", 0, 0, "fs.files", full);
    one_insert(MOCK_STANDALONE, "", 0, 0, "fs.chunks", none);
    one_insert(MOCK_STANDALONE, "", 0, ASH_DURABILITY_EVERY, "fs.chunks", full);
    one_insert(MOCK_STANDALONE, "", ASH_DURABILITY_EVERY, 0, "fs.chunks", full);
    one_insert(MOCK_STANDALONE, "", ASH_DURABILITY_INTERVAL, 0, "fs.files", none);
    one_insert(MOCK_STANDALONE, "w=2", 0, 0, "fs.files", own);
    one_insert(MOCK_STANDALONE, "w=2", 0, ASH_DURABILITY_EVERY, "fs.files", full);
}

static void test_mongo_writes__updates_are_told_apart(void **state)
{
    struct rig r;
    ash_write_result result;
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    bson_t *set, *replacement, *filter = mock_json("{'a': 1}");
    bson_value_t update;
    (void)state;
    set = mock_json("{'$set': {'b': 2}}");
    replacement = mock_json("{'b': 3}");
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    ash_write_result_init(&result);
    mock_expect(r.m,
                "{'update': 'c', 'updates': [{'q': {'a': 1}, 'u': {'$set': {'b': 2}}, "
                "'multi': true}]}",
                "{'ok': 1, 'n': 5, 'nModified': 4}");
    opts.multi = true;
    update = doc_value(set);
    assert_ok(ash_collection_update(r.c, filter, &update, &opts, &result, &r.err), &r.err);
    assert_int_equal(result.matched, 5);
    assert_int_equal(result.modified, 4);
    assert_false(result.upserted);
    ash_write_result_release(&result);

    ash_write_result_init(&result);
    mock_expect(r.m,
                "{'update': 'c', 'updates': [{'q': {'a': 1}, 'u': {'b': 3}, 'upsert': true, "
                "'hint': 'a_1'}]}",
                "{'ok': 1, 'n': 1, 'nModified': 0, 'upserted': [{'index': 0, '_id': 42}]}");
    opts.multi = false;
    opts.upsert = true;
    bson_value_t hint = {.value_type = BSON_TYPE_UTF8};
    static char name[] = "a_1";
    hint.value.v_utf8.str = name;
    hint.value.v_utf8.len = 3;
    opts.hint = &hint;
    update = doc_value(replacement);
    assert_ok(ash_collection_update(r.c, filter, &update, &opts, &result, &r.err), &r.err);
    assert_int_equal(result.matched, 0);
    assert_true(result.upserted);
    assert_json(&result.upserted_id, "{'_id': 42}");
    ash_write_result_release(&result);
    rig_finish(&r);
    bson_destroy(set);
    bson_destroy(replacement);
    bson_destroy(filter);
}

static void test_mongo_writes__a_pipeline_update_stays_an_array(void **state)
{
    struct rig r;
    bson_t *stages = mock_json("{'0': {'$set': {'b': '$a'}}}");
    bson_value_t update = doc_value(stages);
    (void)state;
    update.value_type = BSON_TYPE_ARRAY;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m, "{'update': 'c', 'updates': [{'u': [{'$set': {'b': '$a'}}]}]}",
                "{'ok': 1, 'n': 1, 'nModified': 1}");
    assert_ok(ash_collection_update(r.c, NULL, &update, NULL, NULL, &r.err), &r.err);
    rig_finish(&r);
    bson_destroy(stages);
}

static void test_mongo_writes__remove_one_or_all(void **state)
{
    struct rig r;
    ash_write_result result;
    ash_remove_options opts = ASH_REMOVE_OPTIONS_INIT;
    bson_t *filter = mock_json("{'a': 1}");
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    ash_write_result_init(&result);
    mock_expect(r.m, "{'delete': 'c', 'deletes': [{'q': {'a': 1}, 'limit': 1}]}",
                "{'ok': 1, 'n': 1}");
    mock_expect(r.m, "{'delete': 'c', 'deletes': [{'q': {'a': 1}, 'limit': 0}]}",
                "{'ok': 1, 'n': 7}");
    opts.just_one = true;
    assert_ok(ash_collection_remove(r.c, filter, &opts, &result, &r.err), &r.err);
    opts.just_one = false;
    assert_ok(ash_collection_remove(r.c, filter, &opts, &result, &r.err), &r.err);
    assert_int_equal(result.deleted, 8);
    ash_write_result_release(&result);
    rig_finish(&r);
    bson_destroy(filter);
}

static void test_mongo_writes__find_and_modify_gives_before_or_after(void **state)
{
    struct rig r;
    ash_write_result result;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t *filter = mock_json("{'_id': 1}"), *set = mock_json("{'$inc': {'n': 1}}");
    bson_t *sort = mock_json("{'n': -1}"), value;
    bson_value_t update = doc_value(set);
    bool found = false;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    opts.update = &update;
    opts.return_new = opts.upsert = true;
    opts.sort = sort;
    ash_write_result_init(&result);
    mock_expect(r.m,
                "{'findAndModify': 'c', 'query': {'_id': 1}, 'update': {'$inc': {'n': 1}}, 'new': "
                "true, 'upsert': true, 'sort': {'n': -1}, 'remove': '$none', "
                "'writeConcern': {'w': 'majority', 'j': true}}",
                "{'ok': 1, 'value': {'_id': 1, 'n': 1}, 'lastErrorObject': {'n': 1, "
                "'updatedExisting': false, 'upserted': 1}}");
    assert_ok(ash_collection_find_and_modify(r.c, filter, &opts, &value, &found, &result, &r.err),
              &r.err);
    assert_true(found);
    assert_json(&value, "{'_id': 1, 'n': 1}");
    assert_json(&result.upserted_id, "{'_id': 1}");
    bson_destroy(&value);
    ash_write_result_release(&result);

    ash_write_result_init(&result);
    mock_expect(r.m, "{'findAndModify': 'c', 'remove': true, 'update': '$none'}",
                "{'ok': 1, 'value': null, 'lastErrorObject': {'n': 0}}");
    opts = (ash_find_and_modify_options)ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    opts.remove = true;
    assert_ok(ash_collection_find_and_modify(r.c, filter, &opts, &value, &found, &result, &r.err),
              &r.err);
    assert_false(found);
    assert_true(bson_empty(&value));
    assert_int_equal(result.deleted, 0);
    bson_destroy(&value);
    ash_write_result_release(&result);
    rig_finish(&r);
    bson_destroy(sort);
    bson_destroy(set);
    bson_destroy(filter);
}

static void test_mongo_writes__a_duplicate_of_find_and_modify_has_its_key(void **state)
{
    struct rig r;
    ash_write_result result;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t *set = mock_json("{'$set': {'n': 1}}"), value;
    bson_value_t update = doc_value(set);
    bool found;
    (void)state;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    opts.update = &update;
    opts.upsert = true;
    ash_write_result_init(&result);
    mock_expect(r.m, "{'findAndModify': 'c'}",
                "{'ok': 0, 'code': 11000, 'codeName': 'DuplicateKey', 'errmsg': 'dup', "
                "'keyPattern': {'n': 1}, 'keyValue': {'n': 1}}");
    assert_int_equal(
        ash_collection_find_and_modify(r.c, NULL, &opts, &value, &found, &result, &r.err),
        ASH_EEXISTS);
    assert_json(&result.errors, "{'0': {'index': 0, 'code': 11000, 'errmsg': 'dup', "
                                "'keyPattern': {'n': 1}, 'keyValue': {'n': 1}}}");
    ash_write_result_release(&result);
    rig_finish(&r);
    bson_destroy(set);
}

static void test_mongo_writes__deadlines_stand_where_servers_look(void **state)
{
    struct rig r;
    bson_t *set = mock_json("{'$set': {'n': 1}}");
    bson_value_t update = doc_value(set);
    ash_update_options u = ASH_UPDATE_OPTIONS_INIT;
    ash_remove_options d = ASH_REMOVE_OPTIONS_INIT;
    ash_find_and_modify_options m = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    (void)state;
    u.op.deadline_ms = d.op.deadline_ms = m.op.deadline_ms = ash_deadline(20000);
    m.remove = true;
    rig_start(&r, MOCK_STANDALONE, "", NULL);
    mock_expect(r.m,
                "{'update': 'c', 'updates': [{'q': {}, 'maxTimeMS': '$none', 'validate': '$none', "
                "'sessionId': '$none'}]}",
                "{'ok': 1, 'n': 0, 'nModified': 0}");
    mock_expect(
        r.m, "{'delete': 'c', 'maxTimeMS': '$any', 'deletes': [{'q': {}, 'maxTimeMS': '$none'}]}",
        "{'ok': 1, 'n': 0}");
    mock_expect(r.m, "{'findAndModify': 'c', 'maxTimeMS': '$any'}",
                "{'ok': 1, 'value': null, 'lastErrorObject': {'n': 0}}");
    assert_ok(ash_collection_update(r.c, NULL, &update, &u, NULL, &r.err), &r.err);
    assert_ok(ash_collection_remove(r.c, NULL, &d, NULL, &r.err), &r.err);
    assert_ok(ash_collection_find_and_modify(r.c, NULL, &m, NULL, NULL, NULL, &r.err), &r.err);
    rig_finish(&r);
    bson_destroy(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mongo_writes__insert_names_the_documents_that_failed),
        cmocka_unit_test(test_mongo_writes__an_insert_without_id_gets_one_first),
        cmocka_unit_test(test_mongo_writes__large_inserts_are_split_below_48_megabytes),
        cmocka_unit_test(test_mongo_writes__durability_becomes_a_write_concern),
        cmocka_unit_test(test_mongo_writes__updates_are_told_apart),
        cmocka_unit_test(test_mongo_writes__a_pipeline_update_stays_an_array),
        cmocka_unit_test(test_mongo_writes__remove_one_or_all),
        cmocka_unit_test(test_mongo_writes__find_and_modify_gives_before_or_after),
        cmocka_unit_test(test_mongo_writes__deadlines_stand_where_servers_look),
        cmocka_unit_test(test_mongo_writes__a_duplicate_of_find_and_modify_has_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
