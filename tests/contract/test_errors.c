/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_insert(contract *t, const char *doc, int32_t code)
{
    int rc = insert_json(t, t->c, doc);
    if (rc == 0 || ash_error_server_code(&t->err) != code)
        fail_msg("%s: %d, code %d: %s", doc, rc, ash_error_server_code(&t->err), t->err.text);
}

static void test_contract_errors__ids_that_cannot_be(void **state)
{
    contract *t = *state;
    expect_insert(t, "{\"_id\":[1,2]}", 53);
    expect_insert(t, "{\"_id\":{\"$regularExpression\":{\"pattern\":\"a\",\"options\":\"\"}}}", 53);
    expect_insert(t, "{\"_id\":{\"$undefined\":true}}", 53);
    assert_true(count_json(t, t->c, "{}") == 0);
    assert_ok(insert_json(t, t->c, "{\"_id\":null}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":{\"a\":1,\"b\":[1]}}"), &t->err);
    assert_true(count_json(t, t->c, "{\"_id\":{\"a\":1,\"b\":[1]}}") == 1);
}

static void test_contract_errors__duplicate_key(void **state)
{
    contract *t = *state;
    ash_doc docs[4];
    ash_write_result r;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    const char *texts[4] = {"{\"_id\":1}", "{\"_id\":1.0}", "{\"_id\":2}", "{\"_id\":2}"};
    for (int i = 0; i < 4; i++) {
        bson_t *b = json(texts[i]);
        docs[i] = (ash_doc){bson_get_data(b), b->len};
    }
    ash_write_result_init(&r);
    assert_int_equal(ash_collection_insert(t->c, docs, 4, &opts, &r, &t->err), ASH_EEXISTS);
    assert_true(r.inserted == 1 && r.error_count == 1);
    char expected[400];
    snprintf(expected, sizeof expected,
             "E11000 duplicate key error collection: %s.things index: _id_ dup key: { _id: 1",
             t->db);
    assert_non_null(strstr(compact_json(&r.errors), expected));
    assert_non_null(strstr(compact_json(&r.errors), "\"index\":1,\"code\":11000"));
    assert_non_null(strstr(compact_json(&r.errors), "\"keyPattern\":{\"_id\":1}"));
    ash_write_result_release(&r);
    ash_write_result_init(&r);
    opts.unordered = true;
    assert_int_equal(ash_collection_insert(t->c, docs, 4, &opts, &r, &t->err), ASH_EEXISTS);
    assert_true(r.inserted == 1 && r.error_count == 3);
    ash_write_result_release(&r);
}

static void test_contract_errors__too_large(void **state)
{
    contract *t = *state;
    bson_t *b = big_document(1, 16 * 1024 * 1024);
    assert_true(ash_collection_insert_one(t->c, b, NULL, &t->err) != 0);
    assert_true(count_json(t, t->c, "{}") == 0);
    b = big_document(1, 16 * 1024 * 1024 - 100);
    assert_ok(ash_collection_insert_one(t->c, b, NULL, &t->err), &t->err);
    bson_t out;
    assert_ok(ash_collection_find_one(t->c, json("{\"_id\":1}"), NULL, &out, &t->err), &t->err);
    assert_true(bson_equal(&out, b));
    bson_destroy(&out);
}

static void test_contract_errors__validator(void **state)
{
    contract *t = *state;
    ash_insert_options bypass = ASH_INSERT_OPTIONS_INIT;
    ash_write_result r;
    assert_ok(
        ash_collection_create(t->c, json("{\"validator\":{\"a\":{\"$gte\":10}}}"), NULL, &t->err),
        &t->err);
    expect_insert(t, "{\"a\":1}", 121);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":10}"), &t->err);
    ash_write_result_init(&r);
    assert_true(update_json(t, t->c, "{\"_id\":1}", "{\"$set\":{\"a\":3}}", NULL, &r) != 0);
    assert_int_equal(ash_error_server_code(&t->err), 121);
    if (strcmp(t->can.backend, "embedded") == 0)
        assert_non_null(strstr(compact_json(&r.errors), "\"errInfo\":{\"failingDocumentId\":1"));
    ash_write_result_release(&r);
    bypass.op.bypass_validation = true;
    assert_ok(ash_collection_insert_one(t->c, json("{\"_id\":2,\"a\":1}"), &bypass, &t->err),
              &t->err);
    assert_true(count_json(t, t->c, "{}") == 2);
}

/* A document that the validator cannot be evaluated for is refused, whatever negates it. */
static void test_contract_errors__validators_that_fail(void **state)
{
    contract *t = *state;
    assert_ok(ash_collection_create(
                  t->c,
                  json("{\"validator\":{\"$nor\":[{\"$expr\":{\"$gt\":[{\"$divide\":[6,\"$n\"]},"
                       "5]}}]}}"),
                  NULL, &t->err),
              &t->err);
    expect_insert(t, "{\"n\":0}", 121);
    expect_insert(t, "{\"n\":1}", 121);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"n\":2}"), &t->err);
    assert_true(count_json(t, t->c, "{}") == 1);
}

