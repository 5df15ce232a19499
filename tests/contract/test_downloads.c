/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chunk of a file whose bytes follow from file, number and version. */
static bson_t *chunk(int file, int n, int version, size_t bytes)
{
    bson_t *b = bson_new();
    uint8_t *data = malloc(bytes);
    bson_oid_t oid;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(file * 31 + n * 7 + version * 101 + (int)(i % 253));
    bson_oid_init(&oid, NULL);
    bson_append_oid(b, "_id", -1, &oid);
    bson_append_int32(b, "files_id", -1, file);
    bson_append_int32(b, "n", -1, n);
    bson_append_binary(b, "data", -1, BSON_SUBTYPE_BINARY, data, (uint32_t)bytes);
    free(data);
    return b;
}

static void expect_chunk(const ash_doc *doc, int file, int n, int version, size_t bytes)
{
    bson_t b;
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    bson_t *wanted = chunk(file, n, version, bytes);
    bson_iter_t want;
    const uint8_t *want_data;
    assert_true(bson_init_static(&b, doc->data, doc->len));
    assert_true(bson_iter_init_find(&it, &b, "n"));
    assert_int_equal(bson_iter_int32(&it), n);
    assert_true(bson_iter_init_find(&it, &b, "data"));
    bson_iter_binary(&it, NULL, &len, &data);
    assert_int_equal(len, bytes);
    assert_true(bson_iter_init_find(&want, wanted, "data"));
    bson_iter_binary(&want, NULL, &len, &want_data);
    assert_memory_equal(data, want_data, bytes);
    bson_destroy(wanted);
}

static ash_collection *upload(contract *t, bool with_index, int file, int chunks, size_t bytes)
{
    ash_collection *c = open_collection(t, "fs.chunks");
    if (with_index)
        assert_ok(index_json(t, c,
                             "[{\"key\":{\"files_id\":1,\"n\":1},\"name\":\"files_id_1_n_1\","
                             "\"unique\":true}]",
                             NULL),
                  &t->err);
    for (int n = chunks - 1; n >= 0; n--) {
        bson_t *b = chunk(file, n, 0, bytes);
        assert_ok(ash_collection_insert_one(c, b, NULL, &t->err), &t->err);
        bson_destroy(b);
    }
    return c;
}

static ash_cursor *open_file(contract *t, ash_collection *c, const char *filter)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    opts.sort = json("{\"n\":1}");
    opts.batch_size = 4;
    assert_ok(ash_collection_find(c, json(filter), &opts, &cursor, &t->err), &t->err);
    return cursor;
}

static void read_rest(contract *t, ash_cursor *cursor, int from, int to, size_t bytes)
{
    ash_batch batch;
    int n = from;
    do {
        assert_ok(ash_cursor_next_batch(cursor, 4, 0, &batch, &t->err), &t->err);
        for (size_t i = 0; i < batch.count; i++)
            expect_chunk(&batch.docs[i], 5, n++, 0, bytes);
        ash_cursor_rest(cursor);
    } while (!batch.exhausted);
    assert_int_equal(n, to);
    ash_cursor_free(cursor);
}

static void test_contract_downloads__whole_in_order(void **state)
{
    contract *t = *state;
    ash_collection *c = upload(t, true, 5, 20, 50000);
    read_rest(t, open_file(t, c, "{\"files_id\":5}"), 0, 20, 50000);
    read_rest(t, open_file(t, c, "{\"files_id\":5,\"n\":{\"$gte\":13}}"), 13, 20, 50000);
    ash_collection_free(c);
}

static void test_contract_downloads__without_an_index(void **state)
{
    contract *t = *state;
    ash_collection *c = upload(t, false, 5, 12, 3000);
    read_rest(t, open_file(t, c, "{\"files_id\":5}"), 0, 12, 3000);
    ash_collection_free(c);
}

static void replace_all(contract *t, ash_collection *c, int chunks, size_t bytes)
{
    for (int n = 0; n < chunks; n++) {
        ash_write_result r;
        char filter[60];
        bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
        bson_t *b = chunk(5, n, 1, bytes);
        bson_t without_id = BSON_INITIALIZER;
        bson_copy_to_excluding_noinit(b, &without_id, "_id", NULL);
        update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&without_id);
        update.value.v_doc.data_len = without_id.len;
        snprintf(filter, sizeof filter, "{\"files_id\":5,\"n\":%d}", n);
        ash_write_result_init(&r);
        assert_ok(ash_collection_update(c, json(filter), &update, NULL, &r, &t->err), &t->err);
        assert_true(r.modified == 1);
        ash_write_result_release(&r);
        bson_destroy(&without_id);
        bson_destroy(b);
    }
}

static void read_under_changes(contract *t, size_t bytes)
{
    ash_collection *c = upload(t, true, 5, 16, bytes);
    ash_batch batch;
    ash_cursor *cursor = open_file(t, c, "{\"files_id\":5}");
    assert_ok(ash_cursor_next_batch(cursor, 4, 0, &batch, &t->err), &t->err);
    for (size_t i = 0; i < batch.count; i++)
        expect_chunk(&batch.docs[i], 5, (int)i, 0, bytes);
    int n = (int)batch.count;
    replace_all(t, c, 16, bytes);
    assert_ok(ash_collection_remove(c, json("{\"files_id\":5}"), NULL, NULL, &t->err), &t->err);
    /* New chunks would take the place of the old ones. */
    for (int i = 0; i < 32; i++) {
        bson_t *b = chunk(6, i, 2, bytes);
        assert_ok(ash_collection_insert_one(c, b, NULL, &t->err), &t->err);
        bson_destroy(b);
    }
    assert_ok(ash_store_flush(t->store, NULL, &t->err), &t->err);
    read_rest(t, cursor, n, 16, bytes);
    ash_collection_free(c);
}

static void test_contract_downloads__large_chunks_survive_their_deletion(void **state)
{
    contract *t = *state;
    if (!t->can.pinned_downloads)
        return;
    read_under_changes(t, 100000);
}

static void test_contract_downloads__small_chunks_survive_their_deletion(void **state)
{
    contract *t = *state;
    if (!t->can.pinned_downloads)
        return;
    read_under_changes(t, 900);
}

static void test_contract_downloads__skip_and_limit(void **state)
{
    contract *t = *state;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_collection *c = upload(t, true, 5, 10, 5000);
    ash_batch batch;
    opts.sort = json("{\"n\":1}");
    opts.skip = 3;
    opts.limit = 4;
    opts.projection = json("{\"n\":1,\"_id\":0}");
    assert_ok(ash_collection_find(c, json("{\"files_id\":5}"), &opts, &cursor, &t->err), &t->err);
    assert_string_equal(drain(t, cursor), "[{\"n\":3},{\"n\":4},{\"n\":5},{\"n\":6}]");
    opts.projection = NULL;
    opts.sort = json("{\"n\":-1}");
    assert_ok(ash_collection_find(c, json("{\"files_id\":5}"), &opts, &cursor, &t->err), &t->err);
    assert_ok(ash_cursor_next_batch(cursor, 0, 0, &batch, &t->err), &t->err);
    assert_int_equal(batch.count, 4);
    for (int i = 0; i < 4; i++)
        expect_chunk(&batch.docs[i], 5, 6 - i, 0, 5000);
    ash_cursor_free(cursor);
    ash_collection_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_downloads__whole_in_order),
        CONTRACT(test_contract_downloads__without_an_index),
        CONTRACT(test_contract_downloads__large_chunks_survive_their_deletion),
        CONTRACT(test_contract_downloads__small_chunks_survive_their_deletion),
        CONTRACT(test_contract_downloads__skip_and_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
