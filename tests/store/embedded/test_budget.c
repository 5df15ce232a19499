/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/share.h"
#include "store/embedded/kit/filters.h"

#include <pthread.h>
#include <string.h>

enum { LIMIT_MS = 200, SOON_MS = 15000, TEXT_BYTES = 2000000 };

/* Minutes of comparing, for one document. */
#define COMPARING                                                                                  \
    "{\"$size\":{\"$filter\":{\"input\":{\"$range\":[0,1000000]},"                                 \
    "\"cond\":{\"$eq\":[\"$a\",\"$b\"]}}}}"
#define NESTED                                                                                     \
    "{\"$size\":{\"$map\":{\"input\":{\"$range\":[0,100000]},\"in\":{\"$size\":"                   \
    "{\"$range\":[0,1000]}}}}}"

#define IN_FILTER "{\"$expr\":{\"$gt\":[" NESTED ",0]}}"

static void insert_long(fixture *f)
{
    bson_t b = BSON_INITIALIZER;
    char *text = ash__alloc(TEXT_BYTES + 1);
    memset(text, 'a', TEXT_BYTES);
    bson_append_int32(&b, "_id", -1, 1);
    text[TEXT_BYTES - 1] = 'x';
    bson_append_utf8(&b, "a", -1, text, TEXT_BYTES);
    text[TEXT_BYTES - 1] = 'y';
    bson_append_utf8(&b, "b", -1, text, TEXT_BYTES);
    assert_ok(ash_collection_insert_one(f->c, &b, NULL, &f->err), &f->err);
    ash__free(text);
    bson_destroy(&b);
}

static void expect_late(fixture *f, int rc, int64_t started)
{
    assert_int_equal(rc, ASH_ETIMEOUT);
    assert_int_equal(ash_error_server_code(&f->err), 50);
    assert_true(ash__clock_ms() - started < SOON_MS);
}

static void test_embedded_budget__one_expression_of_a_pipeline(void **state)
{
    static const char *const pipelines[] = {"[{\"$project\":{\"x\":" COMPARING "}}]",
                                            "[{\"$project\":{\"x\":" NESTED "}}]"};
    fixture *f = *state;
    insert_long(f);
    for (size_t i = 0; i < ASH_ARRAY_LEN(pipelines); i++) {
        ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
        bson_t *pipeline = fixture_json(pipelines[i]);
        ash_cursor *cursor = NULL;
        ash_batch batch;
        int64_t started = ash__clock_ms();
        o.op.deadline_ms = ash_deadline(LIMIT_MS);
        int rc = ash_collection_aggregate(f->c, pipeline, &o, &cursor, &f->err);
        if (rc == 0)
            rc = ash_cursor_next_batch(cursor, 0, 0, &batch, &f->err);
        expect_late(f, rc, started);
        ash_cursor_free(cursor);
        bson_destroy(pipeline);
    }
}

static int modify(fixture *f, int64_t limit_ms)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t *stages = fixture_json("[{\"$set\":{\"s\":" COMPARING "}}]");
    bson_value_t update = {.value_type = BSON_TYPE_ARRAY};
    update.value.v_doc.data = bson_destroy_with_steal(bson_copy(stages), true, NULL);
    update.value.v_doc.data_len = stages->len;
    o.update = &update;
    o.op.deadline_ms = ash_deadline(limit_ms);
    int rc = ash_collection_find_and_modify(f->c, NULL, &o, NULL, NULL, NULL, &f->err);
    bson_free(update.value.v_doc.data);
    bson_destroy(stages);
    return rc;
}

static void test_embedded_budget__the_writer_goes_on(void **state)
{
    fixture *f = *state;
    insert_long(f);
    int64_t started = ash__clock_ms();
    expect_late(f, modify(f, LIMIT_MS), started);
    assert_ok(fixture_insert(f, f->c, "{\"_id\":2}"), &f->err);
    assert_true(ash__clock_ms() - started < SOON_MS);
    assert_int_equal(fixture_count(f, f->c, "{\"s\":{\"$exists\":true}}"), 0);
}

static void test_embedded_budget__the_writer_is_not_held_for_ever(void **state)
{
    fixture *f = *state;
    insert_long(f);
    int64_t started = ash__clock_ms();
    assert_int_equal(modify(f, 0), ASH_ETIMEOUT);
    assert_non_null(strstr(f->err.text, "all writers waited"));
    int64_t took = ash__clock_ms() - started;
    assert_true(took >= ASH_BUDGET_TURN_MS - 100 && took < ASH_BUDGET_TURN_MS + SOON_MS);
    assert_ok(fixture_insert(f, f->c, "{\"_id\":2}"), &f->err);
}

