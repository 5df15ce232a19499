/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static void fill(contract *t, int from, int to)
{
    for (int i = from; i < to; i++) {
        char text[60];
        snprintf(text, sizeof text, "{\"_id\":%d,\"a\":%d}", i, i % 7);
        assert_ok(insert_json(t, t->c, text), &t->err);
    }
}

static ash_cursor *open_cursor(contract *t, const char *filter, ash_find_options *opts)
{
    ash_cursor *cursor = NULL;
    assert_ok(ash_collection_find(t->c, json(filter), opts, &cursor, &t->err), &t->err);
    return cursor;
}

static int32_t id_of(const ash_doc *doc)
{
    bson_t b;
    bson_iter_t it;
    assert_true(bson_init_static(&b, doc->data, doc->len));
    assert_true(bson_iter_init_find(&it, &b, "_id"));
    return bson_iter_int32(&it);
}

/* The number at the documents' end, without the document before it. */
static int64_t record_id_of(contract *t, ash_find_options *opts, int32_t id)
{
    ash_doc doc;
    bson_t b;
    bson_iter_t it;
    char filter[40];
    snprintf(filter, sizeof filter, "{\"_id\":%d}", (int)id);
    ash_cursor *cursor = open_cursor(t, filter, opts);
    assert_ok(ash_cursor_next(cursor, &doc, &t->err), &t->err);
    assert_non_null(doc.data);
    assert_int_equal(id_of(&doc), id);
    assert_true(bson_init_static(&b, doc.data, doc.len));
    assert_true(bson_iter_init_find(&it, &b, "$recordId") && BSON_ITER_HOLDS_INT64(&it));
    int64_t number = bson_iter_int64(&it);
    assert_false(bson_iter_next(&it));
    ash_cursor_free(cursor);
    return number;
}

static void test_contract_cursors__record_ids_are_shown(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    fill(t, 0, 3);
    opts.show_record_id = true;
    int64_t first = record_id_of(t, &opts, 0), last = record_id_of(t, &opts, 2);
    assert_true(first < last);
    opts.projection = json("{\"a\":1}");
    assert_int_equal(record_id_of(t, &opts, 2), last);
    opts.sort = json("{\"a\":-1}");
    assert_int_equal(record_id_of(t, &opts, 0), first);
}

static void test_contract_cursors__batches_keep_their_limits(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_batch batch;
    int next = 0;
    fill(t, 0, 250);
    opts.sort = json("{\"_id\":1}");
    opts.batch_size = 60;
    ash_cursor *cursor = open_cursor(t, "{}", &opts);
    do {
        assert_ok(ash_cursor_next_batch(cursor, 60, 0, &batch, &t->err), &t->err);
        assert_true(batch.count <= 60);
        for (size_t i = 0; i < batch.count; i++)
            assert_int_equal(id_of(&batch.docs[i]), next++);
    } while (!batch.exhausted);
    assert_int_equal(next, 250);
    ash_cursor_free(cursor);
}

static void test_contract_cursors__byte_limit_gives_at_least_one(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_batch batch;
    int next = 0;
    for (int i = 0; i < 8; i++)
        assert_ok(ash_collection_insert_one(t->c, big_document(i, 60000), NULL, &t->err), &t->err);
    opts.sort = json("{\"_id\":1}");
    ash_cursor *cursor = open_cursor(t, "{}", &opts);
    do {
        size_t bytes = 0;
        assert_ok(ash_cursor_next_batch(cursor, 0, next == 0 ? 1000 : 130000, &batch, &t->err),
                  &t->err);
        for (size_t i = 0; i < batch.count; i++, next++) {
            bson_t b;
            assert_true(bson_init_static(&b, batch.docs[i].data, batch.docs[i].len));
            assert_true(bson_equal(&b, big_document(next, 60000)));
            bytes += batch.docs[i].len;
        }
        assert_true(batch.count <= 1 || bytes <= 130000);
    } while (!batch.exhausted);
    assert_int_equal(next, 8);
    ash_cursor_free(cursor);
}

