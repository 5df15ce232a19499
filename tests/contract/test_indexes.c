/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *names(contract *t)
{
    ash_cursor *cursor = NULL;
    assert_ok(ash_collection_list_indexes(t->c, NULL, &cursor, &t->err), &t->err);
    return drain(t, cursor);
}

static void expect_refusal(contract *t, const char *specs, int32_t code)
{
    int rc = index_json(t, t->c, specs, NULL);
    if (rc == 0)
        fail_msg("%s was taken", specs);
    if (ash_error_server_code(&t->err) != code)
        fail_msg("%s: %d instead of %d: %s", specs, ash_error_server_code(&t->err), code,
                 t->err.text);
}

static void test_contract_indexes__created_and_listed(void **state)
{
    contract *t = *state;
    bson_t reply;
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"filename\":1,\"uploadDate\":1},\"name\":\"fu\"},"
                         "{\"key\":{\"x\":-1},\"name\":\"x_-1\",\"unique\":true,"
                         "\"background\":true}]",
                         &reply),
              &t->err);
    assert_string_equal(compact_json(&reply), "{\"numIndexesBefore\":1,\"numIndexesAfter\":3,"
                                              "\"createdCollectionAutomatically\":true}");
    bson_destroy(&reply);
    assert_string_equal(names(t),
                        "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"},"
                        "{\"v\":2,\"key\":{\"filename\":1,\"uploadDate\":1},\"name\":\"fu\"},"
                        "{\"v\":2,\"key\":{\"x\":-1},\"name\":\"x_-1\",\"unique\":true,"
                        "\"background\":true}]");
    /* Very old programs ask for it, and no server has done it since 2014. */
    assert_ok(index_json(t, t->c, "[{\"key\":{\"y\":1},\"name\":\"y_1\",\"dropDups\":true}]", NULL),
              &t->err);
}

static void modify_fails(contract *t, const char *changes, int32_t code)
{
    bson_t old;
    assert_true(ash_collection_modify(t->c, json(changes), NULL, &old, &t->err) != 0);
    assert_int_equal(ash_error_server_code(&t->err), code);
}

/* What is not done is not answered as if it were. */
static void test_contract_indexes__modify_tells_what_it_cannot(void **state)
{
    contract *t = *state;
    bson_t old;
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"a\":1},\"name\":\"a_1\"},"
                         "{\"key\":{\"b\":1},\"name\":\"b_1\",\"unique\":true}]",
                         NULL),
              &t->err);
    modify_fails(t, "{\"index\":{\"name\":\"a_1\",\"unique\":true}}", 72);
    modify_fails(t, "{\"index\":{\"name\":\"a_1\",\"nonsense\":1}}", 40415);
    modify_fails(t, "{\"index\":{\"name\":\"a_1\",\"unique\":\"yes\"}}", 14);
    assert_ok(ash_collection_modify(t->c, json("{\"index\":{\"name\":\"b_1\",\"unique\":true}}"),
                                    NULL, &old, &t->err),
              &t->err);
    bson_destroy(&old);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":1,\"b\":1}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"a\":1,\"b\":2}"), &t->err);
    assert_ok(ash_collection_modify(t->c, json("{\"validator\":{\"z\":1}}"), NULL, &old, &t->err),
              &t->err);
    bson_destroy(&old);
    assert_true(insert_json(t, t->c, "{\"_id\":3,\"b\":3}") != 0);
    assert_ok(ash_collection_modify(t->c, json("{\"validator\":{}}"), NULL, &old, &t->err),
              &t->err);
    bson_destroy(&old);
    ash_cursor *list = NULL;
    ash_doc doc;
    bson_t b;
    bson_iter_t it, at;
    assert_ok(ash_store_list_collections(t->store, t->db, json("{\"name\":\"things\"}"), NULL,
                                         &list, &t->err),
              &t->err);
    assert_ok(ash_cursor_next(list, &doc, &t->err), &t->err);
    assert_true(bson_init_static(&b, doc.data, doc.len));
    assert_false(bson_iter_init(&it, &b) &&
                 bson_iter_find_descendant(&it, "options.validator", &at));
    ash_cursor_free(list);
    assert_ok(insert_json(t, t->c, "{\"_id\":3,\"b\":3}"), &t->err);
}