static void test_contract_errors__collections(void **state)
{
    contract *t = *state;
    assert_int_equal(ash_collection_rename(t->c, t->db, "x", false, NULL, &t->err), ASH_ENOTFOUND);
    assert_ok(ash_collection_create(t->c, NULL, NULL, &t->err), &t->err);
    int rc = ash_collection_create(t->c, json("{\"capped\":true,\"size\":1000}"), NULL, &t->err);
    assert_int_equal(rc, ASH_EEXISTS);
    assert_int_equal(ash_error_server_code(&t->err), 48);
    ash_collection *other = open_collection(t, "other");
    assert_true(ash_collection_create(other, json("{\"capped\":true}"), NULL, &t->err) != 0);
    assert_int_equal(ash_error_server_code(&t->err), 72);
    ash_collection_free(other);
}

static void test_contract_errors__queries(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_value_t hint = {.value_type = BSON_TYPE_UTF8,
                         .value.v_utf8 = {(char *)(uintptr_t) "no_such", 7}};
    ash_doc doc;
    assert_ok(insert_json(t, t->c, "{\"_id\":1}"), &t->err);
    int rc = ash_collection_find(t->c, json("{\"a\":{\"$nonsense\":1}}"), NULL, &cursor, &t->err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, &t->err);
    assert_int_equal(rc, ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&t->err), 2);
    ash_cursor_free(cursor);
    cursor = NULL;
    opts.hint = &hint;
    rc = ash_collection_find(t->c, json("{}"), &opts, &cursor, &t->err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, &t->err);
    assert_int_equal(rc, ASH_EINVAL);
    ash_cursor_free(cursor);
}

static void test_contract_errors__case_insensitive_collation(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"s\":\"Straße\"}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"s\":\"other\"}"), &t->err);
    opts.collation = json("{\"locale\":\"en\",\"strength\":2}");
    opts.projection = json("{\"_id\":1}");
    assert_ok(ash_collection_find(t->c, json("{\"s\":\"OTHER\"}"), &opts, &cursor, &t->err),
              &t->err);
    assert_string_equal(drain(t, cursor), "[{\"_id\":2}]");
}

/* A filter that cannot be evaluated for a document is an error, not a document that is left out. */
static void test_contract_errors__filters_that_fail(void **state)
{
    contract *t = *state;
    const char *filter = "{\"$expr\":{\"$gt\":[{\"$divide\":[6,\"$n\"]},1]}}";
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int64_t count;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"n\":2}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"n\":0}"), &t->err);
    int rc = ash_collection_find(t->c, json(filter), NULL, &cursor, &t->err);
    for (doc.data = (const uint8_t *)""; rc == 0 && doc.data != NULL;)
        rc = ash_cursor_next(cursor, &doc, &t->err);
    ash_cursor_free(cursor);
    assert_int_equal(rc, ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&t->err), 2);
    assert_int_equal(ash_collection_count(t->c, json(filter), NULL, &count, &t->err), ASH_EINVAL);
    assert_int_equal(ash_collection_remove(t->c, json(filter), NULL, NULL, &t->err), ASH_EINVAL);
    assert_int_equal(ash_collection_count(t->c, json("{\"n\":0}"), NULL, &count, &t->err), 0);
    assert_int_equal(count, 1);
}

/* So is a projection: the last look at it, a sorted one, and what findAndModify gives back. */
static void test_contract_errors__projections_that_fail(void **state)
{
    contract *t = *state;
    static const char *const projections[] = {"{\"l.$\":1}", "{\"x\":{\"$divide\":[6,\"$n\"]}}"};
    static const int32_t codes[] = {51246, 2};
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"n\":0,\"l\":[1,2]}"), &t->err);
    for (int i = 0; i < 4; i++) {
        ash_find_options opts = ASH_FIND_OPTIONS_INIT;
        ash_cursor *cursor = NULL;
        ash_doc doc;
        opts.projection = json(projections[i / 2]);
        opts.sort = i % 2 == 0 ? NULL : json("{\"n\":1}");
        int rc = ash_collection_find(t->c, json("{\"n\":0}"), &opts, &cursor, &t->err);
        if (rc == 0)
            rc = ash_cursor_next(cursor, &doc, &t->err);
        ash_cursor_free(cursor);
        assert_int_equal(rc, ASH_EINVAL);
        assert_int_equal(ash_error_server_code(&t->err), codes[i / 2]);
    }
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t value;
    bson_t *change = json("{\"$set\":{\"z\":1}}");
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
    update.value.v_doc.data_len = change->len;
    opts.update = &update;
    opts.projection = json(projections[1]);
    bool was_found;
    assert_int_equal(
        ash_collection_find_and_modify(t->c, json("{}"), &opts, &value, &was_found, NULL, &t->err),
        ASH_EINVAL);
    assert_true(count_json(t, t->c, "{\"z\":1}") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_errors__ids_that_cannot_be),
        CONTRACT(test_contract_errors__duplicate_key),
        CONTRACT(test_contract_errors__too_large),
        CONTRACT(test_contract_errors__validator),
        CONTRACT(test_contract_errors__validators_that_fail),
        CONTRACT(test_contract_errors__collections),
        CONTRACT(test_contract_errors__queries),
        CONTRACT(test_contract_errors__case_insensitive_collation),
        CONTRACT(test_contract_errors__filters_that_fail),
        CONTRACT(test_contract_errors__projections_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
