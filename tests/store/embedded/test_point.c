/* SPDX-License-Identifier: Apache-2.0 */
/* Finds by _id take a short cut; they must answer what the planned find answers. */
#include "fixture.h"

#include "store/embedded/scan/by_id.h"
#include "store/parts.h"

#include <string.h>

static const char *const ids[] = {
    "{\"_id\": 1}",
    "{\"_id\": {\"$numberLong\": \"1\"}}",
    "{\"_id\": {\"$numberLong\": \"5000000000\"}}",
    "{\"_id\": \"text\"}",
    "{\"_id\": \"TEXT\"}",
    "{\"_id\": \"\"}",
    "{\"_id\": true}",
    "{\"_id\": false}",
    "{\"_id\": {\"$oid\": \"0123456789abcdef01234567\"}}",
    "{\"_id\": {\"$date\": {\"$numberLong\": \"77\"}}}",
    "{\"_id\": {\"$binary\": {\"base64\": \"AAEC\", \"subType\": \"00\"}}}",
    "{\"_id\": {\"$binary\": {\"base64\": \"AAEC\", \"subType\": \"80\"}}}",
};

static const char *const stored[] = {
    "{\"_id\": {\"$numberDouble\": \"1.0\"}, \"v\": 1}",
    "{\"_id\": {\"$numberLong\": \"5000000000\"}, \"v\": 2}",
    "{\"_id\": \"text\", \"v\": 3}",
    "{\"_id\": true, \"v\": 4}",
    "{\"_id\": {\"$oid\": \"0123456789abcdef01234567\"}, \"v\": 5}",
    "{\"_id\": {\"$date\": {\"$numberLong\": \"77\"}}, \"v\": 6}",
    "{\"_id\": {\"$binary\": {\"base64\": \"AAEC\", \"subType\": \"80\"}}, \"v\": 7}",
    "{\"_id\": {\"a\": 1}, \"v\": 8}",
};

/* All documents that match, as text; NULL opts: as given. */
static char *answer(fixture *f, ash_collection *c, const bson_t *filter,
                    const ash_find_options *opts)
{
    bson_t all = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    char name[16];
    uint32_t n = 0;
    assert_ok(ash_collection_find(c, filter, opts, &cursor, &f->err), &f->err);
    for (;;) {
        bson_t view;
        assert_ok(ash_cursor_next(cursor, &doc, &f->err), &f->err);
        if (doc.data == NULL)
            break;
        assert_true(bson_init_static(&view, doc.data, doc.len));
        snprintf(name, sizeof name, "%u", n++);
        bson_append_document(&all, name, -1, &view);
    }
    ash_cursor_free(cursor);
    char *text = bson_as_canonical_extended_json(&all, NULL);
    bson_destroy(&all);
    return text;
}

/* The short cut and the planned find side by side; how many documents both gave. */
static int compare(fixture *f, ash_collection *c, const bson_t *filter)
{
    ash_find_options planned = ASH_FIND_OPTIONS_INIT, direct = ASH_FIND_OPTIONS_INIT;
    ash_value id;
    bson_t *sort = fixture_json("{\"_id\": 1}");
    planned.sort = sort;
    assert_true(ash__point_applies(filter, &direct, &id));
    assert_false(ash__point_applies(filter, &planned, &id));
    char *a = answer(f, c, filter, &direct), *b = answer(f, c, filter, &planned);
    assert_string_equal(a, b);
    int count = strcmp(a, "{ }") != 0;
    bson_free(a);
    bson_free(b);
    bson_destroy(sort);
    return count;
}

static void test_store_embedded_point__answers_as_the_planned_find(void **state)
{
    fixture *f = *state;
    int found = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(stored); i++)
        assert_ok(fixture_insert(f, f->c, stored[i]), &f->err);
    for (size_t i = 0; i < ASH_ARRAY_LEN(ids); i++) {
        bson_t *filter = fixture_json(ids[i]);
        found += compare(f, f->c, filter);
        bson_destroy(filter);
    }
    assert_int_equal(found, 8); /* 1 by two types, and one for each other type stored */
}

static void test_store_embedded_point__takes_the_collections_collation(void **state)
{
    fixture *f = *state;
    ash_collection *c = NULL;
    bson_t *options = fixture_json("{\"collation\": {\"locale\": \"en\", \"strength\": 2}}");
    bson_t *filter = fixture_json("{\"_id\": \"tExT\"}");
    assert_ok(ash_collection_new(f->store, "test", "folded", &c, &f->err), &f->err);
    assert_ok(ash_collection_create(c, options, NULL, &f->err), &f->err);
    assert_ok(fixture_insert(f, c, stored[2]), &f->err);
    assert_int_equal(compare(f, c, filter), 1);
    bson_destroy(filter);
    bson_destroy(options);
    ash_collection_free(c);
}

