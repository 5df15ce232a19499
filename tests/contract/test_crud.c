/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(contract *t, int count)
{
    for (int i = 0; i < count; i++) {
        char text[80];
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d,\"b\":\"v%d\"}", i, i % 3, i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
}

static void test_contract_crud__insert_then_find(void **state)
{
    contract *t = *state;
    fill(t, 5);
    assert_string_equal(found(t, t->c, "{\"a\":1}", "{\"_id\":1}", NULL, 0, 0),
                        "[{\"_id\":1,\"a\":1,\"b\":\"v1\"},{\"_id\":4,\"a\":1,\"b\":\"v4\"}]");
}

static void test_contract_crud__missing_collection_is_empty(void **state)
{
    contract *t = *state;
    ash_write_result r;
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0), "[]");
    assert_true(count_json(t, t->c, "{}") == 0);
    ash_write_result_init(&r);
    assert_ok(ash_collection_remove(t->c, json("{}"), NULL, &r, &t->err), &t->err);
    assert_true(r.deleted == 0);
    ash_write_result_release(&r);
}

static void test_contract_crud__sort_skip_limit_projection(void **state)
{
    contract *t = *state;
    fill(t, 9);
    assert_string_equal(found(t, t->c, "{}", "{\"a\":-1,\"_id\":1}", "{\"a\":1}", 1, 3),
                        "[{\"_id\":5,\"a\":2},{\"_id\":8,\"a\":2},{\"_id\":1,\"a\":1}]");
    assert_string_equal(
        found(t, t->c, "{\"_id\":{\"$gte\":7}}", "{\"_id\":-1}", "{\"_id\":0,\"b\":1}", 0, 0),
        "[{\"b\":\"v8\"},{\"b\":\"v7\"}]");
}

static void test_contract_crud__generated_id_comes_first(void **state)
{
    contract *t = *state;
    bson_t out;
    bson_iter_t it;
    assert_ok(insert_json(t, t->c, "{\"x\":1}"), &t->err);
    assert_ok(ash_collection_find_one(t->c, json("{\"x\":1}"), NULL, &out, &t->err), &t->err);
    assert_true(bson_iter_init(&it, &out) && bson_iter_next(&it));
    assert_string_equal(bson_iter_key(&it), "_id");
    assert_true(BSON_ITER_HOLDS_OID(&it));
    bson_destroy(&out);
}

static void test_contract_crud__id_moves_to_the_front(void **state)
{
    contract *t = *state;
    assert_ok(insert_json(t, t->c, "{\"x\":1,\"_id\":7,\"y\":2}"), &t->err);
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0), "[{\"_id\":7,\"x\":1,\"y\":2}]");
}

static void test_contract_crud__find_one_of_nothing(void **state)
{
    contract *t = *state;
    bson_t out;
    assert_int_equal(ash_collection_find_one(t->c, json("{\"_id\":1}"), NULL, &out, &t->err),
                     ASH_ENOTFOUND);
}

static void test_contract_crud__many_in_one_call(void **state)
{
    contract *t = *state;
    enum { COUNT = 1700 };
    ash_doc *docs = calloc(COUNT, sizeof *docs);
    ash_write_result r;
    for (int i = 0; i < COUNT; i++) {
        char text[60];
        snprintf(text, sizeof text, "{\"_id\":%d,\"n\":%d}", i, COUNT - i);
        bson_t *b = json(text);
        docs[i] = (ash_doc){bson_get_data(b), b->len};
    }
    ash_write_result_init(&r);
    assert_ok(ash_collection_insert(t->c, docs, COUNT, NULL, &r, &t->err), &t->err);
    assert_true(r.inserted == COUNT);
    assert_true(count_json(t, t->c, "{}") == COUNT);
    assert_true(count_json(t, t->c, "{\"n\":{\"$lte\":10}}") == 10);
    ash_write_result_release(&r);
    free(docs);
}

static void test_contract_crud__remove_one_and_many(void **state)
{
    contract *t = *state;
    ash_remove_options one = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result r;
    fill(t, 9);
    one.just_one = true;
    ash_write_result_init(&r);
    assert_ok(ash_collection_remove(t->c, json("{\"a\":0}"), &one, &r, &t->err), &t->err);
    assert_true(r.deleted == 1);
    ash_write_result_release(&r);
    ash_write_result_init(&r);
    assert_ok(ash_collection_remove(t->c, json("{\"a\":{\"$lte\":1}}"), NULL, &r, &t->err),
              &t->err);
    assert_true(r.deleted == 5);
    ash_write_result_release(&r);
    assert_string_equal(found(t, t->c, "{}", "{\"_id\":1}", "{\"_id\":1}", 0, 0),
                        "[{\"_id\":2},{\"_id\":5},{\"_id\":8}]");
}

static void test_contract_crud__count_with_skip_and_limit(void **state)
{
    contract *t = *state;
    ash_count_options opts = ASH_COUNT_OPTIONS_INIT;
    int64_t n = 0;
    fill(t, 9);
    opts.skip = 2;
    opts.limit = 5;
    assert_ok(ash_collection_count(t->c, json("{}"), &opts, &n, &t->err), &t->err);
    assert_true(n == 5);
    opts.limit = 0;
    assert_ok(ash_collection_count(t->c, json("{\"a\":2}"), &opts, &n, &t->err), &t->err);
    assert_true(n == 1);
}

