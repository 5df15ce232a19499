/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <ashlar/bucket.h>
#include <stdlib.h>
#include <string.h>

/* What a bucket says to a deployment, and what it makes of a deployment's troubles. */

#define NOT_PRIMARY                                                                                \
    "{'ok': 0, 'code': 10107, 'codeName': 'NotWritablePrimary', 'errmsg': 'not primary', "         \
    "'errorLabels': ['RetryableWriteError']}"
#define FILE_DOC                                                                                   \
    "{'_id': 1, 'length': 8, 'chunkSize': 4, 'uploadDate': {'$date': 0}, 'filename': 'f'}"
#define CHUNK_0 "{'_id': 10, 'files_id': 1, 'n': 0, 'data': {'$binary': 'MDEyMw==', '$type': '00'}}"
#define CHUNK_1 "{'_id': 11, 'files_id': 1, 'n': 1, 'data': {'$binary': 'NDU2Nw==', '$type': '00'}}"

struct bucket_rig {
    struct rig r;
    ash_bucket *bucket;
};

static const bson_value_t one = {.value_type = BSON_TYPE_INT32, .value.v_int32 = 1};

static int start(void **state, enum mock_kind kind, const char *options)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    struct bucket_rig *b = calloc(1, sizeof *b);
    rig_start(&b->r, kind, options, NULL);
    o.chunk_size_bytes = 4;
    assert_ok(ash_bucket_new(b->r.store, &o, &b->bucket, &b->r.err), &b->r.err);
    *state = b;
    return 0;
}

static int on_standalone(void **state)
{
    return start(state, MOCK_STANDALONE, "");
}

static int on_replica_set(void **state)
{
    return start(state, MOCK_REPLICA_SET, "replicaSet=rs");
}

static int finish(void **state)
{
    struct bucket_rig *b = *state;
    ash_bucket_free(b->bucket);
    rig_finish(&b->r);
    free(b);
    return 0;
}

static void expect(struct bucket_rig *b, const char *command, const char *reply)
{
    mock_expect(b->r.m, command, reply);
}

static void expect_batch(struct bucket_rig *b, const char *command, const char *docs)
{
    rig_expect_batch(&b->r, command, "first", 0, docs);
}

static int upload(struct bucket_rig *b)
{
    ash_upload *u = NULL;
    int rc = ash_bucket_open_upload_stream_with_id(b->bucket, &one, "f", NULL, &u, &b->r.err);
    if (rc == 0)
        rc = ash_upload_write(u, "01234567", 8, &b->r.err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, &b->r.err);
    ash_upload_free(u);
    return rc;
}

/* The specification's look at the indexes, of a bucket that is there already. */
static void expect_look(struct bucket_rig *b)
{
    expect_batch(b, "{'find': 'fs.files', 'projection': {'_id': 1}, 'limit': 1}", "{'_id': 7}");
}

static void test_mongo_bucket__the_first_upload_of_all(void **state)
{
    struct bucket_rig *b = *state;
    expect_batch(b, "{'find': 'fs.files', 'filter': {}, 'projection': {'_id': 1}}", "");
    expect(
        b, "{'listIndexes': 'fs.files'}",
        "{'ok': 0, 'code': 26, 'codeName': 'NamespaceNotFound', 'errmsg': 'no such collection'}");
    expect(b,
           "{'createIndexes': 'fs.files', 'indexes': [{'key': {'filename': 1, 'uploadDate': 1}, "
           "'name': 'filename_1_uploadDate_1', 'unique': '$none', 'background': '$none'}]}",
           "{'ok': 1}");
    expect_batch(b, "{'listIndexes': 'fs.chunks'}", "{'v': 2, 'key': {'_id': 1}, 'name': '_id_'}");
    expect(b,
           "{'createIndexes': 'fs.chunks', 'indexes': [{'key': {'files_id': 1, 'n': 1}, 'unique': "
           "true}]}",
           "{'ok': 1}");
    expect(b,
           "{'insert': 'fs.chunks', 'documents': [{'files_id': 1, 'n': 0}, {'files_id': 1, 'n': "
           "1}]}",
           "{'ok': 1, 'n': 2}");
    expect_batch(b, "{'find': 'fs.files', 'filter': {'filename': 'f'}, 'sort': {'uploadDate': -1}}",
                 "");
    expect(b, "{'update': 'fs.attributes'}", "{'ok': 1, 'n': 1, 'nModified': 0}");
    expect(b,
           "{'insert': 'fs.files', 'documents': [{'_id': 1, 'length': 8, 'chunkSize': 4, "
           "'uploadDate': '$any', 'md5': '$none', 'filename': 'f', 'metadata': '$none'}]}",
           "{'ok': 1, 'n': 1}");
    assert_ok(upload(b), &b->r.err);
}

