/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static ash_cursor *watch(contract *t, const char *coll, ash_watch_options *opts)
{
    ash_cursor *cursor = NULL;
    assert_ok(ash_store_watch(t->store, t->db, coll, opts, &cursor, &t->err), &t->err);
    return cursor;
}

/* The next event as text, or "" when there is none; *token (if given) is a copy of its _id. */
static const char *next_event(contract *t, ash_cursor *cursor, bson_t *token)
{
    ash_doc doc;
    bson_t b;
    bson_iter_t it;
    assert_ok(ash_cursor_next(cursor, &doc, &t->err), &t->err);
    if (doc.data == NULL)
        return "";
    assert_true(bson_init_static(&b, doc.data, doc.len));
    if (token != NULL) {
        const uint8_t *data;
        uint32_t len;
        assert_true(bson_iter_init_find(&it, &b, "_id"));
        bson_iter_document(&it, &len, &data);
        assert_true(bson_init_static(token, data, len));
        token = NULL;
    }
    return compact_json(&b);
}

static bson_t *copy_token(contract *t, ash_cursor *cursor, const char **text)
{
    bson_t token;
    *text = next_event(t, cursor, &token);
    assert_true((*text)[0] != '\0');
    /* Kept by the test as JSON, so that it is freed with the rest. */
    char *copy = bson_as_canonical_extended_json(&token, NULL);
    bson_t *out = json(copy);
    bson_free(copy);
    return out;
}

static void expect(const char *event, const char *part)
{
    if (event == NULL || strstr(event, part) == NULL)
        fail_msg("%s is not in %s", part, event != NULL ? event : "nothing");
}

static void change(contract *t, const char *filter, const char *update)
{
    ash_write_result r;
    ash_write_result_init(&r);
    assert_ok(update_json(t, t->c, filter, update, NULL, &r), &t->err);
    ash_write_result_release(&r);
}

/* A backend without change streams says so. */
static bool cannot_watch(contract *t)
{
    ash_cursor *cursor = NULL;
    if (t->can.watch)
        return false;
    assert_int_equal(ash_store_watch(t->store, t->db, "things", NULL, &cursor, &t->err),
                     ASH_EUNSUPPORTED);
    return true;
}

static void test_contract_watch__every_kind_of_change(void **state)
{
    contract *t = *state;
    if (cannot_watch(t))
        return;
    ash_cursor *cursor = watch(t, "things", NULL);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":1,\"l\":[1,2]}"), &t->err);
    change(t, "{\"_id\":1}", "{\"$set\":{\"a\":2},\"$unset\":{\"l\":1}}");
    change(t, "{\"_id\":1}", "{\"z\":1}");
    assert_ok(ash_collection_remove(t->c, json("{\"_id\":1}"), NULL, NULL, &t->err), &t->err);
    const char *e = next_event(t, cursor, NULL);
    expect(e, "\"operationType\":\"insert\"");
    expect(e, "\"fullDocument\":{\"_id\":1,\"a\":1,\"l\":[1,2]}");
    expect(e, "\"documentKey\":{\"_id\":1}");
    expect(e, "\"coll\":\"things\"");
    e = next_event(t, cursor, NULL);
    expect(e, "\"operationType\":\"update\"");
    expect(e, "\"updatedFields\":{\"a\":2}");
    expect(e, "\"removedFields\":[\"l\"]");
    assert_null(strstr(e, "fullDocument"));
    e = next_event(t, cursor, NULL);
    expect(e, "\"operationType\":\"replace\"");
    expect(e, "\"fullDocument\":{\"_id\":1,\"z\":1}");
    e = next_event(t, cursor, NULL);
    expect(e, "\"operationType\":\"delete\"");
    ash_cursor_set_op(cursor, 0, NULL, 10);
    assert_string_equal(next_event(t, cursor, NULL), "");
    ash_cursor_free(cursor);
}

static void test_contract_watch__update_lookup(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    if (cannot_watch(t))
        return;
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":1}"), &t->err);
    opts.full_document = "updateLookup";
    ash_cursor *cursor = watch(t, "things", &opts);
    change(t, "{\"_id\":1}", "{\"$inc\":{\"a\":1}}");
    change(t, "{\"_id\":1}", "{\"$inc\":{\"a\":1}}");
    const char *e = next_event(t, cursor, NULL);
    expect(e, "\"updatedFields\":{\"a\":2}");
    expect(e, "\"fullDocument\":{\"_id\":1,\"a\":3}");
    ash_cursor_free(cursor);
}