static void test_contract_indexes__again_changes_nothing(void **state)
{
    contract *t = *state;
    bson_t reply;
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":false}]", NULL),
              &t->err);
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1.0},\"name\":\"a_1\"}]", &reply), &t->err);
    assert_string_equal(compact_json(&reply), "{\"numIndexesBefore\":2,\"numIndexesAfter\":2,"
                                              "\"createdCollectionAutomatically\":false,"
                                              "\"note\":\"all indexes already exist\"}");
    bson_destroy(&reply);
    assert_ok(index_json(t, t->c, "[{\"key\":{\"_id\":1},\"name\":\"_id_\"}]", NULL), &t->err);
}

static void test_contract_indexes__conflicts(void **state)
{
    contract *t = *state;
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\"}]", NULL), &t->err);
    expect_refusal(t, "[{\"key\":{\"b\":1},\"name\":\"a_1\"}]", 86);
    expect_refusal(t, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}]", 86);
    expect_refusal(t, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"expireAfterSeconds\":5}]", 85);
    expect_refusal(t, "[{\"key\":{\"a\":1},\"name\":\"other\"}]", 85);
    expect_refusal(t, "[{\"key\":{\"c\":1},\"name\":\"c\"},{\"key\":{\"c\":1},\"name\":\"c\"}]",
                   68);
    expect_refusal(t, "[{\"key\":{},\"name\":\"e\"}]", 67);
    expect_refusal(t, "[{\"key\":{\"c\":1},\"name\":\"\"}]", 67);
    expect_refusal(t, "[{\"key\":{\"c\":0},\"name\":\"c\"}]", 67);
    expect_refusal(t, "[{\"key\":{\"c\":1}}]", 9);
    expect_refusal(t, "[{\"key\":{\"c\":1},\"name\":\"c\",\"colour\":1}]", 197);
    /* Nothing of a refused command stays. */
    expect_refusal(t, "[{\"key\":{\"d\":1},\"name\":\"d\"},{\"key\":{\"b\":1},\"name\":\"a_1\"}]",
                   86);
    assert_null(strstr(names(t), "\"d\""));
}

static void test_contract_indexes__duplicates_in_the_data(void **state)
{
    contract *t = *state;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":5}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"a\":5}"), &t->err);
    expect_refusal(t, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}]", 11000);
    assert_string_equal(names(t), "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"}]");
    assert_ok(insert_json(t, t->c, "{\"_id\":3,\"a\":5}"), &t->err);
}

static void test_contract_indexes__missing_collection(void **state)
{
    contract *t = *state;
    ash_cursor *cursor = NULL;
    bson_value_t star = {.value_type = BSON_TYPE_UTF8,
                         .value.v_utf8 = {(char *)(uintptr_t) "*", 1}};
    assert_int_equal(ash_collection_list_indexes(t->c, NULL, &cursor, &t->err), ASH_ENOTFOUND);
    assert_int_equal(ash_error_server_code(&t->err), 26);
    assert_int_equal(ash_collection_drop_indexes(t->c, &star, NULL, &t->err), ASH_ENOTFOUND);
    assert_int_equal(ash_error_server_code(&t->err), 26);
}

static void test_contract_indexes__dropping(void **state)
{
    contract *t = *state;
    bson_value_t name = {.value_type = BSON_TYPE_UTF8,
                         .value.v_utf8 = {(char *)(uintptr_t) "a_1", 3}};
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"a\":1},\"name\":\"a_1\"},{\"key\":{\"b\":1},\"name\":"
                         "\"b_1\"},{\"key\":{\"c\":1},\"name\":\"c_1\"}]",
                         NULL),
              &t->err);
    assert_ok(ash_collection_drop_indexes(t->c, &name, NULL, &t->err), &t->err);
    assert_int_equal(ash_collection_drop_indexes(t->c, &name, NULL, &t->err), ASH_ENOTFOUND);
    assert_int_equal(ash_error_server_code(&t->err), 27);
    name.value.v_utf8.str = (char *)(uintptr_t) "_id_";
    name.value.v_utf8.len = 4;
    assert_int_equal(ash_collection_drop_indexes(t->c, &name, NULL, &t->err), ASH_EINVAL);
    name.value.v_utf8.str = (char *)(uintptr_t) "*";
    name.value.v_utf8.len = 1;
    assert_ok(ash_collection_drop_indexes(t->c, &name, NULL, &t->err), &t->err);
    assert_string_equal(names(t), "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"}]");
}