/* {a: {$in: [patterns that no text matches soon]}} */
static void append_patterns(bson_t *filter)
{
    bson_t inner, list;
    char name[12];
    bson_append_document_begin(filter, "a", -1, &inner);
    bson_append_array_begin(&inner, "$in", -1, &list);
    for (uint32_t i = 0; i < 20000; i++) {
        char pattern[32];
        snprintf(pattern, sizeof pattern, "[ab]q%u$", i);
        bson_append_regex(&list, ash__index_name(i, name), -1, pattern, "i");
    }
    bson_append_array_end(&inner, &list);
    bson_append_document_end(filter, &inner);
}

static void test_embedded_budget__many_patterns(void **state)
{
    fixture *f = *state;
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    insert_long(f);
    append_patterns(&filter);
    int64_t started = ash__clock_ms();
    o.op.deadline_ms = ash_deadline(LIMIT_MS);
    int rc = ash_collection_find(f->c, &filter, &o, &cursor, &f->err);
    if (rc == 0)
        rc = ash_cursor_next_batch(cursor, 0, 0, &batch, &f->err);
    expect_late(f, rc, started);
    ash_cursor_free(cursor);
    bson_destroy(&filter);
}

/* A validator is compiled once; each write brings its own limit. */
static void test_embedded_budget__a_validator(void **state)
{
    fixture *f = *state;
    ash_collection *c = NULL;
    bson_t *options = fixture_json("{\"validator\":{\"$expr\":{\"$gt\":[" NESTED ",0]}}}");
    bson_t *doc = fixture_json("{\"_id\":1}");
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    assert_ok(ash_collection_new(f->store, "test", "checked", &c, &f->err), &f->err);
    assert_ok(ash_collection_create(c, options, NULL, &f->err), &f->err);
    int64_t started = ash__clock_ms();
    o.op.deadline_ms = ash_deadline(LIMIT_MS);
    expect_late(f, ash_collection_insert_one(c, doc, &o, &f->err), started);
    bson_destroy(options);
    bson_destroy(doc);
    ash_collection_free(c);
}

/* The same patterns as a partial index's filter: the build ends, and leaves no index. */
static void test_embedded_budget__an_index_build(void **state)
{
    fixture *f = *state;
    bson_t specs = BSON_INITIALIZER, spec, filter = BSON_INITIALIZER,
           *key = fixture_json("{\"k\":1}");
    ash_op op = ASH_OP_INIT;
    insert_long(f);
    append_patterns(&filter);
    bson_append_document_begin(&specs, "0", -1, &spec);
    bson_append_document(&spec, "key", -1, key);
    bson_append_utf8(&spec, "name", -1, "k", -1);
    bson_append_document(&spec, "partialFilterExpression", -1, &filter);
    bson_append_document_end(&specs, &spec);
    int64_t started = ash__clock_ms();
    op.deadline_ms = ash_deadline(LIMIT_MS);
    expect_late(f, ash_collection_create_indexes(f->c, &specs, &op, NULL, &f->err), started);
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    name.value.v_utf8.str = (char *)(uintptr_t) "k";
    name.value.v_utf8.len = 1;
    assert_int_equal(ash_collection_drop_indexes(f->c, &name, NULL, &f->err), ASH_ENOTFOUND);
    assert_ok(fixture_insert(f, f->c, "{\"_id\":2}"), &f->err);
    bson_destroy(&specs);
    bson_destroy(&filter);
    bson_destroy(key);
}

static void test_embedded_budget__distinct_and_explain(void **state)
{
    static const char *const commands[] = {
        "{\"find\":\"c\",\"filter\":" IN_FILTER "}",
        "{\"aggregate\":\"c\",\"pipeline\":[{\"$match\":" IN_FILTER "}],\"cursor\":{}}"};
    fixture *f = *state;
    ash_op op = ASH_OP_INIT;
    bson_t out, *filter = fixture_json(IN_FILTER);
    assert_ok(fixture_insert(f, f->c, "{\"_id\":1}"), &f->err);
    int64_t started = ash__clock_ms();
    op.deadline_ms = ash_deadline(LIMIT_MS);
    expect_late(f, ash_collection_distinct(f->c, "_id", filter, NULL, &op, &out, &f->err), started);
    for (size_t i = 0; i < ASH_ARRAY_LEN(commands); i++) {
        bson_t *command = fixture_json(commands[i]);
        started = ash__clock_ms();
        op.deadline_ms = ash_deadline(LIMIT_MS);
        expect_late(f, ash_collection_explain(f->c, command, "executionStats", &op, &out, &f->err),
                    started);
        bson_destroy(command);
    }
    bson_destroy(filter);
}