static void test_contract_watch__resumes_after_a_token(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    const char *e;
    if (cannot_watch(t))
        return;
    ash_cursor *cursor = watch(t, "things", NULL);
    for (int i = 0; i < 5; i++) {
        char text[30];
        snprintf(text, sizeof text, "{\"_id\":%d}", i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    next_event(t, cursor, NULL);
    opts.resume_after = copy_token(t, cursor, &e);
    expect(e, "\"documentKey\":{\"_id\":1}");
    ash_cursor_free(cursor);
    cursor = watch(t, "things", &opts);
    for (int i = 2; i < 5; i++) {
        char text[40];
        snprintf(text, sizeof text, "\"documentKey\":{\"_id\":%d}", i);
        expect(next_event(t, cursor, NULL), text);
    }
    ash_cursor_free(cursor);
    opts.resume_after = json("{\"_data\":\"beef\"}");
    cursor = NULL;
    int rc = ash_store_watch(t->store, t->db, "things", &opts, &cursor, &t->err);
    assert_true(rc != 0);
    ash_cursor_free(cursor);
}

static void test_contract_watch__drop_invalidates(void **state)
{
    contract *t = *state;
    if (cannot_watch(t))
        return;
    assert_ok(insert_json(t, t->c, "{\"_id\":1}"), &t->err);
    ash_cursor *cursor = watch(t, "things", NULL);
    assert_ok(ash_collection_drop(t->c, NULL, &t->err), &t->err);
    expect(next_event(t, cursor, NULL), "\"operationType\":\"drop\"");
    expect(next_event(t, cursor, NULL), "\"operationType\":\"invalidate\"");
    ash_cursor_set_op(cursor, 0, NULL, 10);
    assert_string_equal(next_event(t, cursor, NULL), "");
    ash_cursor_free(cursor);
}

static void test_contract_watch__pipeline_filters(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    if (cannot_watch(t))
        return;
    opts.pipeline = json("[{\"$match\":{\"fullDocument.a\":{\"$gt\":3}}},"
                         "{\"$project\":{\"fullDocument.a\":1}}]");
    ash_cursor *cursor = watch(t, "things", &opts);
    for (int i = 0; i < 6; i++) {
        char text[30];
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d}", i, i);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
    const char *e = next_event(t, cursor, NULL);
    expect(e, "\"fullDocument\":{\"a\":4}");
    assert_null(strstr(e, "operationType"));
    expect(next_event(t, cursor, NULL), "\"fullDocument\":{\"a\":5}");
    ash_cursor_free(cursor);
}

static void test_contract_watch__as_a_pipeline_stage(void **state)
{
    contract *t = *state;
    ash_cursor *cursor = NULL;
    if (cannot_watch(t))
        return;
    int rc =
        ash_collection_aggregate(t->c,
                                 json("[{\"$changeStream\":{\"fullDocument\":\"updateLookup\"}},"
                                      "{\"$match\":{\"operationType\":\"update\"}}]"),
                                 NULL, &cursor, &t->err);
    assert_ok(rc, &t->err);
    assert_ok(insert_json(t, t->c, "{\"_id\":1,\"a\":1}"), &t->err);
    change(t, "{\"_id\":1}", "{\"$set\":{\"a\":2}}");
    expect(next_event(t, cursor, NULL), "\"fullDocument\":{\"_id\":1,\"a\":2}");
    ash_cursor_free(cursor);
}

static void test_contract_watch__waits_for_the_commit(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    if (cannot_watch(t))
        return;
    opts.max_await_ms = 10000;
    ash_cursor *cursor = watch(t, NULL, &opts);
    insert_soon(t, 5);
    expect(next_event(t, cursor, NULL), "\"documentKey\":{\"_id\":5}");
    insert_soon_wait();
    ash_cursor_free(cursor);
}

static void test_contract_watch__large_documents_are_shown(void **state)
{
    contract *t = *state;
    ash_doc doc;
    bson_t b;
    bson_t full;
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    if (cannot_watch(t))
        return;
    ash_cursor *cursor = watch(t, "things", NULL);
    assert_ok(ash_collection_insert_one(t->c, big_document(3, 90000), NULL, &t->err), &t->err);
    assert_ok(ash_cursor_next(cursor, &doc, &t->err), &t->err);
    assert_non_null(doc.data);
    assert_true(bson_init_static(&b, doc.data, doc.len));
    assert_true(bson_iter_init_find(&it, &b, "fullDocument"));
    bson_iter_document(&it, &len, &data);
    assert_true(bson_init_static(&full, data, len));
    assert_true(bson_equal(&full, big_document(3, 90000)));
    ash_cursor_free(cursor);
}

/* The token of the newest batch, as a stream that lost its connection would use it. */
static bson_t *batch_token(contract *t, ash_cursor *cursor)
{
    ash_batch batch;
    bson_t token;
    ash_cursor_set_op(cursor, 0, NULL, 1);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &t->err), &t->err);
    assert_int_equal(batch.count, 0);
    assert_true(bson_init_static(&token, batch.resume_token.data, batch.resume_token.len));
    char *copy = bson_as_canonical_extended_json(&token, NULL);
    bson_t *out = json(copy);
    bson_free(copy);
    return out;
}