static void test_contract_indexes__multikey_documents_come_once(void **state)
{
    contract *t = *state;
    assert_ok(index_json(t, t->c, "[{\"key\":{\"l.k\":1},\"name\":\"l\"}]", NULL), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"l\":[{\"k\":1},{\"k\":2},{\"k\":3}]}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"l\":[{\"k\":2}]}"), &t->err);
    assert_string_equal(
        found(t, t->c, "{\"l.k\":{\"$gte\":2}}", "{\"_id\":1}", "{\"_id\":1}", 0, 0),
        "[{\"_id\":1},{\"_id\":2}]");
    assert_string_equal(found(t, t->c, "{\"$or\":[{\"l.k\":1},{\"l.k\":3},{\"l.k\":2}]}",
                              "{\"_id\":1}", "{\"_id\":1}", 0, 0),
                        "[{\"_id\":1},{\"_id\":2}]");
}

/* A position is a name too: null is found in elements that have no such field. */
static void test_contract_indexes__positions(void **state)
{
    contract *t = *state;
    static const char *const filters[] = {"{\"a.0\":null}", "{\"a.0\":{\"$in\":[null]}}",
                                          "{\"a.0\":{\"$lte\":null}}",
                                          "{\"a.0\":{\"$exists\":false}}"};
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a.0\":1},\"name\":\"a0\"}]", NULL), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":[{\"b\":1}]}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":2,\"a\":[5]}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":3}"), &t->err);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(found(t, t->c, filters[i], "{\"_id\":1}", "{\"_id\":1}", 0, 0),
                            "[{\"_id\":1},{\"_id\":3}]");
    assert_string_equal(found(t, t->c, filters[3], "{\"_id\":1}", "{\"_id\":1}", 0, 0),
                        "[{\"_id\":3}]");
    assert_string_equal(found(t, t->c, "{\"a.0\":5}", "{\"_id\":1}", "{\"_id\":1}", 0, 0),
                        "[{\"_id\":2}]");
}

static void test_contract_indexes__partial_and_sparse(void **state)
{
    contract *t = *state;
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"s\":1},\"name\":\"s\",\"unique\":true,\"sparse\":true},"
                         "{\"key\":{\"p\":1},\"name\":\"p\",\"unique\":true,"
                         "\"partialFilterExpression\":{\"live\":true}}]",
                         NULL),
              &t->err);
    for (int i = 0; i < 3; i++)
        assert_ok(insert_json(t, t->c, "{\"p\":1,\"live\":false}"), &t->err);
    assert_ok(insert_json(t, t->c, "{\"p\":1,\"live\":true}"), &t->err);
    assert_int_equal(insert_json(t, t->c, "{\"p\":1,\"live\":true}"), ASH_EEXISTS);
    assert_true(count_json(t, t->c, "{\"p\":1}") == 4);
    assert_true(count_json(t, t->c, "{\"p\":1,\"live\":true}") == 1);
}

