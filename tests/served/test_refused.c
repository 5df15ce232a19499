/* SPDX-License-Identifier: Apache-2.0 */
/* What no client of ours would send, and what transactions of clients may not do. */
#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/ops.h"

#include <mongoc/mongoc.h>
#include <stdio.h>
#include <string.h>

/* ---- what is refused ---- */

static int other_things(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    ash_cursor *cursor = NULL;
    ash_op op = {.size = sizeof(ash_op), .transaction = t};
    ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
    bson_t stages;
    s->runs++;
    assert_int_equal(ash_collection_drop(s->c, &op, err), ASH_EUNSUPPORTED);
    assert_int_equal(ash_store_flush(s->client, &op, err), ASH_EUNSUPPORTED);
    assert_int_equal(ash_store_transact(s->client, other_things, s, &op, err), ASH_ESTATE);
    o.op.transaction = t;
    served_parse("{'0': {'$match': {}}, '1': {'$out': 'copy'}}", &stages);
    assert_int_equal(ash_collection_aggregate(s->c, &stages, &o, &cursor, err), ASH_EUNSUPPORTED);
    bson_destroy(&stages);
    return served_insert(s->c, t, "{'_id': 3}", err);
}

static void test_served_refused__documents_and_nothing_else(void **state)
{
    served *s = *state;
    assert_ok(ash_store_transact(s->client, other_things, s, NULL, &s->err), &s->err);
    assert_int_equal(s->runs, 1);
    assert_int_equal(served_count(s->own, NULL, "{'_id': 3}"), 1);
}

/* {ashlarTransact: 1, more} */
static int32_t code_of(served *s, const char *more)
{
    bson_t command, reply;
    int32_t code;
    char *text = ash__sprintf("{'ashlarTransact': 1, %s}", more);
    served_parse(text, &command);
    served_run(s, "admin", &command, &reply, &code);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
    return code;
}

#define SEED    "'seed': {'$oid': '0102030405060708090a0b0c'}"
#define FIND    "{'find': 'things', '$db': 'test'}"
#define LONG(n) "{'$numberLong': '" n "'}"
#define LIST(x) "'operations': [" x "], " SEED

static void test_served_refused__hostile_lists(void **state)
{
    static const struct {
        const char *arguments;
        int32_t code;
    } cases[] = {
        {LIST(FIND), 0},
        {SEED, 40414},
        {LIST(""), 16},
        {"'operations': [1], " SEED, 14},
        {"'operations': [" FIND "]", 14},
        {"'operations': [" FIND "], 'seed': 1", 14},
        {LIST(FIND) ", 'unknown': 1", 40415},
        {LIST(FIND) ", 'now': 'today'", 14},
        {LIST(FIND) ", 'results': [" LONG("1") "]", 72},
        {LIST(FIND "," FIND), 72},
        {LIST(FIND "," FIND) ", 'results': ['x']", 14},
        {LIST(FIND "," FIND) ", 'results': [" LONG("1") "]", 112},
        {LIST(FIND) ", 'commit': true, 'results': [" LONG("1") "]", 14},
        {LIST(FIND) ", 'txnNumber': " LONG("1"), 50768},
        {LIST("{}"), 40571},
        {LIST("{'$db': 'test'}"), 263},
        {LIST("{'find': 'things'}"), 40571},
        {LIST("{'find': 'things', '$db': 'a b'}"), 73},
        {LIST("{'find': 1, '$db': 'test'}"), 73},
        {LIST("{'find': 'things', '$db': 'test', 'unknown': 1}"), 40415},
        {LIST("{'find': 'things', '$db': 'test', 'maxTimeMS': 1}"), 72},
        {LIST("{'find': 'things', '$db': 'test', 'writeConcern': {}}"), 72},
        {LIST("{'find': 'things', '$db': 'test', 'startTransaction': true}"), 72},
        {LIST("{'find': 'things', '$db': 'test', 'lsid': {'id': 1}}"), 72},
        {LIST("{'getMore': " LONG("1") ", 'collection': 'things', '$db': 'test'}"), 263},
        {LIST("{'ashlarTransact': 1, '$db': 'admin', 'operations': [" FIND "]}"), 263},
        {LIST("{'drop': 'things', '$db': 'test'}"), 263},
        {LIST("{'shutdown': 1, '$db': 'admin'}"), 263},
        {LIST("{'configureFailPoint': 'failCommand', '$db': 'admin', 'mode': 'off'}"), 263},
    };
    served *s = *state;
    bson_t command, reply;
    int32_t code;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        code = code_of(s, cases[i].arguments);
        if (code != cases[i].code)
            fail_msg("%s: %d, not %d", cases[i].arguments, (int)code, (int)cases[i].code);
    }
    served_parse("{'ashlarTransact': 1, " LIST(FIND) "}", &command);
    assert_false(served_run(s, "test", &command, &reply, &code));
    assert_int_equal(code, 13);
    bson_destroy(&command);
    bson_destroy(&reply);
    assert_ok(served_insert(s->own, NULL, "{'_id': 1}", &s->err), &s->err);
}