/* What was not changed comes exactly once, whatever else is deleted and inserted on the way. */
static void test_contract_cursors__changes_on_the_way(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    int seen[400] = {0};
    ash_batch batch;
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\"}]", NULL), &t->err);
    fill(t, 0, 300);
    opts.batch_size = 10;
    ash_cursor *cursor = open_cursor(t, "{\"a\":{\"$gte\":0}}", &opts);
    for (int round = 0;; round++) {
        char filter[40];
        assert_ok(ash_cursor_next_batch(cursor, 10, 0, &batch, &t->err), &t->err);
        for (size_t i = 0; i < batch.count; i++)
            seen[id_of(&batch.docs[i])]++;
        if (batch.exhausted)
            break;
        snprintf(filter, sizeof filter, "{\"_id\":%d}", round * 4);
        assert_ok(ash_collection_remove(t->c, json(filter), NULL, NULL, &t->err), &t->err);
        fill(t, 300 + round, 301 + round);
    }
    for (int i = 0; i < 300; i++) {
        assert_true(seen[i] <= 1);
        if (i % 4 != 0)
            assert_int_equal(seen[i], 1);
    }
    ash_cursor_free(cursor);
}

static void test_contract_cursors__dropped_collection(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_batch batch;
    fill(t, 0, 300);
    opts.batch_size = 10;
    ash_cursor *cursor = open_cursor(t, "{}", &opts);
    assert_ok(ash_cursor_next_batch(cursor, 10, 0, &batch, &t->err), &t->err);
    assert_ok(ash_collection_drop(t->c, NULL, &t->err), &t->err);
    int rc;
    int batches = 0;
    do
        rc = ash_cursor_next_batch(cursor, 10, 0, &batch, &t->err);
    while (rc == 0 && !batch.exhausted && ++batches < 100);
    assert_int_equal(rc, ASH_ECURSOR);
    assert_int_equal(ash_error_server_code(&t->err), 175);
    ash_cursor_free(cursor);
}

static void test_contract_cursors__deadline_and_cancel(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    volatile int cancel = 1;
    ash_batch batch;
    fill(t, 0, 50);
    ash_cursor *cursor = open_cursor(t, "{}", &opts);
    ash_cursor_set_op(cursor, 1, NULL, -1);
    assert_int_equal(ash_cursor_next_batch(cursor, 10, 0, &batch, &t->err), ASH_ETIMEOUT);
    assert_int_equal(ash_error_server_code(&t->err), 50);
    ash_cursor_set_op(cursor, 0, &cancel, -1);
    assert_int_equal(ash_cursor_next_batch(cursor, 10, 0, &batch, &t->err), ASH_EINTERRUPTED);
    ash_cursor_free(cursor);
}

static void create_capped(contract *t, const char *options)
{
    assert_ok(ash_collection_create(t->c, json(options), NULL, &t->err), &t->err);
}

static void test_contract_cursors__capped_keeps_the_newest(void **state)
{
    contract *t = *state;
    create_capped(t, "{\"capped\":true,\"size\":1000000,\"max\":5}");
    fill(t, 0, 12);
    assert_string_equal(found(t, t->c, "{}", NULL, "{\"_id\":1}", 0, 0),
                        "[{\"_id\":7},{\"_id\":8},{\"_id\":9},{\"_id\":10},{\"_id\":11}]");
    assert_string_equal(found(t, t->c, "{}", "{\"$natural\":-1}", "{\"_id\":1}", 0, 2),
                        "[{\"_id\":11},{\"_id\":10}]");
}

static void test_contract_cursors__tailable_waits(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_batch batch;
    create_capped(t, "{\"capped\":true,\"size\":1000000}");
    fill(t, 0, 3);
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1},\"name\":\"a_1\"}]", NULL), &t->err);
    opts.tailable = true;
    opts.await_data = true;
    opts.max_await_ms = 10000;
    opts.sort = json("{\"$natural\":1}");
    ash_cursor *cursor = open_cursor(t, "{\"a\":{\"$gte\":0}}", &opts);
    for (size_t seen = 0; seen < 3; seen += batch.count) {
        assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &t->err), &t->err);
        assert_true(batch.count > 0 && !batch.exhausted);
    }
    insert_soon(t, 77);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &t->err), &t->err);
    insert_soon_wait();
    assert_int_equal(batch.count, 1);
    assert_int_equal(id_of(&batch.docs[0]), 77);
    ash_cursor_set_op(cursor, 0, NULL, 20);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &t->err), &t->err);
    assert_int_equal(batch.count, 0);
    assert_false(batch.exhausted);
    ash_cursor_free(cursor);
}