/* Nothing is sent behind the failure: the script is at its end. */
static void test_mongo_bucket__a_primary_that_steps_down_ends_the_upload(void **state)
{
    struct bucket_rig *b = *state;
    expect_look(b);
    expect(b, "{'insert': 'fs.chunks', 'txnNumber': 1}", NOT_PRIMARY);
    expect(b, "{'insert': 'fs.chunks', 'txnNumber': 1}", NOT_PRIMARY);
    assert_int_equal(upload(b), ASH_ENETWORK);
    assert_int_equal(b->r.err.server_code, 10107);
}

static void test_mongo_bucket__one_that_steps_down_once_does_not(void **state)
{
    struct bucket_rig *b = *state;
    expect_look(b);
    expect(b, "{'insert': 'fs.chunks', 'txnNumber': 1}", NOT_PRIMARY);
    expect(b, "{'insert': 'fs.chunks', 'txnNumber': 1}", "{'ok': 1, 'n': 2}");
    expect_batch(b, "{'find': 'fs.files', 'startTransaction': true, 'autocommit': false}", "");
    expect(b, "{'update': 'fs.attributes', 'autocommit': false}", "{'ok': 1, 'n': 1}");
    expect(b, "{'insert': 'fs.files', 'autocommit': false}", "{'ok': 1, 'n': 1}");
    expect(b, "{'commitTransaction': 1, 'autocommit': false}", "{'ok': 1}");
    assert_ok(upload(b), &b->r.err);
}

static void test_mongo_bucket__a_file_that_is_not_replicated_is_no_success(void **state)
{
    struct bucket_rig *b = *state;
    expect_look(b);
    expect(b, "{'insert': 'fs.chunks'}", "{'ok': 1, 'n': 2}");
    expect_batch(b, "{'find': 'fs.files'}", "");
    expect(b, "{'update': 'fs.attributes'}", "{'ok': 1, 'n': 1, 'nModified': 0}");
    expect(b, "{'insert': 'fs.files'}",
           "{'ok': 1, 'n': 1, 'writeConcernError': {'code': 64, 'codeName': 'WriteConcernFailed', "
           "'errmsg': 'waiting for replication timed out'}}");
    assert_int_equal(upload(b), ASH_ETIMEOUT);
    assert_int_equal(b->r.err.server_code, 64);
}

/* ---- downloads ---- */

static int take_all(void *ctx, const void *data, size_t len, ash_error *err)
{
    char *text = ctx;
    (void)err;
    strncat(text, data, len);
    return 0;
}

static int download(struct bucket_rig *b, char *text)
{
    ash_output out = {text, take_all};
    text[0] = '\0';
    return ash_bucket_download_to_stream(b->bucket, &one, &out, NULL, &b->r.err);
}

static void expect_chunks(struct bucket_rig *b, const char *docs, int id)
{
    rig_expect_batch(&b->r, "{'find': 'fs.chunks', 'filter': {'files_id': 1}, 'sort': {'n': 1}}",
                     "first", id, docs);
}

static void test_mongo_bucket__a_download_in_two_batches(void **state)
{
    struct bucket_rig *b = *state;
    char text[20];
    expect_batch(b, "{'find': 'fs.files', 'filter': {'_id': 1}, 'limit': 1}", FILE_DOC);
    expect(b, "{'find': 'fs.chunks'}",
           "{'ok': 1, 'cursor': {'id': {'$numberLong': '5'}, 'ns': 'test.fs.chunks', "
           "'firstBatch': [" CHUNK_0 "]}}");
    expect(b, "{'getMore': 5, 'collection': 'fs.chunks'}",
           "{'ok': 1, 'cursor': {'id': {'$numberLong': '0'}, 'ns': 'test.fs.chunks', "
           "'nextBatch': [" CHUNK_1 "]}}");
    assert_ok(download(b, text), &b->r.err);
    assert_string_equal(text, "01234567");
}

