/* SPDX-License-Identifier: Apache-2.0 */
/* Finds of one file's chunks go to the index without a plan; they must answer what the planned find
 * answers. */
#include "fixture.h"

#include "base/buffer.h"
#include "store/embedded/files/chunks.h"

#include <stdio.h>
#include <string.h>

static ash_collection *open_chunks(fixture *f, const char *name, const char *index)
{
    ash_collection *c = NULL;
    bson_t *specs = fixture_json(index);
    assert_ok(ash_collection_new(f->store, "test", name, &c, &f->err), &f->err);
    assert_ok(ash_collection_create_indexes(c, specs, NULL, NULL, &f->err), &f->err);
    bson_destroy(specs);
    return c;
}

static const char *const usual =
    "[{\"key\": {\"files_id\": 1, \"n\": 1}, \"name\": \"files_id_1_n_1\"}]";

static const char *const stored[] = {
    "{\"_id\": 1, \"files_id\": 1, \"n\": 2}",
    "{\"_id\": 2, \"files_id\": 1, \"n\": 0}",
    "{\"_id\": 3, \"files_id\": {\"$numberDouble\": \"1.0\"}, \"n\": {\"$numberLong\": \"1\"}}",
    "{\"_id\": 4, \"files_id\": 1, \"n\": {\"$numberDouble\": \"1.5\"}}",
    "{\"_id\": 5, \"files_id\": 1, \"n\": 2}",
    "{\"_id\": 6, \"files_id\": 1, \"n\": \"text\"}",
    "{\"_id\": 7, \"files_id\": 1, \"n\": {\"$numberDouble\": \"NaN\"}}",
    "{\"_id\": 8, \"files_id\": 1, \"n\": -1}",
    "{\"_id\": 9, \"files_id\": 1}",
    "{\"_id\": 10, \"files_id\": 2, \"n\": 0}",
    "{\"_id\": 11, \"files_id\": \"a\", \"n\": 3}",
    "{\"_id\": 12, \"files_id\": \"ab\", \"n\": 3}",
    "{\"_id\": 13, \"files_id\": \"a\", \"n\": 300}",
    "{\"_id\": 14, \"files_id\": {\"$oid\": \"0123456789abcdef01234567\"}, \"n\": 0}",
};

/* Of files 1 and "a" and the ObjectId's, all chunks and parts of them. */
static const struct {
    const char *filter;
    int matches;
} finds[] = {
    {"{\"files_id\": 1}", 9},
    {"{\"files_id\": {\"$numberLong\": \"1\"}, \"n\": {\"$gte\": {\"$numberLong\": \"0\"}}}", 5},
    {"{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"2\"}}}", 2},
    {"{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"3\"}}}", 0},
    {"{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"0\"}, \"$lte\": {\"$numberLong\": "
     "\"1\"}}}",
     2},
    {"{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"1\"}, \"$lte\": {\"$numberLong\": "
     "\"2\"}}}",
     4},
    {"{\"files_id\": \"a\"}", 2},
    {"{\"files_id\": \"a\", \"n\": {\"$gte\": {\"$numberLong\": \"4\"}}}", 1},
    {"{\"files_id\": {\"$oid\": \"0123456789abcdef01234567\"}}", 1},
    {"{\"files_id\": 3}", 0},
};

/* The _ids of all matches, in order. */
static void answer(fixture *f, ash_collection *c, const bson_t *filter,
                   const ash_find_options *opts, ash_buffer *out, int *count)
{
    ash_cursor *cursor = NULL;
    ash_doc doc;
    char text[32];
    *count = 0;
    ash__buffer_clear(out);
    assert_ok(ash_collection_find(c, filter, opts, &cursor, &f->err), &f->err);
    for (;; ++*count) {
        int64_t id = -1;
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        ash__value_as_int64(ash__doc_get(doc, "_id"), &id);
        snprintf(text, sizeof text, "%lld ", (long long)id);
        ash__buffer_append(out, text, strlen(text));
    }
    ash__buffer_append_byte(out, 0);
    ash_cursor_free(cursor);
}

static int compare(fixture *f, ash_collection *c, const bson_t *filter)
{
    ash_find_options direct = ASH_FIND_OPTIONS_INIT, planned = ASH_FIND_OPTIONS_INIT;
    ash_buffer a = ASH_BUFFER_INIT, b = ASH_BUFFER_INIT;
    ash_chunk_range range;
    bson_t *sort = fixture_json("{\"n\": 1}");
    int count, planned_count;
    direct.sort = planned.sort = sort;
    direct.download = true;
    assert_true(ash__chunk_range_of(filter, &direct, &range));
    assert_false(ash__chunk_range_of(filter, &planned, &range));
    answer(f, c, filter, &direct, &a, &count);
    answer(f, c, filter, &planned, &b, &planned_count);
    assert_string_equal((const char *)a.data, (const char *)b.data);
    ash__buffer_release(&a);
    ash__buffer_release(&b);
    bson_destroy(sort);
    return count;
}

static void compare_all(fixture *f, ash_collection *c)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(stored); i++)
        assert_ok(fixture_insert(f, c, stored[i]), &f->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(finds); i++) {
        bson_t *filter = fixture_json(finds[i].filter);
        assert_int_equal(compare(f, c, filter), finds[i].matches);
        bson_destroy(filter);
    }
}

static void test_store_embedded_chunks__answers_as_the_planned_find(void **state)
{
    fixture *f = *state;
    ash_collection *c = open_chunks(f, "fs.chunks", usual);
    compare_all(f, c);
    ash_collection_free(c);
}