static void test_contract_cursors__tailable_needs_capped(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch;
    fill(t, 0, 3);
    opts.tailable = true;
    int rc = ash_collection_find(t->c, json("{}"), &opts, &cursor, &t->err);
    if (rc == 0)
        rc = ash_cursor_next_batch(cursor, 0, 0, &batch, &t->err);
    assert_int_equal(rc, ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&t->err), 2);
    ash_cursor_free(cursor);
}

static void test_contract_cursors__collections_are_listed(void **state)
{
    contract *t = *state;
    ash_cursor *cursor = NULL;
    ash_collection *other = open_collection(t, "other");
    fill(t, 0, 1);
    assert_ok(insert_json(t, other, "{\"_id\":1}"), &t->err);
    assert_ok(ash_store_list_collections(t->store, t->db, json("{\"name\":\"other\"}"), NULL,
                                         &cursor, &t->err),
              &t->err);
    const char *list = drain(t, cursor);
    assert_non_null(strstr(list, "{\"name\":\"other\",\"type\":\"collection\",\"options\":{}"));
    assert_null(strstr(list, "things"));
    assert_ok(ash_collection_rename(other, t->db, "renamed", false, NULL, &t->err), &t->err);
    ash_collection *renamed = open_collection(t, "renamed");
    assert_true(count_json(t, renamed, "{}") == 1);
    assert_int_equal(ash_collection_rename(renamed, t->db, "things", false, NULL, &t->err),
                     ASH_EEXISTS);
    assert_ok(ash_collection_rename(renamed, t->db, "things", true, NULL, &t->err), &t->err);
    assert_string_equal(found(t, t->c, "{}", NULL, NULL, 0, 0), "[{\"_id\":1}]");
    ash_collection_free(renamed);
    ash_collection_free(other);
}

static void test_contract_cursors__explain_shows_the_index(void **state)
{
    contract *t = *state;
    bson_t out;
    assert_ok(index_json(t, t->c, "[{\"key\":{\"a\":1,\"_id\":1},\"name\":\"a_id\"}]", NULL),
              &t->err);
    fill(t, 0, 70);
    assert_ok(ash_collection_explain(
                  t->c, json("{\"find\":\"things\",\"filter\":{\"a\":3},\"sort\":{\"_id\":1}}"),
                  "executionStats", NULL, &out, &t->err),
              &t->err);
    const char *text = compact_json(&out);
    assert_non_null(strstr(text, "\"stage\":\"IXSCAN\""));
    assert_null(strstr(text, "\"stage\":\"SORT\""));
    assert_non_null(strstr(text, "\"indexName\":\"a_id\""));
    assert_non_null(strstr(text, "\"nReturned\":10,"));
    assert_non_null(strstr(text, "\"totalKeysExamined\":10,\"totalDocsExamined\":10,"));
    bson_destroy(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_cursors__batches_keep_their_limits),
        CONTRACT(test_contract_cursors__record_ids_are_shown),
        CONTRACT(test_contract_cursors__byte_limit_gives_at_least_one),
        CONTRACT(test_contract_cursors__changes_on_the_way),
        CONTRACT(test_contract_cursors__dropped_collection),
        CONTRACT(test_contract_cursors__deadline_and_cancel),
        CONTRACT(test_contract_cursors__capped_keeps_the_newest),
        CONTRACT(test_contract_cursors__tailable_waits),
        CONTRACT(test_contract_cursors__tailable_needs_capped),
        CONTRACT(test_contract_cursors__collections_are_listed),
        CONTRACT(test_contract_cursors__explain_shows_the_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