static void test_contract_indexes__partial_filters_name_what_they_hold(void **state)
{
    contract *t = *state;
    static const struct {
        const char *filter;
        int32_t code;
    } cases[] = {
        {"{\"a\":{\"$ne\":1}}", 67},
        {"{\"a\":{\"$exists\":false}}", 67},
        {"{\"$or\":[{\"a\":1},{\"a\":{\"$not\":{\"$gt\":1}}}]}", 67},
        {"{\"a\":{\"$size\":1}}", 67},
        {"{\"$expr\":{\"$eq\":[\"$a\",1]}}", 224},
        {"{\"a\":{\"$gt\":1,\"$lte\":9},\"b\":{\"$exists\":true}}", 0},
        {"{\"$or\":[{\"a\":{\"$in\":[1,2]}},{\"b\":{\"$type\":\"string\"}}]}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "[{\"key\":{\"p\":1},\"name\":\"p%zu\",\"partialFilterExpression\":%s}]", i,
                 cases[i].filter);
        int rc = index_json(t, t->c, text, NULL);
        if ((rc != 0) != (cases[i].code != 0) ||
            (rc != 0 && ash_error_server_code(&t->err) != cases[i].code))
            fail_msg("%s: %d, code %d", cases[i].filter, rc, ash_error_server_code(&t->err));
    }
}

static int32_t between(contract *t, const char *hint, const char *min, const char *max,
                       const char *expected)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    name.value.v_utf8.str = (char *)(uintptr_t)hint;
    name.value.v_utf8.len = (uint32_t)strlen(hint);
    opts.hint = hint[0] != '\0' ? &name : NULL;
    opts.min = min != NULL ? json(min) : NULL;
    opts.max = max != NULL ? json(max) : NULL;
    opts.projection = json("{\"_id\":1}");
    int rc = ash_collection_find(t->c, json("{\"c\":{\"$ne\":4}}"), &opts, &cursor, &t->err);
    if (rc == 0 && expected == NULL) {
        ash_doc doc;
        rc = ash_cursor_next(cursor, &doc, &t->err);
        ash_cursor_free(cursor);
    } else if (rc == 0) {
        assert_string_equal(drain(t, cursor), expected);
    }
    return rc != 0 ? ash_error_server_code(&t->err) : 0;
}

static void test_contract_indexes__between_keys(void **state)
{
    contract *t = *state;
    assert_ok(index_json(t, t->c,
                         "[{\"key\":{\"a\":1},\"name\":\"a\"},"
                         "{\"key\":{\"a\":1,\"b\":-1},\"name\":\"ab\"}]",
                         NULL),
              &t->err);
    for (int i = 0; i < 10; i++) {
        char text[80];
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d,\"b\":%d,\"c\":%d}", i, i / 3, i, i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    assert_int_equal(between(t, "a", "{\"a\":1}", "{\"a\":2}", "[{\"_id\":3},{\"_id\":5}]"), 0);
    assert_int_equal(between(t, "a", "{\"a\":2.5}", NULL, "[{\"_id\":9}]"), 0);
    assert_int_equal(between(t, "a", NULL, "{\"a\":0}", "[]"), 0);
    assert_int_equal(between(t, "ab", "{\"a\":0,\"b\":1}", "{\"a\":1,\"b\":3}",
                             "[{\"_id\":1},{\"_id\":0},{\"_id\":5}]"),
                     0);
    assert_int_equal(between(t, "", "{\"a\":1}", NULL, NULL), 51173);
    assert_int_equal(between(t, "ab", "{\"a\":1}", NULL, NULL), 51174);
    assert_int_equal(between(t, "a", "{\"b\":1}", NULL, NULL), 51174);
    assert_int_equal(between(t, "a", "{\"a\":1}", "{\"a\":1}", NULL), 51175);
    assert_int_equal(between(t, "a", "{\"a\":1}", "{\"b\":2}", NULL), 51176);
}

/* The ids found, a few at a time. */
static int ids_in_batches(contract *t, const char *filter, const char *sort, int32_t *ids, int most)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch = {0};
    int n = 0;
    opts.sort = json(sort);
    assert_ok(ash_collection_find(t->c, json(filter), &opts, &cursor, &t->err), &t->err);
    while (!batch.exhausted) {
        assert_ok(ash_cursor_next_batch(cursor, 7, 0, &batch, &t->err), &t->err);
        for (size_t i = 0; i < batch.count && n < most; i++) {
            bson_t b;
            bson_iter_t it;
            assert_true(bson_init_static(&b, batch.docs[i].data, batch.docs[i].len));
            assert_true(bson_iter_init_find(&it, &b, "_id"));
            ids[n++] = bson_iter_int32(&it);
        }
        ash_cursor_rest(cursor);
    }
    ash_cursor_free(cursor);
    return n;
}

/* $in before the sorted field: the order of a sort in memory, over many batches, both ways. */
static void test_contract_indexes__merged_ranges_come_in_order(void **state)
{
    contract *t = *state;
    static const struct {
        const char *index, *sort;
    } cases[] = {
        {"[{\"key\":{\"a\":1,\"b\":1},\"name\":\"i\"}]", "{\"b\":1}"},
        {"[{\"key\":{\"a\":1,\"b\":1},\"name\":\"i\"}]", "{\"b\":-1}"},
        {"[{\"key\":{\"a\":1,\"b\":1,\"_id\":1},\"name\":\"i\",\"unique\":true}]",
         "{\"b\":-1,\"_id\":-1}"},
        {"[{\"key\":{\"a\":-1,\"b\":-1},\"name\":\"i\"}]", "{\"b\":-1}"},
    };
    const char *filter = "{\"a\":{\"$in\":[1,2,4,9]},\"c\":{\"$ne\":3}}";
    int32_t wanted[200], got[200];
    bson_value_t name = {.value_type = BSON_TYPE_UTF8,
                         .value.v_utf8 = {(char *)(uintptr_t) "i", 1}};
    for (int i = 0; i < 200; i++) {
        char text[80];
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d,\"b\":%d,\"c\":%d}", i, i * 7 % 6,
                 i * 31 % 23, i % 5);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = ids_in_batches(t, filter, cases[i].sort, wanted, 200);
        assert_ok(index_json(t, t->c, cases[i].index, NULL), &t->err);
        assert_int_equal(ids_in_batches(t, filter, cases[i].sort, got, 200), n);
        assert_true(n > 50);
        assert_memory_equal(got, wanted, (size_t)n * sizeof *got);
        assert_ok(ash_collection_drop_indexes(t->c, &name, NULL, &t->err), &t->err);
    }
}