/* What ended an older stream does not end one that began behind it. */
static void test_contract_watch__resumes_behind_a_drop(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    const char *e;
    if (cannot_watch(t))
        return;
    assert_ok(insert_json(t, t->c, "{\"_id\":1}"), &t->err);
    ash_cursor *old = watch(t, "things", NULL);
    assert_ok(ash_collection_drop(t->c, NULL, &t->err), &t->err);
    ash_cursor *cursor = watch(t, "things", NULL);
    opts.resume_after = batch_token(t, cursor);
    ash_cursor_free(cursor);
    assert_ok(insert_json(t, t->c, "{\"_id\":2}"), &t->err);
    cursor = watch(t, "things", &opts);
    expect(next_event(t, cursor, NULL), "\"documentKey\":{\"_id\":2}");
    ash_cursor_free(cursor);
    /* From the drop itself on, it is told. */
    opts.resume_after = copy_token(t, old, &e);
    expect(e, "\"operationType\":\"drop\"");
    cursor = watch(t, "things", &opts);
    opts.resume_after = NULL;
    opts.start_after = copy_token(t, cursor, &e);
    expect(e, "\"operationType\":\"invalidate\"");
    ash_cursor_free(cursor);
    /* And behind the invalidate event it is not told again. */
    opts.pipeline = json("[{\"$match\":{\"documentKey._id\":3}}]");
    cursor = watch(t, "things", &opts);
    opts.start_after = NULL;
    opts.resume_after = batch_token(t, cursor);
    ash_cursor_free(cursor);
    cursor = watch(t, "things", &opts);
    assert_ok(insert_json(t, t->c, "{\"_id\":3}"), &t->err);
    expect(next_event(t, cursor, NULL), "\"documentKey\":{\"_id\":3}");
    ash_cursor_free(cursor);
    ash_cursor_free(old);
}

static void test_contract_watch__a_changed_id_is_refused(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    ash_doc doc;
    if (cannot_watch(t))
        return;
    opts.pipeline = json("[{\"$addFields\":{\"_id\":7}}]");
    ash_cursor *cursor = watch(t, "things", &opts);
    assert_ok(insert_json(t, t->c, "{\"_id\":1}"), &t->err);
    assert_true(ash_cursor_next(cursor, &doc, &t->err) != 0);
    assert_int_equal(ash_error_server_code(&t->err), 280);
    ash_cursor_free(cursor);
}

/* Images before and after may be larger together than a document: that is no concern of streams
 * that do not ask for them. */
static void test_contract_watch__large_images_end_no_other_stream(void **state)
{
    contract *t = *state;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    bson_t old;
    ash_doc doc;
    if (cannot_watch(t))
        return;
    assert_ok(ash_collection_insert_one(t->c, big_document(1, 9000000), NULL, &t->err), &t->err);
    assert_ok(ash_collection_modify(t->c,
                                    json("{\"changeStreamPreAndPostImages\":{\"enabled\":true}}"),
                                    NULL, &old, &t->err),
              &t->err);
    bson_destroy(&old);
    ash_cursor *all = watch(t, NULL, NULL), *own = watch(t, "things", NULL);
    opts.full_document_before_change = "required";
    opts.full_document = "required";
    ash_cursor *asks = watch(t, "things", &opts);
    change(t, "{\"_id\":1}", "{\"$set\":{\"k\":1}}");
    change(t, "{\"_id\":1}", "{\"$set\":{\"k\":2}}");
    expect(next_event(t, all, NULL), "\"updatedFields\":{\"k\":1}");
    expect(next_event(t, all, NULL), "\"updatedFields\":{\"k\":2}");
    expect(next_event(t, own, NULL), "\"updatedFields\":{\"k\":1}");
    assert_true(ash_cursor_next(asks, &doc, &t->err) != 0);
    assert_int_equal(ash_error_server_code(&t->err), 10334);
    ash_cursor_free(all);
    ash_cursor_free(own);
    ash_cursor_free(asks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_watch__every_kind_of_change),
        CONTRACT(test_contract_watch__update_lookup),
        CONTRACT(test_contract_watch__resumes_after_a_token),
        CONTRACT(test_contract_watch__drop_invalidates),
        CONTRACT(test_contract_watch__pipeline_filters),
        CONTRACT(test_contract_watch__as_a_pipeline_stage),
        CONTRACT(test_contract_watch__waits_for_the_commit),
        CONTRACT(test_contract_watch__large_documents_are_shown),
        CONTRACT(test_contract_watch__resumes_behind_a_drop),
        CONTRACT(test_contract_watch__a_changed_id_is_refused),
        CONTRACT(test_contract_watch__large_images_end_no_other_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
