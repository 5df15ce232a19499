/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors that rest while the catalogue changes. */
#include "fixture.h"

#include <stdio.h>

enum { DOCS = 210, SEVENTHS = 30 };

static void make_index(fixture *f, const char *name)
{
    bson_t specs = BSON_INITIALIZER, spec, key;
    BSON_APPEND_DOCUMENT_BEGIN(&specs, "0", &spec);
    BSON_APPEND_DOCUMENT_BEGIN(&spec, "key", &key);
    BSON_APPEND_INT32(&key, name, 1);
    bson_append_document_end(&spec, &key);
    BSON_APPEND_UTF8(&spec, "name", name);
    bson_append_document_end(&specs, &spec);
    assert_ok(ash_collection_create_indexes(f->c, &specs, NULL, NULL, &f->err), &f->err);
    bson_destroy(&specs);
}

static size_t next(fixture *f, ash_cursor *cursor, size_t most)
{
    ash_batch batch;
    assert_ok(ash_cursor_next_batch(cursor, most, 0, &batch, &f->err), &f->err);
    return batch.count;
}

/* A filter that is tried on keys goes by the index as it is now: what it was planned with is gone. */
static void test_embedded_resting__filters_on_keys_outlive_the_plan(void **state)
{
    fixture *f = *state;
    ash_cursor *cursor = NULL;
    make_index(f, "a");
    for (int i = 0; i < DOCS; i++) {
        char doc[40];
        snprintf(doc, sizeof doc, "{\"a\": %d}", i);
        assert_ok(fixture_insert(f, f->c, doc), &f->err);
    }
    bson_t *filter = fixture_json("{\"a\": {\"$gte\": 0, \"$mod\": [7, 0]}}");
    assert_ok(ash_collection_find(f->c, filter, NULL, &cursor, &f->err), &f->err);
    size_t found = next(f, cursor, 5);
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('b' + i), '\0'};
        make_index(f, name);
        assert_int_equal(fixture_count(f, f->c, "{\"a\": 7}"), 1);
        found += next(f, cursor, 5);
    }
    for (size_t more; (more = next(f, cursor, 5)) > 0;)
        found += more;
    assert_int_equal(found, SEVENTHS);
    ash_cursor_free(cursor);
    /* One that is given up where it rests. */
    cursor = NULL;
    assert_ok(ash_collection_find(f->c, filter, NULL, &cursor, &f->err), &f->err);
    assert_int_equal(next(f, cursor, 5), 5);
    make_index(f, "e");
    assert_int_equal(fixture_count(f, f->c, "{\"a\": 7}"), 1);
    ash_cursor_free(cursor);
    bson_destroy(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_resting__filters_on_keys_outlive_the_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