typedef struct inserter {
    contract *t;
    int from;
    int failed;
} inserter;

static void *insert_meanwhile(void *arg)
{
    inserter *in = arg;
    ash_error err = ASH_ERROR_INIT;
    for (int i = 0; i < 400; i++) {
        bson_t b = BSON_INITIALIZER;
        bson_append_int32(&b, "_id", -1, in->from + i);
        bson_append_int32(&b, "a", -1, i % 10);
        in->failed += ash_collection_insert_one(in->t->c, &b, NULL, &err) != 0;
        bson_destroy(&b);
    }
    return NULL;
}

static void test_contract_indexes__built_while_written_to(void **state)
{
    contract *t = *state;
    pthread_t thread;
    inserter in = {t, 100000, 0};
    enum { BEFORE = 2500 };
    for (int from = 0; from < BEFORE; from += 500) {
        ash_doc docs[500];
        for (int i = 0; i < 500; i++) {
            char text[60];
            snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d}", from + i, i % 10);
            bson_t *b = json(text);
            docs[i] = (ash_doc){bson_get_data(b), b->len};
        }
        assert_ok(ash_collection_insert(t->c, docs, 500, NULL, NULL, &t->err), &t->err);
    }
    assert_int_equal(pthread_create(&thread, NULL, insert_meanwhile, &in), 0);
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\"}]", NULL), &t->err);
    pthread_join(thread, NULL);
    assert_int_equal(in.failed, 0);
    for (int a = 0; a < 10; a++) {
        char filter[30];
        snprintf(filter, sizeof filter, "{\"a\":%d}", a);
        assert_int_equal(count_json(t, t->c, filter), (BEFORE + 400) / 10);
    }
}

static void test_contract_indexes__long_keys_are_found(void **state)
{
    contract *t = *state;
    char text[1500];
    char value[1201];
    memset(value, 'k', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\",\"unique\":true}]", NULL),
              &t->err);
    for (int i = 0; i < 4; i++) {
        value[1199] = (char)('a' + i);
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":\"%s\"}", i, value);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    for (int i = 0; i < 4; i++) {
        char expected[20];
        value[1199] = (char)('a' + i);
        snprintf(text, sizeof text, "{\"a\":\"%s\"}", value);
        snprintf(expected, sizeof expected, "[{\"_id\":%d}]", i);
        assert_string_equal(found(t, t->c, text, NULL, "{\"_id\":1}", 0, 0), expected);
    }
    assert_int_equal(insert_json(t, t->c, text), ASH_EEXISTS);
}

/* ---- filters on keys ---- */

static int64_t docs_examined(contract *t, const char *filter)
{
    bson_t out;
    bson_iter_t it, docs;
    bson_t *command = bson_new();
    bson_append_utf8(command, "find", -1, "things", -1);
    bson_append_document(command, "filter", -1, json(filter));
    assert_ok(ash_collection_explain(t->c, command, "executionStats", NULL, &out, &t->err),
              &t->err);
    assert_true(bson_iter_init(&it, &out) &&
                bson_iter_find_descendant(&it, "executionStats.totalDocsExamined", &docs));
    int64_t n = bson_iter_as_int64(&docs);
    bson_destroy(command);
    bson_destroy(&out);
    return n;
}