static void test_embedded_budget__a_list_of_collections(void **state)
{
    fixture *f = *state;
    ash_op op = ASH_OP_INIT;
    ash_cursor *cursor = NULL;
    bson_t *filter = fixture_json(IN_FILTER),
           *fails = fixture_json("{\"$expr\":{\"$divide\":[1,0]}}");
    assert_ok(fixture_insert(f, f->c, "{\"_id\":1}"), &f->err);
    int64_t started = ash__clock_ms();
    op.deadline_ms = ash_deadline(LIMIT_MS);
    expect_late(f, ash_store_list_collections(f->store, "test", filter, &op, &cursor, &f->err),
                started);
    assert_int_equal(ash_store_list_collections(f->store, "test", fails, NULL, &cursor, &f->err),
                     ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&f->err), 2);
    bson_destroy(filter);
    bson_destroy(fails);
}

static void *cancel_soon(void *flag)
{
    ash__clock_sleep_ms(LIMIT_MS);
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* The stages behind a change stream end with the deadline of one wait, and when it is cancelled. */
static void test_embedded_budget__a_watch(void **state)
{
    fixture *f = *state;
    bson_t *stages = fixture_json("[{\"$set\":{\"x\":" NESTED "}}]");
    int cancel = 0;
    for (int cancels = 0; cancels < 2; cancels++) {
        ash_watch_options o = ASH_WATCH_OPTIONS_INIT;
        ash_cursor *cursor = NULL;
        ash_batch batch;
        pthread_t thread;
        o.pipeline = stages;
        assert_ok(ash_store_watch(f->store, "test", "things", &o, &cursor, &f->err), &f->err);
        assert_ok(fixture_insert(f, f->c, "{}"), &f->err);
        int64_t started = ash__clock_ms();
        ash_cursor_set_op(cursor, cancels ? 0 : ash_deadline(LIMIT_MS), &cancel, 0);
        if (cancels)
            assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel), 0);
        int rc = ash_cursor_next_batch(cursor, 0, 0, &batch, &f->err);
        if (!cancels) {
            expect_late(f, rc, started);
        } else {
            pthread_join(thread, NULL);
            assert_int_equal(rc, ASH_EINTERRUPTED);
            assert_true(ash__clock_ms() - started < SOON_MS);
        }
        ash_cursor_free(cursor);
    }
    bson_destroy(stages);
}

static int open_large(fixture *f, const char *stages, ash_cursor **cursor)
{
    bson_t *pipeline = fixture_json(stages);
    ash_batch batch;
    int rc = ash_collection_aggregate(f->c, pipeline, NULL, cursor, &f->err);
    if (rc == 0)
        rc = ash_cursor_next_batch(*cursor, 1, 0, &batch, &f->err);
    bson_destroy(pipeline);
    return rc;
}

/* One result fits, three together do not; each works once the others are gone. */
static void test_embedded_budget__results_share_memory(void **state)
{
    static const char *const pipelines[] = {
        "[{\"$sort\":{\"_id\":-1,\"b\":1}}]",
        "[{\"$group\":{\"_id\":1,\"all\":{\"$push\":\"$a\"}}}]",
        "[{\"$facet\":{\"n\":[{\"$count\":\"n\"}]}}]",
        "[{\"$sample\":{\"size\":10}}]",
    };
    fixture *f = *state;
    insert_long(f);
    ash__share_set_total(6 * 1024 * 1024);
    for (size_t i = 0; i < ASH_ARRAY_LEN(pipelines); i++) {
        ash_cursor *cursors[4] = {NULL};
        size_t opened = 0;
        int rc = 0;
        while (rc == 0 && opened < ASH_ARRAY_LEN(cursors))
            rc = open_large(f, pipelines[i], &cursors[opened++]);
        assert_true(opened > 1);
        assert_int_equal(rc, ASH_ENOMEM);
        assert_int_equal(ash_error_server_code(&f->err), 146);
        for (size_t k = 0; k < opened; k++)
            ash_cursor_free(cursors[k]);
        assert_int_equal(ash__share_used(), 0);
        ash_cursor *again = NULL;
        assert_ok(open_large(f, pipelines[i], &again), &f->err);
        ash_cursor_free(again);
    }
    ash_cursor *cursor = NULL;
    int rc = open_large(f,
                        "[{\"$project\":{\"x\":{\"$size\":{\"$map\":{\"input\":{\"$range\":[0,90]},"
                        "\"in\":{\"$strLenBytes\":{\"$concat\":[\"$a\",\"$b\"]}}}}}}}]",
                        &cursor);
    assert_int_equal(rc, ASH_ENOMEM);
    ash_cursor_free(cursor);
    assert_int_equal(ash__share_used(), 0);
    ash__share_set_total(0);
}

