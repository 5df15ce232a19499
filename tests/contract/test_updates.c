/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static void fill(contract *t, int count)
{
    for (int i = 0; i < count; i++) {
        char text[60];
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d}", i, i % 3);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
}

static void test_contract_updates__one(void **state)
{
    contract *t = *state;
    ash_write_result r;
    fill(t, 6);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"a\":1}", "{\"$set\":{\"b\":5}}", NULL, &r), &t->err);
    assert_true(r.matched == 1 && r.modified == 1 && !r.upserted);
    ash_write_result_release(&r);
    assert_string_equal(found(t, t->c, "{\"b\":5}", NULL, NULL, 0, 0),
                        "[{\"_id\":1,\"a\":1,\"b\":5}]");
}

static int upsert_json(contract *t, const char *filter, const char *update)
{
    ash_update_options upsert = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result r;
    upsert.upsert = true;
    ash_write_result_init(&r);
    int rc = update_json(t, t->c, filter, update, &upsert, &r);
    int32_t code = ash_error_server_code(&t->err);
    ash_write_result_release(&r);
    return rc != 0 ? code : 0;
}

static void test_contract_updates__names_with_dollars_and_dots(void **state)
{
    contract *t = *state;
    static const char *const taken[] = {"{\"_id\":1,\"$a\":1,\"b.c\":{\"$d\":1}}",
                                        "{\"_id\":{\"a.b\":1}}", "{\"a\":{\"_id\":{\"$b\":1}}}"};
    static const char *const refused[] = {
        "{\"_id\":{\"$x\":1}}", "{\"_id\":{\"a\":1,\"$x\":1}}", "{\"_id\":{\"a\":{\"$x\":1}}}",
        "{\"_id\":{\"a\":[{\"$x\":1}]}}", "{\"_id\":{\"a\":1,\"$id\":1}}"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_ok(insert_json(t, t->c, taken[i]), &t->err);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(insert_json(t, t->c, refused[i]), ASH_EINVAL);
        assert_int_equal(ash_error_server_code(&t->err), 52);
    }
    assert_int_equal(upsert_json(t, "{\"n\":1}", "{\"_id\":{\"$x\":1}}"), 52);
    assert_int_equal(upsert_json(t, "{\"n\":1}", "{\"$set\":{\"_id\":{\"$x\":1}}}"), 52);
    assert_int_equal(upsert_json(t, "{\"n\":1}", "{\"$set\":{\"_id.$x\":1}}"), 52);
    assert_int_equal(upsert_json(t, "{\"_id.a.$x\":1}", "{\"$set\":{\"a\":1}}"), 52);
    assert_int_equal(upsert_json(t, "{\"_id\":7}", "{\"$set\":{\"$z\":1}}"), 0);
    assert_int_equal(upsert_json(t, "{\"_id\":7}", "{\"$set\":{\"$z\":2}}"), 52);
    assert_int_equal(upsert_json(t, "{\"_id\":7}", "{\"$set\":{\"p.$each\":2}}"), 0);
    assert_string_equal(found(t, t->c, "{\"p.$each\":2}", NULL, NULL, 0, 0),
                        "[{\"_id\":7,\"$z\":1,\"p\":{\"$each\":2}}]");
}

static void test_contract_updates__same_value_is_not_modified(void **state)
{
    contract *t = *state;
    ash_write_result r;
    fill(t, 3);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"_id\":1}", "{\"$set\":{\"a\":1}}", NULL, &r), &t->err);
    assert_true(r.matched == 1 && r.modified == 0);
    ash_write_result_release(&r);
}

/* Every document that is moved behind the scan's position would come up again. */
static void test_contract_updates__many_do_not_meet_their_own_results(void **state)
{
    contract *t = *state;
    ash_update_options multi = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result r;
    fill(t, 700);
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\"}]", NULL), &t->err);
    multi.multi = true;
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"a\":{\"$gte\":0}}", "{\"$inc\":{\"a\":100}}", &multi, &r),
              &t->err);
    assert_true(r.matched == 700 && r.modified == 700);
    ash_write_result_release(&r);
    assert_true(count_json(t, t->c, "{\"a\":{\"$gte\":100,\"$lte\":102}}") == 700);
}

static void test_contract_updates__replace_keeps_the_id(void **state)
{
    contract *t = *state;
    ash_write_result r;
    fill(t, 2);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"_id\":1}", "{\"x\":\"y\"}", NULL, &r), &t->err);
    assert_string_equal(found(t, t->c, "{\"_id\":1}", NULL, NULL, 0, 0),
                        "[{\"_id\":1,\"x\":\"y\"}]");
    assert_int_equal(update_json(t, t->c, "{\"_id\":1}", "{\"_id\":9,\"x\":1}", NULL, &r),
                     ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&t->err), 66);
    ash_write_result_release(&r);
}

static void test_contract_updates__upsert(void **state)
{
    contract *t = *state;
    ash_update_options upsert = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result r;
    upsert.upsert = true;
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"_id\":\"k\",\"kind\":3}",
                          "{\"$inc\":{\"n\":1},\"$setOnInsert\":{\"new\":true}}", &upsert, &r),
              &t->err);
    assert_true(r.upserted && r.matched == 0);
    assert_string_equal(compact_json(&r.upserted_id), "{\"_id\":\"k\"}");
    ash_write_result_release(&r);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"_id\":\"k\",\"kind\":3}",
                          "{\"$inc\":{\"n\":1},\"$setOnInsert\":{\"new\":false}}", &upsert, &r),
              &t->err);
    assert_true(!r.upserted && r.matched == 1 && r.modified == 1);
    ash_write_result_release(&r);
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0),
                        "[{\"_id\":\"k\",\"kind\":3,\"n\":2,\"new\":true}]");
}