static void test_mongo_bucket__a_killed_cursor_fails_the_download(void **state)
{
    struct bucket_rig *b = *state;
    char text[20];
    expect_batch(b, "{'find': 'fs.files'}", FILE_DOC);
    expect_chunks(b, CHUNK_0, 5);
    expect(
        b, "{'getMore': 5}",
        "{'ok': 0, 'code': 43, 'codeName': 'CursorNotFound', 'errmsg': 'cursor id 5 not found'}");
    assert_int_equal(download(b, text), ASH_ECURSOR);
    assert_int_equal(b->r.err.server_code, 43);
}

/* The network goes in the middle of an answer; no byte of half a batch comes out. */
static void test_mongo_bucket__half_an_answer_fails_the_download(void **state)
{
    struct bucket_rig *b = *state;
    char text[20];
    expect_batch(b, "{'find': 'fs.files'}", FILE_DOC);
    expect_chunks(b, CHUNK_0, 5);
    mock_expect_torn(b->r.m, "{'getMore': 5}",
                     "{'ok': 1, 'cursor': {'id': {'$numberLong': '0'}, 'ns': 'test.fs.chunks', "
                     "'nextBatch': [" CHUNK_1 "]}}");
    assert_int_equal(download(b, text), ASH_ENETWORK);
    assert_true(strlen(text) <= 4);
}

static void test_mongo_bucket__half_an_answer_to_a_find_is_asked_for_again(void **state)
{
    struct bucket_rig *b = *state;
    char text[20];
    mock_expect_torn(b->r.m, "{'find': 'fs.files'}",
                     "{'ok': 1, 'cursor': {'id': {'$numberLong': '0'}, 'ns': 'test.fs.files', "
                     "'firstBatch': [" FILE_DOC "]}}");
    expect_batch(b, "{'find': 'fs.files'}", FILE_DOC);
    expect_chunks(b, CHUNK_0 ", " CHUNK_1, 0);
    assert_ok(download(b, text), &b->r.err);
    assert_string_equal(text, "01234567");
}

/* ---- changes ---- */

static void test_mongo_bucket__a_delete_is_one_transaction(void **state)
{
    struct bucket_rig *b = *state;
    expect(b,
           "{'delete': 'fs.files', 'startTransaction': true, 'autocommit': false, 'deletes': "
           "[{'q': {'_id': 1}}]}",
           "{'ok': 1, 'n': 1}");
    expect(b,
           "{'delete': 'fs.chunks', 'startTransaction': '$none', 'autocommit': false, 'deletes': "
           "[{'q': {'files_id': 1}, 'limit': 0}]}",
           "{'ok': 1, 'n': 2}");
    expect(b, "{'delete': 'fs.attributes', 'autocommit': false}", "{'ok': 1, 'n': 1}");
    expect(b, "{'commitTransaction': 1}", "{'ok': 1}");
    assert_ok(ash_bucket_delete(b->bucket, &one, NULL, &b->r.err), &b->r.err);
}

static void test_mongo_bucket__a_delete_without_transactions_keeps_the_order(void **state)
{
    struct bucket_rig *b = *state;
    expect(b, "{'delete': 'fs.files', 'autocommit': '$none'}", "{'ok': 1, 'n': 1}");
    expect(b, "{'delete': 'fs.chunks', 'autocommit': '$none'}", "{'ok': 1, 'n': 2}");
    expect(b, "{'delete': 'fs.attributes'}", "{'ok': 1, 'n': 0}");
    assert_ok(ash_bucket_delete(b->bucket, &one, NULL, &b->r.err), &b->r.err);
}

/* Nothing is sent at all. */
static void test_mongo_bucket__altering_needs_transactions(void **state)
{
    struct bucket_rig *b = *state;
    ash_alter *alter = NULL;
    assert_int_equal(ash_bucket_open_alter(b->bucket, &one, NULL, &alter, &b->r.err),
                     ASH_EUNSUPPORTED);
    assert_null(alter);
    assert_non_null(strstr(b->r.err.text, "transactions"));
}