static void test_contract_crud__distinct_unwinds_arrays(void **state)
{
    contract *t = *state;
    bson_t out;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"tags\":[\"a\",\"b\"]}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"tags\":\"b\"}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":3,\"tags\":[\"c\",\"a\"]}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":4}"), &t->err);
    assert_ok(ash_collection_distinct(t->c, "tags", json("{}"), NULL, NULL, &out, &t->err),
              &t->err);
    assert_string_equal(compact_json(&out), "{\"values\":[\"a\",\"b\",\"c\"]}");
    bson_destroy(&out);
}

static void test_contract_crud__large_documents_come_back(void **state)
{
    contract *t = *state;
    for (int i = 0; i < 6; i++)
        assert_ok(ash_collection_insert_one(t->c, big_document(i, 200000), NULL, &t->err), &t->err);
    for (int i = 0; i < 6; i++) {
        char filter[30];
        bson_t out;
        snprintf(filter, sizeof filter, "{\"_id\":%d}", i);
        assert_ok(ash_collection_find_one(t->c, json(filter), NULL, &out, &t->err), &t->err);
        assert_true(bson_equal(&out, big_document(i, 200000)));
        bson_destroy(&out);
    }
}

static void test_contract_crud__find_and_modify(void **state)
{
    contract *t = *state;
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_value_t update = {0};
    bson_t *set = json("{\"$inc\":{\"a\":10}}");
    bson_t value;
    bool was_found = false;
    fill(t, 6);
    update.value_type = BSON_TYPE_DOCUMENT;
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    opts.update = &update;
    opts.sort = json("{\"_id\":-1}");
    opts.projection = json("{\"a\":1}");
    assert_ok(ash_collection_find_and_modify(t->c, json("{\"a\":1}"), &opts, &value, &was_found,
                                             NULL, &t->err),
              &t->err);
    assert_true(was_found);
    assert_string_equal(compact_json(&value), "{\"_id\":4,\"a\":1}");
    bson_destroy(&value);
    opts.return_new = true;
    assert_ok(ash_collection_find_and_modify(t->c, json("{\"a\":11}"), &opts, &value, &was_found,
                                             NULL, &t->err),
              &t->err);
    assert_string_equal(compact_json(&value), "{\"_id\":4,\"a\":21}");
    bson_destroy(&value);
    opts.return_new = false;
    opts.update = NULL;
    opts.remove = true;
    assert_ok(ash_collection_find_and_modify(t->c, json("{\"a\":21}"), &opts, &value, &was_found,
                                             NULL, &t->err),
              &t->err);
    assert_true(was_found);
    bson_destroy(&value);
    assert_ok(ash_collection_find_and_modify(t->c, json("{\"a\":21}"), &opts, &value, &was_found,
                                             NULL, &t->err),
              &t->err);
    assert_false(was_found);
    bson_destroy(&value);
    assert_true(count_json(t, t->c, "{}") == 5);
}

/* An empty timestamp asks for the time of the insert, and no two inserts have one time. */
static void test_contract_crud__timestamps_are_unique(void **state)
{
    contract *t = *state;
    uint64_t times[3];
    for (int i = 0; i < 3; i++) {
        char text[90];
        bson_t out = BSON_INITIALIZER;
        bson_iter_t it;
        uint32_t seconds, increment;
        snprintf(text, sizeof text, "{\"_id\":%d,\"t\":{\"$timestamp\":{\"t\":0,\"i\":0}}}", i);
        assert_ok(insert_json(t, t->c, text), &t->err);
        snprintf(text, sizeof text, "{\"_id\":%d}", i);
        assert_ok(ash_collection_find_one(t->c, json(text), NULL, &out, &t->err), &t->err);
        assert_true(bson_iter_init_find(&it, &out, "t"));
        bson_iter_timestamp(&it, &seconds, &increment);
        times[i] = (uint64_t)seconds << 32 | increment;
        bson_destroy(&out);
    }
    assert_true(0 < times[0] && times[0] < times[1] && times[1] < times[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_crud__insert_then_find),
        CONTRACT(test_contract_crud__missing_collection_is_empty),
        CONTRACT(test_contract_crud__sort_skip_limit_projection),
        CONTRACT(test_contract_crud__generated_id_comes_first),
        CONTRACT(test_contract_crud__id_moves_to_the_front),
        CONTRACT(test_contract_crud__find_one_of_nothing),
        CONTRACT(test_contract_crud__many_in_one_call),
        CONTRACT(test_contract_crud__remove_one_and_many),
        CONTRACT(test_contract_crud__count_with_skip_and_limit),
        CONTRACT(test_contract_crud__distinct_unwinds_arrays),
        CONTRACT(test_contract_crud__large_documents_come_back),
        CONTRACT(test_contract_crud__find_and_modify),
        CONTRACT(test_contract_crud__timestamps_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