static void test_store_embedded_point__large_long_and_missing(void **state)
{
    fixture *f = *state;
    ash_collection *none = NULL;
    bson_t *chunk = fixture_chunk(1, 0, 0, 100000);
    bson_t filter = BSON_INITIALIZER, doc = BSON_INITIALIZER;
    char id[1001];
    bson_iter_t it;
    assert_ok(ash_collection_insert_one(f->c, chunk, NULL, &f->err), &f->err);
    assert_true(bson_iter_init_find(&it, chunk, "_id"));
    bson_append_iter(&filter, "_id", 3, &it);
    assert_int_equal(compare(f, f->c, &filter), 1);
    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    for (int i = 0; i < 3; i++) {
        id[999] = (char)('0' + i);
        bson_reinit(&doc);
        bson_append_utf8(&doc, "_id", 3, id, -1);
        if (i < 2)
            assert_ok(ash_collection_insert_one(f->c, &doc, NULL, &f->err), &f->err);
        assert_int_equal(compare(f, f->c, &doc), i < 2);
    }
    assert_ok(ash_collection_new(f->store, "test", "none", &none, &f->err), &f->err);
    assert_int_equal(compare(f, none, &filter), 0);
    ash_collection_free(none);
    bson_destroy(chunk);
    bson_destroy(&filter);
    bson_destroy(&doc);
}

static void test_store_embedded_point__leaves_the_rest_to_the_planner(void **state)
{
    fixture *f = *state;
    static const char pattern[] =
        "{\"_id\": {\"$regularExpression\": {\"pattern\": \"a\", \"options\": \"\"}}}";
    static const char *const others[] = {"{}",
                                         "{\"_id\": null}",
                                         "{\"_id\": {\"$gt\": 1}}",
                                         "{\"_id\": {\"a\": 1}}",
                                         "{\"_id\": [1]}",
                                         "{\"_id\": 1, \"v\": 1}",
                                         "{\"v\": 1}",
                                         pattern,
                                         "{\"_id\": {\"$numberDouble\": \"1.5\"}}"};
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_value id;
    (void)f;
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++) {
        bson_t *filter = fixture_json(others[i]);
        assert_false(ash__point_applies(filter, &o, &id));
        bson_destroy(filter);
    }
    bson_t *filter = fixture_json(ids[0]);
    assert_true(ash__point_applies(filter, &o, &id));
    o.skip = 1;
    assert_false(ash__point_applies(filter, &o, &id));
    o.skip = 0;
    o.projection = filter;
    assert_false(ash__point_applies(filter, &o, &id));
    bson_destroy(filter);
}

typedef struct looked {
    fixture *f;
    int before, after;
} looked;

static int look_twice(ash_transaction *t, void *ctx, ash_error *err)
{
    looked *l = ctx;
    bson_t *filter = fixture_json(ids[0]);
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t out;
    ash_error own = ASH_ERROR_INIT;
    (void)err;
    o.op.transaction = t;
    l->before = ash_collection_find_one(l->f->c, filter, &o, &out, &own);
    assert_ok(fixture_insert(l->f, l->f->c, stored[0]), &l->f->err);
    l->after = ash_collection_find_one(l->f->c, filter, &o, &out, &own);
    bson_destroy(filter);
    return 0;
}

static void test_store_embedded_point__a_look_sees_one_moment(void **state)
{
    fixture *f = *state;
    looked l = {.f = f};
    ash_op op = {.size = sizeof(ash_op), .transaction = NULL};
    assert_ok(fixture_insert(f, f->c, stored[1]), &f->err);
    assert_true(ash__store_can_look(f->store));
    assert_ok(ash__store_look(f->store, look_twice, &l, &op, &f->err), &f->err);
    assert_int_equal(l.before, ASH_ENOTFOUND);
    assert_int_equal(l.after, ASH_ENOTFOUND);
    assert_int_equal(fixture_count(f, f->c, ids[0]), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_store_embedded_point__answers_as_the_planned_find),
        EMBEDDED(test_store_embedded_point__takes_the_collections_collation),
        EMBEDDED(test_store_embedded_point__large_long_and_missing),
        EMBEDDED(test_store_embedded_point__leaves_the_rest_to_the_planner),
        EMBEDDED(test_store_embedded_point__a_look_sees_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