/* What fails inside is an answer like any other. */
static void test_served_refused__operations_that_fail(void **state)
{
    static const char *const operations[] = {
        "{'find': 'things', '$db': 'test', 'tailable': true}",
        "{'find': 'things', '$db': 'test', 'filter': {'$nonsense': 1}}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'pipeline': [{'$out': 'other'}]}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'pipeline': [{'$merge': 'other'}]}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'pipeline': [{'$changeStream': {}}]}",
        "{'aggregate': 1, '$db': 'admin', 'cursor': {}, 'pipeline': [{'$currentOp': {}}]}",
        "{'aggregate': 'things', '$db': 'test', 'cursor': {}, 'explain': true, 'pipeline': []}",
        "{'update': 'things', '$db': 'test', 'updates': []}",
    };
    served *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(operations); i++) {
        bson_t command, reply;
        bson_iter_t it, at;
        int32_t code;
        char *text =
            ash__sprintf("{'ashlarTransact': 1, 'operations': [%s], " SEED "}", operations[i]);
        served_parse(text, &command);
        assert_true(served_run(s, "admin", &command, &reply, &code));
        assert_true(bson_iter_init(&it, &reply) &&
                    bson_iter_find_descendant(&it, "result.code", &at));
        assert_int_not_equal(bson_iter_as_int64(&at), 0);
        bson_destroy(&command);
        bson_destroy(&reply);
        ash__free(text);
    }
    assert_int_equal(served_count(s->own, NULL, "{}"), 0);
}

static bson_t *many_operations(int count, size_t bytes)
{
    bson_t *command = BCON_NEW("ashlarTransact", BCON_INT32(1));
    bson_t list, operation, results, query;
    bson_oid_t seed;
    char key[12];
    const char *name;
    uint8_t *data = ash__alloc(bytes + 1);
    memset(data, 1, bytes + 1);
    bson_oid_init(&seed, NULL);
    BSON_APPEND_OID(command, "seed", &seed);
    BSON_APPEND_ARRAY_BEGIN(command, "operations", &list);
    for (int i = 0; i < count; i++) {
        bson_uint32_to_string((uint32_t)i, &name, key, sizeof key);
        BSON_APPEND_DOCUMENT_BEGIN(&list, name, &operation);
        BSON_APPEND_UTF8(&operation, "count", "things");
        BSON_APPEND_DOCUMENT_BEGIN(&operation, "query", &query);
        BSON_APPEND_BINARY(&query, "data", BSON_SUBTYPE_BINARY, data, (uint32_t)bytes);
        bson_append_document_end(&operation, &query);
        BSON_APPEND_UTF8(&operation, "$db", "test");
        bson_append_document_end(&list, &operation);
    }
    bson_append_array_end(command, &list);
    BSON_APPEND_ARRAY_BEGIN(command, "results", &results);
    for (int i = 0; i < count - 1; i++) {
        bson_uint32_to_string((uint32_t)i, &name, key, sizeof key);
        BSON_APPEND_INT64(&results, name, 0);
    }
    bson_append_array_end(command, &results);
    ash__free(data);
    return command;
}