/* The lock protocol's move: a filter that does not match a held lock, with upsert. */
static void test_contract_updates__lost_upsert_is_a_duplicate(void **state)
{
    contract *t = *state;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_value_t update = {0};
    bson_t *set = json("{\"$set\":{\"held\":true}}");
    ash_write_result r;
    bson_t value;
    bool was_found = false;
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"files_id\":1},\"name\":\"files_id_1\",\"unique\":true}]",
                         NULL),
              &t->err);
    assert_ok(insert_json(t, t->c, "{\"files_id\":7,\"held\":true}"), &t->err);
    update.value_type = BSON_TYPE_DOCUMENT;
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    opts.update = &update;
    opts.upsert = true;
    ash_write_result_init(&r);
    assert_int_equal(ash_collection_find_and_modify(
                         t->c, json("{\"files_id\":7,\"$or\":[{\"held\":false},{\"free\":1}]}"),
                         &opts, &value, &was_found, &r, &t->err),
                     ASH_EEXISTS);
    assert_int_equal(ash_error_server_code(&t->err), 11000);
    assert_non_null(strstr(t->err.text, "E11000 duplicate key error collection: "));
    assert_non_null(strstr(t->err.text, "index: files_id_1 dup key: { files_id: 7 }"));
    ash_write_result_release(&r);
    assert_true(count_json(t, t->c, "{}") == 1);
}

static void test_contract_updates__pipeline_update(void **state)
{
    contract *t = *state;
    ash_write_result r;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":2,\"b\":3}"), &t->err);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"_id\":1}",
                          "[{\"$set\":{\"sum\":{\"$add\":[\"$a\",\"$b\"]}}},{\"$unset\":\"b\"}]",
                          NULL, &r),
              &t->err);
    ash_write_result_release(&r);
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0), "[{\"_id\":1,\"a\":2,\"sum\":5}]");
}

static void test_contract_updates__positional(void **state)
{
    contract *t = *state;
    ash_write_result r;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"l\":[{\"k\":1,\"v\":0},{\"k\":2,\"v\":0}]}"),
              &t->err);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"l.k\":2}", "{\"$set\":{\"l.$.v\":9}}", NULL, &r), &t->err);
    ash_write_result_release(&r);
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0),
                        "[{\"_id\":1,\"l\":[{\"k\":1,\"v\":0},{\"k\":2,\"v\":9}]}]");
}

static void test_contract_updates__unique_index_refuses(void **state)
{
    contract *t = *state;
    ash_write_result r;
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}]", NULL),
              &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":1}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"a\":2}"), &t->err);
    ash_write_result_init(&r);
    assert_int_equal(update_json(t, t->c, "{\"_id\":2}", "{\"$set\":{\"a\":1.0}}", NULL, &r),
                     ASH_EEXISTS);
    assert_true(r.error_count == 1);
    assert_non_null(strstr(compact_json(&r.errors), "\"keyPattern\":{\"a\":1}"));
    ash_write_result_release(&r);
    assert_string_equal(found(t, t->c, "{\"_id\":2}", NULL, NULL, 0, 0), "[{\"_id\":2,\"a\":2}]");
}

static void test_contract_updates__large_becomes_small_and_back(void **state)
{
    contract *t = *state;
    bson_t *set = bson_new();
    bson_t fields;
    bson_value_t update = {0};
    ash_write_result r;
    bson_t out;
    assert_ok(ash_collection_insert_one(t->c, big_document(1, 100000), NULL, &t->err), &t->err);
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, "{\"_id\":1}", "{\"$unset\":{\"data\":1}}", NULL, &r), &t->err);
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0), "[{\"_id\":1}]");
    bson_append_document_begin(set, "$set", -1, &fields);
    bson_concat(&fields, big_document(1, 50000));
    bson_append_document_end(set, &fields);
    update.value_type = BSON_TYPE_DOCUMENT;
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    assert_ok(ash_collection_update(t->c, json("{\"_id\":1}"), &update, NULL, &r, &t->err),
              &t->err);
    assert_ok(ash_collection_find_one(t->c, json("{\"_id\":1}"), NULL, &out, &t->err), &t->err);
    assert_true(bson_equal(&out, big_document(1, 50000)));
    bson_destroy(&out);
    bson_destroy(set);
    ash_write_result_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_updates__one),
        CONTRACT(test_contract_updates__names_with_dollars_and_dots),
        CONTRACT(test_contract_updates__same_value_is_not_modified),
        CONTRACT(test_contract_updates__many_do_not_meet_their_own_results),
        CONTRACT(test_contract_updates__replace_keeps_the_id),
        CONTRACT(test_contract_updates__upsert),
        CONTRACT(test_contract_updates__lost_upsert_is_a_duplicate),
        CONTRACT(test_contract_updates__pipeline_update),
        CONTRACT(test_contract_updates__positional),
        CONTRACT(test_contract_updates__unique_index_refuses),
        CONTRACT(test_contract_updates__large_becomes_small_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