/* Ids that differ behind what a key of the index holds of them. */
static void test_store_embedded_chunks__long_ids(void **state)
{
    fixture *f = *state;
    ash_collection *c = open_chunks(f, "fs.chunks", usual);
    char id[1001];
    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    for (int i = 0; i < 12; i++) {
        bson_t doc = BSON_INITIALIZER;
        id[999] = (char)('0' + i % 3);
        bson_append_int32(&doc, "_id", -1, i);
        bson_append_utf8(&doc, "files_id", -1, id, -1);
        bson_append_int32(&doc, "n", -1, 3 - i / 3);
        assert_ok(ash_collection_insert_one(c, &doc, NULL, &f->err), &f->err);
        bson_destroy(&doc);
    }
    for (int i = 0; i < 4; i++) {
        bson_t filter = BSON_INITIALIZER, range;
        id[999] = (char)('0' + i);
        bson_append_utf8(&filter, "files_id", -1, id, -1);
        assert_int_equal(compare(f, c, &filter), i < 3 ? 4 : 0);
        bson_append_document_begin(&filter, "n", -1, &range);
        bson_append_int64(&range, "$gte", -1, 1);
        bson_append_int64(&range, "$lte", -1, 2);
        bson_append_document_end(&filter, &range);
        assert_int_equal(compare(f, c, &filter), i < 3 ? 2 : 0);
        bson_destroy(&filter);
    }
    ash_collection_free(c);
}

/* Where the index is of another kind, or there is none, the find is planned and right as well. */
static void test_store_embedded_chunks__other_indexes(void **state)
{
    fixture *f = *state;
    static const char *const others[] = {
        "[{\"key\": {\"files_id\": 1, \"n\": -1}, \"name\": \"i\"}]",
        "[{\"key\": {\"n\": 1, \"files_id\": 1}, \"name\": \"i\"}]",
        "[{\"key\": {\"files_id\": 1, \"n\": 1}, \"name\": \"i\", \"sparse\": true}]",
        "[{\"key\": {\"files_id\": \"hashed\", \"n\": 1}, \"name\": \"i\"}]",
        "[{\"key\": {\"files_id\": 1, \"n\": 1}, \"name\": \"i\", \"hidden\": true}]",
        "[{\"key\": {\"files_id\": 1, \"n\": 1}, \"name\": \"i\", \"partialFilterExpression\": "
        "{\"n\": {\"$gt\": 1}}}]",
        "[{\"key\": {\"files_id\": 1, \"n\": 1}, \"name\": \"i\", \"collation\": {\"locale\": "
        "\"en\", \"strength\": 2}}]",
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++) {
        char name[32];
        snprintf(name, sizeof name, "bucket%zu.chunks", i);
        ash_collection *c = open_chunks(f, name, others[i]);
        compare_all(f, c);
        ash_collection_free(c);
    }
}

/* An index on an array has a key for each element, and a find meets a document twice. */
static void test_store_embedded_chunks__arrays(void **state)
{
    fixture *f = *state;
    ash_collection *c = open_chunks(f, "fs.chunks", usual);
    bson_t *filter = fixture_json("{\"files_id\": 1}");
    assert_ok(fixture_insert(f, c, "{\"_id\": 50, \"files_id\": 1, \"n\": [0, 1, 2]}"), &f->err);
    assert_ok(fixture_insert(f, c, "{\"_id\": 51, \"files_id\": [1, 2], \"n\": 1}"), &f->err);
    assert_int_equal(compare(f, c, filter), 2);
    bson_destroy(filter);
    ash_collection_free(c);
}

static void test_store_embedded_chunks__leaves_the_rest_to_the_planner(void **state)
{
    fixture *f = *state;
    static const char *const others[] = {
        "{}",
        "{\"files_id\": null}",
        "{\"files_id\": {\"a\": 1}}",
        "{\"files_id\": {\"$gt\": 1}}",
        "{\"n\": 1}",
        "{\"n\": {\"$gte\": {\"$numberLong\": \"0\"}}, \"files_id\": 1}",
        "{\"files_id\": 1, \"n\": 1}",
        "{\"files_id\": 1, \"n\": {\"$gt\": {\"$numberLong\": \"0\"}}}",
        "{\"files_id\": 1, \"n\": {\"$gte\": \"a\"}}",
        "{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"-5\"}}}",
        "{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"0\"}, \"$lt\": 1}}",
        "{\"files_id\": 1, \"n\": {\"$gte\": {\"$numberLong\": \"0\"}}, \"data\": 1}",
    };
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_chunk_range range;
    bson_t *sort = fixture_json("{\"n\": 1}"), *backward = fixture_json("{\"n\": -1}");
    bson_t *filter = fixture_json(finds[1].filter);
    (void)f;
    o.download = true;
    o.sort = sort;
    assert_true(ash__chunk_range_of(filter, &o, &range));
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++) {
        bson_t *other = fixture_json(others[i]);
        assert_false(ash__chunk_range_of(other, &o, &range));
        bson_destroy(other);
    }
    o.sort = backward;
    assert_false(ash__chunk_range_of(filter, &o, &range));
    o.sort = sort;
    o.limit = 1;
    assert_false(ash__chunk_range_of(filter, &o, &range));
    o.limit = 0;
    o.projection = sort;
    assert_false(ash__chunk_range_of(filter, &o, &range));
    bson_destroy(filter);
    bson_destroy(sort);
    bson_destroy(backward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_store_embedded_chunks__answers_as_the_planned_find),
        EMBEDDED(test_store_embedded_chunks__long_ids),
        EMBEDDED(test_store_embedded_chunks__other_indexes),
        EMBEDDED(test_store_embedded_chunks__arrays),
        EMBEDDED(test_store_embedded_chunks__leaves_the_rest_to_the_planner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