static void test_served_refused__lists_that_are_too_long(void **state)
{
    static const struct {
        int count;
        size_t bytes;
        int32_t code;
    } cases[] = {{1000, 10, 112}, {1001, 10, 257}, {10000, 10, 257}, {17, 1000000, 10334}};
    served *s = *state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        bson_t *command = many_operations(cases[i].count, cases[i].bytes);
        bson_t reply;
        int32_t code;
        served_run(s, "admin", command, &reply, &code);
        assert_int_equal(code, cases[i].code);
        bson_destroy(command);
        bson_destroy(&reply);
    }
}

/* ---- bounds ---- */

static int find_too_much(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int n = 0;
    o.op.transaction = t;
    o.limit = 7;
    assert_ok(ash_collection_find(s->c, NULL, &o, &cursor, err), err);
    do {
        assert_ok(ash_cursor_next(cursor, &doc, err), err);
        n += doc.data != NULL ? 1 : 0;
    } while (doc.data != NULL);
    ash_cursor_free(cursor);
    assert_int_equal(n, 7);
    o.limit = 0;
    return ash_collection_find(s->c, NULL, &o, &cursor, err);
}

static void test_served_refused__a_find_gives_all_or_fails(void **state)
{
    enum { BYTES = 2 * 1024 * 1024 };
    served *s = *state;
    uint8_t *data = ash__alloc(BYTES);
    memset(data, 7, BYTES);
    for (int i = 0; i < 9; i++) {
        bson_t *doc = BCON_NEW("_id", BCON_INT32(i));
        BSON_APPEND_BINARY(doc, "data", BSON_SUBTYPE_BINARY, data, BYTES);
        assert_ok(ash_collection_insert_one(s->own, doc, NULL, &s->err), &s->err);
        bson_destroy(doc);
    }
    assert_int_equal(ash_store_transact(s->client, find_too_much, s, NULL, &s->err), ASH_ETOOBIG);
    ash__free(data);
}

/* Each document is done soon, all of them are not. */
static void test_served_refused__a_list_has_a_time_limit(void **state)
{
    served *s = *state;
    bson_t command, reply;
    int32_t code;
    const char *loop = "{'$reduce': {'input': {'$range': [0, 200000]}, 'initialValue': 0, 'in': "
                       "{'$add': ['$$value', '$$this']}}}";
    char *text = ash__sprintf("{'ashlarTransact': 1, 'operations': [{'update': 'things', '$db': "
                              "'test', 'updates': [{'q': "
                              "{}, 'multi': true, 'u': [{'$set': {'x': %s}}]}]}], " SEED "}",
                              loop);
    for (int i = 0; i < 1000; i++) {
        char doc[32];
        snprintf(doc, sizeof doc, "{'_id': %d}", i);
        assert_ok(served_insert(s->own, NULL, doc, &s->err), &s->err);
    }
    int64_t from = ash__clock_ms();
    served_parse(text, &command);
    assert_false(served_run(s, "admin", &command, &reply, &code));
    assert_int_equal(code, 50);
    assert_true(ash__clock_ms() - from < 20000);
    assert_int_equal(served_count(s->own, NULL, "{'x': {'$exists': true}}"), 0);
    bson_destroy(&command);
    bson_destroy(&reply);
    ash__free(text);
}

/* A deadline and a cancel flag of the caller's end it as well. */
static int wait_for_deadline(ash_transaction *t, void *ctx, ash_error *err)
{
    served *s = ctx;
    int rc = served_insert(s->c, t, "{'_id': 1}", err);
    ash__clock_sleep_ms(60);
    return rc;
}

static void test_served_refused__a_deadline(void **state)
{
    served *s = *state;
    ash_op op = {.size = sizeof(ash_op), .deadline_ms = ash_deadline(50)};
    assert_int_equal(ash_store_transact(s->client, wait_for_deadline, s, &op, &s->err),
                     ASH_ETIMEOUT);
    assert_int_equal(served_count(s->own, NULL, "{}"), 0);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_served_refused__##name, served_setup, served_teardown)
    const struct CMUnitTest tests[] = {
        T(documents_and_nothing_else),
        T(hostile_lists),
        T(operations_that_fail),
        T(lists_that_are_too_long),
        T(a_find_gives_all_or_fails),
        T(a_list_has_a_time_limit),
        T(a_deadline),
    };
    mongoc_init();
    int failed = cmocka_run_group_tests_name("served refused", tests, NULL, NULL);
    mongoc_cleanup();
    return failed;
}