/* What a sorted cursor has given out it does not keep. */
static void test_embedded_budget__sorted_cursors_shrink(void **state)
{
    enum { DOCS = 8, DOC_BYTES = 1024 * 1024 };
    fixture *f = *state;
    bson_t sort = BSON_INITIALIZER;
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    char *text = ash__alloc(DOC_BYTES);
    size_t before = SIZE_MAX;
    for (int i = 0; i < DOCS; i++) {
        bson_t b = BSON_INITIALIZER;
        bson_append_int32(&b, "_id", -1, i);
        bson_append_binary(&b, "x", -1, BSON_SUBTYPE_BINARY, (const uint8_t *)text, DOC_BYTES);
        assert_ok(ash_collection_insert_one(f->c, &b, NULL, &f->err), &f->err);
        bson_destroy(&b);
    }
    bson_append_int32(&sort, "k", -1, 1);
    o.sort = &sort;
    assert_ok(ash_collection_find(f->c, NULL, &o, &cursor, &f->err), &f->err);
    for (int i = 0; i < DOCS; i++) {
        ash_batch batch;
        assert_ok(ash_cursor_next_batch(cursor, i % 2 == 0 ? 1 : 0,
                                        i % 2 == 0 ? 0 : DOC_BYTES + DOC_BYTES / 2, &batch,
                                        &f->err),
                  &f->err);
        assert_int_equal(batch.count, 1);
        assert_int_equal(ash__value_int32(ash__doc_get(batch.docs[0], "_id")), i);
        assert_int_equal(batch.docs[0].len > DOC_BYTES, 1);
        assert_true(ash__share_used() < before);
        before = ash__share_used();
    }
    ash_cursor_free(cursor);
    assert_int_equal(ash__share_used(), 0);
    bson_destroy(&sort);
    ash__free(text);
}

/* A filter that ran out of time has not said no: a document would go into a partial index or not,
 * or past a validator, as the clock has it. */
static void test_embedded_budget__filters_do_not_guess(void **state)
{
    const volatile int cancel = 1;
    ash_error err = ASH_ERROR_INIT;
    void *filter = NULL;
    int given_up = 0;
    bson_t *spec = fixture_json("{\"a\":{\"$gt\":0}}");
    bson_t *doc = fixture_json("{\"a\":1}");
    (void)state;
    assert_ok(ash__embedded_hooks.compile(spec, NULL, &filter, &err), &err);
    ash_budget outer = ash__budget_enter(0, &cancel, 0);
    for (int i = 0; i < 100; i++) {
        bool matches = false;
        int rc = ash__embedded_hooks.test(filter, ash__doc_from_bson(doc), &matches, &err);
        assert_true(rc == (matches ? 0 : ASH_EINTERRUPTED));
        given_up += rc != 0;
    }
    ash__budget_leave(outer);
    assert_true(given_up > 0);
    ash__embedded_hooks.free(filter);
    bson_destroy(spec);
    bson_destroy(doc);
}

/* There are 2^40 ways of a path of numbers through this document. */
static void test_embedded_budget__distinct_of_numbers(void **state)
{
    enum { DEEP = 40 };
    fixture *f = *state;
    ash_buffer text = ASH_BUFFER_INIT, key = ASH_BUFFER_INIT;
    ash_op op = {.size = sizeof(ash_op), .durability = ASH_DURABILITY_DEFAULT};
    bson_t out;
    for (int i = 0; i < DEEP; i++)
        ash__buffer_append_text(&text, "{\"0\":[");
    for (int i = 0; i < DEEP; i++)
        ash__buffer_append_text(&text, "]}");
    for (int i = 0; i < 2 * DEEP + 10; i++)
        ash__buffer_append_text(&key, i == 0 ? "0" : ".0");
    assert_ok(fixture_insert(f, f->c, ash__buffer_text(&text)), &f->err);
    int64_t started = ash__clock_ms();
    op.deadline_ms = ash_deadline(LIMIT_MS);
    expect_late(
        f, ash_collection_distinct(f->c, ash__buffer_text(&key), NULL, NULL, &op, &out, &f->err),
        started);
    ash__buffer_release(&text);
    ash__buffer_release(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMBEDDED(test_embedded_budget__one_expression_of_a_pipeline),
        EMBEDDED(test_embedded_budget__the_writer_goes_on),
        EMBEDDED(test_embedded_budget__the_writer_is_not_held_for_ever),
        EMBEDDED(test_embedded_budget__many_patterns),
        EMBEDDED(test_embedded_budget__a_validator),
        EMBEDDED(test_embedded_budget__an_index_build),
        EMBEDDED(test_embedded_budget__distinct_and_explain),
        EMBEDDED(test_embedded_budget__a_list_of_collections),
        EMBEDDED(test_embedded_budget__a_watch),
        EMBEDDED(test_embedded_budget__results_share_memory),
        EMBEDDED(test_embedded_budget__sorted_cursors_shrink),
        EMBEDDED(test_embedded_budget__filters_do_not_guess),
        EMBEDDED(test_embedded_budget__distinct_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
