/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>

/* Commands as drivers and programs send them, against a store in a folder. */

/* The code of the answer, 0 when it is well; *reply is the caller's. */
static int32_t run(served *s, const char *db, const char *text, bson_t *reply)
{
    bson_t command;
    int32_t code = 0;
    served_parse(text, &command);
    if (served_run(s, db, &command, reply, &code))
        code = 0;
    bson_destroy(&command);
    return code;
}

static int64_t number_at(const bson_t *doc, const char *path)
{
    bson_iter_t it, at;
    assert_true(bson_iter_init(&it, doc) && bson_iter_find_descendant(&it, path, &at));
    return bson_iter_as_int64(&at);
}

static int count_at(const bson_t *doc, const char *path)
{
    bson_iter_t it, at, item;
    int count = 0;
    assert_true(bson_iter_init(&it, doc) && bson_iter_find_descendant(&it, path, &at));
    assert_true(bson_iter_recurse(&at, &item));
    while (bson_iter_next(&item))
        count++;
    return count;
}

static void test_served_commands__what_is_not_done_is_refused(void **state)
{
    static const struct {
        const char *db, *command;
        int32_t code;
    } cases[] = {
        {"test",
         "{'aggregate': 'things', 'cursor': {}, 'pipeline': [{'$changeStream': {}}],"
         " 'readConcern': {'level': 'local'}}",
         72},
        {"test",
         "{'aggregate': 'things', 'cursor': {}, 'pipeline': [{'$changeStream': {}}],"
         " 'readConcern': {'level': 'majority'}}",
         0},
        {"test", "{'validate': 'things', 'full': true, 'background': true}", 72},
        {"test", "{'validate': 'things', 'full': true}", 0},
        {"test", "{'aggregate': 1, 'cursor': {}, 'pipeline': [{'$currentOp': {}}]}", 73},
        {"admin", "{'aggregate': 1, 'cursor': {}, 'pipeline': [{'$currentOp': {}}]}", 0},
        {"test",
         "{'aggregate': 'things', 'cursor': {}, 'pipeline': [{'$collStats':"
         " {'latencyStats': {}}}]}",
         238},
        {"test",
         "{'aggregate': 'things', 'cursor': {}, 'pipeline': [{'$collStats':"
         " {'count': {}}}]}",
         0},
        {"test", "{'collMod': 'things', 'index': {'name': 'x_1', 'prepareUnique': true}}", 0},
        {"test", "{'collMod': 'things', 'index': {'name': 'x_1', 'unique': true}}", 0},
    };
    served *s = *state;
    bson_t reply;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1, 'x': 1}", &s->err), &s->err);
    assert_int_equal(
        run(s, "test", "{'createIndexes': 'things', 'indexes': [{'key': {'x': 1}, 'name': 'x_1'}]}",
            &reply),
        0);
    bson_destroy(&reply);
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        int32_t code = run(s, cases[i].db, cases[i].command, &reply);
        if (code != cases[i].code)
            fail_msg("%s: %d, not %d", cases[i].command, (int)code, (int)cases[i].code);
        bson_destroy(&reply);
    }
}

static void test_served_commands__listings_come_whole(void **state)
{
    enum { COUNT = 150 };
    served *s = *state;
    bson_t reply;
    for (int i = 0; i < COUNT; i++) {
        char text[40];
        snprintf(text, sizeof text, "{'create': 'c%d'}", i);
        assert_int_equal(run(s, "many", text, &reply), 0);
        bson_destroy(&reply);
    }
    assert_int_equal(run(s, "many", "{'listCollections': 1}", &reply), 0);
    assert_int_equal(count_at(&reply, "cursor.firstBatch"), COUNT);
    assert_int_equal(number_at(&reply, "cursor.id"), 0);
    bson_destroy(&reply);
    assert_int_equal(run(s, "many", "{'listCollections': 1, 'cursor': {'batchSize': 7}}", &reply),
                     0);
    assert_int_equal(count_at(&reply, "cursor.firstBatch"), 7);
    bson_destroy(&reply);
}

static void run_well(served *s, const char *text)
{
    bson_t reply;
    int32_t code = run(s, "buckets", text, &reply);
    if (code != 0)
        fail_msg("%s: %d", text, (int)code);
    bson_destroy(&reply);
}