static void expect_appended(struct bucket_rig *b)
{
    expect_batch(b, "{'find': 'fs.files', 'startTransaction': true, 'autocommit': false}",
                 FILE_DOC);
    expect_batch(b, "{'find': 'fs.attributes', 'autocommit': false}", "");
    expect(
        b,
        "{'update': 'fs.files', 'autocommit': false, 'updates': [{'q': {'_id': 1}, 'u': {'$set': "
        "{'length': 10}}}]}",
        "{'ok': 1, 'n': 1, 'nModified': 1}");
    expect(b, "{'update': 'fs.attributes', 'autocommit': false}", "{'ok': 1, 'n': 1}");
    expect_batch(b, "{'find': 'fs.files', 'autocommit': false}",
                 "{'_id': 1, 'length': 10, 'chunkSize': 4, 'filename': 'f'}");
    expect_batch(b, "{'find': 'fs.attributes', 'autocommit': false}", "");
    expect(b, "{'delete': 'fs.chunks', 'autocommit': false}", "{'ok': 1, 'n': 0}");
    expect(b,
           "{'insert': 'fs.chunks', 'autocommit': false, 'documents': [{'files_id': 1, 'n': 2}]}",
           "{'ok': 1, 'n': 1}");
    expect(b, "{'commitTransaction': 1, 'autocommit': false}", "{'ok': 1}");
}

static void test_mongo_bucket__altering_is_one_transaction(void **state)
{
    struct bucket_rig *b = *state;
    ash_alter *alter = NULL;
    expect_batch(b, "{'find': 'fs.files', 'autocommit': '$none'}", FILE_DOC);
    expect_batch(b, "{'find': 'fs.attributes', 'autocommit': '$none'}", "");
    assert_ok(ash_bucket_open_alter(b->bucket, &one, NULL, &alter, &b->r.err), &b->r.err);
    assert_ok(ash_alter_append(alter, "89", 2, &b->r.err), &b->r.err);
    expect_appended(b);
    assert_ok(ash_alter_finish(alter, NULL, &b->r.err), &b->r.err);
    ash_alter_free(alter);
}

/* ---- in a caller's transaction ---- */

struct composed {
    struct bucket_rig *b;
    ash_upload *upload;
    ash_collection *own;
};

static void open_sealed(struct composed *c)
{
    ash_error *err = &c->b->r.err;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    const ash_fence fence = {sizeof fence, "fs.locks", &one, 3, 10};
    o.fence = &fence;
    o.condition = ASH_PUT_IF_ABSENT;
    assert_ok(ash_bucket_open_upload_stream_with_id(c->b->bucket, &one, "f", &o, &c->upload, err),
              err);
    assert_ok(ash_upload_write(c->upload, "01234567", 8, err), err);
    expect_look(c->b);
    expect(c->b, "{'insert': 'fs.chunks', 'autocommit': '$none'}", "{'ok': 1, 'n': 2}");
    assert_ok(ash_upload_seal(c->upload, err), err);
}

static void start_composed(struct composed *c, struct bucket_rig *b)
{
    *c = (struct composed){.b = b};
    assert_ok(ash_collection_new(b->r.store, NULL, "own", &c->own, &b->r.err), &b->r.err);
    open_sealed(c);
}

static void end_composed(struct composed *c)
{
    ash_upload_free(c->upload);
    ash_collection_free(c->own);
}

static int put_and_insert(ash_transaction *t, void *ctx, ash_error *err)
{
    struct composed *c = ctx;
    ash_finish_options end = ASH_FINISH_OPTIONS_INIT;
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    bson_t *doc = BCON_NEW("_id", BCON_UTF8("mine"));
    end.transaction = o.op.transaction = t;
    int rc = ash_upload_finish_with(c->upload, &end, NULL, NULL, err);
    if (rc == 0)
        rc = ash_collection_insert_one(c->own, doc, &o, err);
    bson_destroy(doc);
    return rc;
}

/* Made and removed again: whoever claims the same conflicts. */
static void expect_claim(struct bucket_rig *b, const char *insert)
{
    expect(b, insert, "{'ok': 1, 'n': 1}");
    expect(b, "{'delete': 'fs.attributes', 'autocommit': false}", "{'ok': 1, 'n': 1}");
}