static void expect_from_keys(contract *t, const char *filter, int64_t matches, int64_t fetched)
{
    int64_t counted = count_json(t, t->c, filter), examined = docs_examined(t, filter);
    if (counted != matches || examined != fetched)
        fail_msg("%s: %lld match, %lld were fetched", filter, (long long)counted,
                 (long long)examined);
}

static void fill_for_keys(contract *t)
{
    static const char *const others[] = {
        "{\"_id\":200}",
        "{\"_id\":201,\"a\":null,\"b\":null}",
        "{\"_id\":202,\"a\":true}",
        "{\"_id\":203,\"a\":{\"x\":\"item 7\"}}",
        "{\"_id\":204,\"a\":{\"$numberLong\":\"9007199254740993\"}}",
        "{\"_id\":205,\"a\":{\"$numberDecimal\":\"0.1\"}}"};
    char text[120];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":\"Item %d of\",\"b\":%d,\"c\":%d}", i, i,
                 i % 10, i);
        assert_ok(insert_json(t, t->c, text), &t->err);
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d,\"b\":-%d.5,\"c\":%d}", 100 + i, i, i, i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_ok(insert_json(t, t->c, others[i]), &t->err);
}

static void test_contract_indexes__filters_are_tried_on_keys(void **state)
{
    contract *t = *state;
    static const struct {
        const char *filter;
        int64_t matches, fetched;
    } cases[] = {
        {"{\"a\":{\"$regex\":\"7 of\"}}", 10, 10},
        {"{\"a\":{\"$regex\":\"^item 9\",\"$options\":\"i\"}}", 11, 11},
        {"{\"a\":{\"$regex\":\"^Item\"},\"b\":{\"$mod\":[5,2]}}", 20, 20},
        {"{\"a\":{\"$gt\":10},\"b\":{\"$lt\":-90}}", 10, 10},
        {"{\"a\":{\"$gte\":\"\"},\"$or\":[{\"b\":3},{\"b\":{\"$in\":[5,6]}}]}", 30, 30},
        {"{\"a\":{\"$gte\":\"\"},\"$nor\":[{\"b\":{\"$ne\":3}}]}", 10, 10},
        {"{\"a\":{\"$gte\":\"\"},\"b\":3,\"c\":{\"$gt\":50}}", 5, 10},
        {"{\"a\":{\"$regex\":\"7 of\"},\"c\":{\"$gt\":50}}", 5, 10},
    };
    fill_for_keys(t);
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        assert_int_equal(count_json(t, t->c, cases[at].filter), cases[at].matches);
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1,\"b\":-1},\"name\":\"a_b\"}]", NULL),
              &t->err);
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        expect_from_keys(t, cases[at].filter, cases[at].matches, cases[at].fetched);
    /* One array, and no key is all that a document has. */
    assert_ok(insert_json(t, t->c, "{\"_id\":300,\"a\":[\"Item x\",\"7 of\"],\"b\":1,\"c\":60}"),
              &t->err);
    for (size_t at = 0; at < sizeof cases / sizeof *cases; at++)
        assert_true(count_json(t, t->c, cases[at].filter) >= cases[at].matches);
    assert_int_equal(count_json(t, t->c, cases[0].filter), 11);
    assert_int_equal(count_json(t, t->c, cases[7].filter), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_indexes__created_and_listed),
        CONTRACT(test_contract_indexes__modify_tells_what_it_cannot),
        CONTRACT(test_contract_indexes__again_changes_nothing),
        CONTRACT(test_contract_indexes__conflicts),
        CONTRACT(test_contract_indexes__duplicates_in_the_data),
        CONTRACT(test_contract_indexes__missing_collection),
        CONTRACT(test_contract_indexes__dropping),
        CONTRACT(test_contract_indexes__multikey_documents_come_once),
        CONTRACT(test_contract_indexes__positions),
        CONTRACT(test_contract_indexes__partial_and_sparse),
        CONTRACT(test_contract_indexes__partial_filters_name_what_they_hold),
        CONTRACT(test_contract_indexes__merged_ranges_come_in_order),
        CONTRACT(test_contract_indexes__between_keys),
        CONTRACT(test_contract_indexes__built_while_written_to),
        CONTRACT(test_contract_indexes__long_keys_are_found),
        CONTRACT(test_contract_indexes__filters_are_tried_on_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