/* A driver's drop knows two collections; what Ashlar noted about the files goes with them. */
static void test_served_commands__a_dropped_bucket_leaves_nothing(void **state)
{
    served *s = *state;
    bson_t reply;
    for (int i = 0; i < 2; i++) {
        run_well(s, "{'insert': 'fs.files', 'documents': [{'_id': 1}]}");
        run_well(s, "{'insert': 'fs.chunks', 'documents': [{'files_id': 1, 'n': 0}]}");
        run_well(s, "{'insert': 'fs.attributes', 'documents': [{'_id': 1, 'length': {'$numberLong':"
                    " '0'}, 'uploadDate': {'$date': {'$numberLong': '7'}}, 'sha256': 'x'}]}");
        run_well(s, i == 0 ? "{'drop': 'fs.files'}" : "{'drop': 'fs.chunks'}");
        assert_int_equal(run(s, "buckets", "{'listCollections': 1}", &reply), 0);
        assert_int_equal(count_at(&reply, "cursor.firstBatch"), 2);
        bson_destroy(&reply);
        run_well(s, i == 0 ? "{'drop': 'fs.chunks'}" : "{'drop': 'fs.files'}");
        assert_int_equal(run(s, "buckets", "{'listCollections': 1}", &reply), 0);
        assert_int_equal(count_at(&reply, "cursor.firstBatch"), 0);
        bson_destroy(&reply);
    }
    /* Somebody's own collections may be called so. */
    run_well(s, "{'insert': 'goods.files', 'documents': [{'_id': 1}]}");
    run_well(s, "{'insert': 'goods.attributes', 'documents': [{'_id': 1, 'length': {'$numberLong':"
                " '0'}, 'uploadDate': {'$date': {'$numberLong': '7'}}}, {'_id': 2, 'colour': 3}]}");
    run_well(s, "{'drop': 'goods.files'}");
    assert_int_equal(run(s, "buckets", "{'listCollections': 1}", &reply), 0);
    assert_int_equal(count_at(&reply, "cursor.firstBatch"), 1);
    bson_destroy(&reply);
}

static void test_served_commands__numbers_at_their_ends(void **state)
{
    served *s = *state;
    bson_t reply;
    for (int i = 0; i < 20; i++) {
        char text[40];
        snprintf(text, sizeof text, "{'_id': %d, 'x': 1}", i);
        assert_ok(served_insert(s->own, NULL, text, &s->err), &s->err);
    }
    assert_int_equal(run(s, "test",
                         "{'count': 'things', 'query': {'x': 1}, 'skip': 5,"
                         " 'limit': {'$numberLong': '9223372036854775807'}}",
                         &reply),
                     0);
    assert_int_equal(number_at(&reply, "n"), 15);
    bson_destroy(&reply);
    assert_int_equal(run(s, "test",
                         "{'count': 'things', 'query': {'x': 1},"
                         " 'limit': {'$numberLong': '-9223372036854775808'}}",
                         &reply),
                     0);
    assert_int_equal(number_at(&reply, "n"), 20);
    bson_destroy(&reply);
    assert_int_equal(run(s, "test",
                         "{'explain': {'find': 'things', 'filter': {'x': 1}, 'skip': 5,"
                         " 'limit': {'$numberLong': '-9223372036854775808'}},"
                         " 'verbosity': 'executionStats'}",
                         &reply),
                     0);
    assert_int_equal(number_at(&reply, "executionStats.nReturned"), 15);
    bson_destroy(&reply);
}

static void test_served_commands__unknown_ones_tell_the_time(void **state)
{
    served *s = *state;
    bson_t reply;
    assert_int_equal(run(s, "test", "{'nonsense': 1}", &reply), 59);
    assert_true(bson_has_field(&reply, "operationTime"));
    bson_destroy(&reply);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, served_setup, served_teardown)

static int32_t run_built(served *s, const char *db, bson_t *command)
{
    bson_t reply;
    int32_t code = 0;
    if (served_run(s, db, command, &reply, &code))
        code = 0;
    bson_destroy(&reply);
    bson_destroy(command);
    return code;
}

/* What a client of bytes may send, and no driver could list. */
static void test_served_commands__names_that_are_not_utf8(void **state)
{
#define BAD "caf\xe9"
    served *s = *state;
    assert_ok(served_insert(s->own, NULL, "{'_id': 1}", &s->err), &s->err);
    assert_int_equal(run_built(s, "test", BCON_NEW("create", BAD)), 73);
    assert_int_equal(run_built(s, BAD, BCON_NEW("create", "things")), 73);
    assert_int_equal(
        run_built(s, "admin", BCON_NEW("renameCollection", "test.things", "to", "test." BAD)), 73);
    assert_int_equal(run_built(s, "test",
                               BCON_NEW("aggregate", "things", "pipeline", "[", "{", "$out", BAD,
                                        "}", "]", "cursor", "{", "}")),
                     73);
    assert_int_equal(run_built(s, "test",
                               BCON_NEW("createIndexes", "things", "indexes", "[", "{", "key", "{",
                                        "a", BCON_INT32(1), "}", "name", BAD, "}", "]")),
                     67);
    assert_int_equal(run_built(s, "test", BCON_NEW("count", BAD)), 0);
#undef BAD
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_served_commands__what_is_not_done_is_refused),
        TEST(test_served_commands__listings_come_whole),
        TEST(test_served_commands__names_that_are_not_utf8),
        TEST(test_served_commands__a_dropped_bucket_leaves_nothing),
        TEST(test_served_commands__numbers_at_their_ends),
        TEST(test_served_commands__unknown_ones_tell_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