static void test_mongo_bucket__a_put_in_a_callers_transaction(void **state)
{
    struct bucket_rig *b = *state;
    struct composed c;
    start_composed(&c, b);
    expect(
        b,
        "{'update': 'fs.locks', 'startTransaction': true, 'autocommit': false, 'updates': [{'q': "
        "{'_id': 1, 'write_lock': true, 'writes': 3}, 'u': {'$inc': {'fenced': 1}}}]}",
        "{'ok': 1, 'n': 1, 'nModified': 1}");
    expect_batch(b, "{'find': 'fs.attributes', 'autocommit': false}", "");
    expect_claim(b, "{'insert': 'fs.attributes', 'autocommit': false, 'documents': [{'_id': "
                    "{'name': 'f'}}]}");
    expect_batch(b, "{'find': 'fs.files', 'filter': {'filename': 'f'}, 'autocommit': false}", "");
    expect_claim(b, "{'insert': 'fs.attributes', 'autocommit': false, 'documents': [{'_id': "
                    "{'file': 1}}]}");
    expect_batch(b, "{'find': 'fs.files', 'filter': {'_id': 1}, 'autocommit': false}", "");
    expect_batch(b, "{'find': 'fs.files', 'filter': {'filename': 'f'}, 'autocommit': false}", "");
    expect(b, "{'update': 'fs.attributes', 'autocommit': false}", "{'ok': 1, 'n': 1}");
    expect(b, "{'insert': 'fs.files', 'autocommit': false, 'documents': [{'_id': 1}]}",
           "{'ok': 1, 'n': 1}");
    expect(b, "{'insert': 'own', 'autocommit': false, 'documents': [{'_id': 'mine'}]}",
           "{'ok': 1, 'n': 1}");
    expect(b, "{'commitTransaction': 1, 'autocommit': false}", "{'ok': 1}");
    assert_ok(ash_store_transact(b->r.store, put_and_insert, &c, NULL, &b->r.err), &b->r.err);
    assert_int_equal(ash_upload_finish(c.upload, NULL, &b->r.err), ASH_ESTATE);
    end_composed(&c);
}

/* The lock is another's: the transaction is given up, and what the upload stored goes with it. */
static void test_mongo_bucket__a_stale_fence_ends_a_callers_transaction(void **state)
{
    struct bucket_rig *b = *state;
    struct composed c;
    start_composed(&c, b);
    expect(b, "{'update': 'fs.locks', 'startTransaction': true, 'autocommit': false}",
           "{'ok': 1, 'n': 0}");
    expect(b, "{'abortTransaction': 1, 'autocommit': false}", "{'ok': 1}");
    assert_int_equal(ash_store_transact(b->r.store, put_and_insert, &c, NULL, &b->r.err),
                     ASH_ELOST);
    expect_batch(b, "{'find': 'fs.files', 'startTransaction': true, 'autocommit': false}", "");
    expect(b,
           "{'delete': 'fs.chunks', 'autocommit': false, 'deletes': [{'q': {'files_id': 1, 'n': "
           "{'$gte': 0, '$lt': 2}}}]}",
           "{'ok': 1, 'n': 2}");
    expect(b, "{'commitTransaction': 1}", "{'ok': 1}");
    end_composed(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_mongo_bucket__the_first_upload_of_all, on_standalone,
                                        finish),
        cmocka_unit_test_setup_teardown(
            test_mongo_bucket__a_primary_that_steps_down_ends_the_upload, on_replica_set, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__one_that_steps_down_once_does_not,
                                        on_replica_set, finish),
        cmocka_unit_test_setup_teardown(
            test_mongo_bucket__a_file_that_is_not_replicated_is_no_success, on_standalone, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__a_download_in_two_batches, on_standalone,
                                        finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__a_killed_cursor_fails_the_download,
                                        on_standalone, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__half_an_answer_fails_the_download,
                                        on_standalone, finish),
        cmocka_unit_test_setup_teardown(
            test_mongo_bucket__half_an_answer_to_a_find_is_asked_for_again, on_replica_set, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__a_delete_is_one_transaction,
                                        on_replica_set, finish),
        cmocka_unit_test_setup_teardown(
            test_mongo_bucket__a_delete_without_transactions_keeps_the_order, on_standalone,
            finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__altering_needs_transactions,
                                        on_standalone, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__altering_is_one_transaction,
                                        on_replica_set, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__a_put_in_a_callers_transaction,
                                        on_replica_set, finish),
        cmocka_unit_test_setup_teardown(test_mongo_bucket__a_stale_fence_ends_a_callers_transaction,
                                        on_replica_set, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
