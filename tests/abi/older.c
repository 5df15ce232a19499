/* SPDX-License-Identifier: Apache-2.0 */

/* A program of the day when the headers beside it were the library's, run on today's library.
 * usage: older FOLDER    prints TAP */

#include <ashlar/ashlar.h>
#include <stdio.h>
#include <string.h>

static int number, failures;

static void report(int good, const char *what, const ash_error *err)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++number, what);
    if (!good)
        printf("# %s\n", err->text);
    failures += !good;
}

static int count(ash_collection *c, int64_t limit, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int n = 0, rc;
    o.limit = limit;
    rc = ash_collection_find(c, NULL, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL)
        n++;
    ash_cursor_free(cursor);
    return rc == 0 ? n : rc;
}

static int insert_in(ash_transaction *t, void *ctx, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(3));
    int rc;
    o.op.transaction = t;
    rc = ash_collection_insert_one((ash_collection *)ctx, doc, &o, err);
    bson_destroy(doc);
    return rc;
}

static void documents(ash_store *store, ash_error *err)
{
    ash_collection *c = NULL;
    ash_write_result r;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_t *set = BCON_NEW("$set", "{", "a", BCON_INT32(2), "}");
    bson_value_t update = {.value_type = BSON_TYPE_DOCUMENT};
    int i, rc = ash_collection_new(store, "test", "c", &c, err);
    for (i = 0; rc == 0 && i < 3; i++) {
        bson_t *doc = BCON_NEW("_id", BCON_INT32(i));
        rc = ash_collection_insert_one(c, doc, NULL, err);
        bson_destroy(doc);
    }
    report(rc == 0 && count(c, 0, err) == 3, "insert and find", err);
    report(count(c, 2, err) == 2, "find with a limit", err);
    update.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    update.value.v_doc.data_len = set->len;
    o.multi = true;
    ash_write_result_init(&r);
    rc = ash_collection_update(c, NULL, &update, &o, &r, err);
    report(rc == 0 && r.matched == 3 && r.modified == 3, "update and its result", err);
    ash_write_result_release(&r);
    rc = ash_store_transact(store, insert_in, c, NULL, err);
    report(rc == 0 && count(c, 0, err) == 4, "a transaction", err);
    bson_destroy(set);
    ash_collection_free(c);
}

static void files(ash_store *store, ash_error *err)
{
    ash_bucket *b = NULL;
    ash_upload *u = NULL;
    ash_download *d = NULL;
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_sweep_report swept = ASH_SWEEP_REPORT_INIT;
    char text[8] = "";
    size_t got = 0;
    int rc = ash_bucket_new(store, NULL, &b, err);
    o.condition = ASH_PUT_IF_ABSENT;
    if (rc == 0)
        rc = ash_bucket_open_upload_stream(b, "f", &o, &u, err);
    if (rc == 0)
        rc = ash_upload_write(u, "hello", 5, err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, err);
    report(rc == 0, "put", err);
    rc = ash_bucket_open_download_stream_by_name(b, "f", NULL, &d, err);
    if (rc == 0)
        rc = ash_download_read(d, text, sizeof text, &got, err);
    report(rc == 0 && got == 5 && memcmp(text, "hello", 5) == 0, "get", err);
    rc = ash_bucket_sweep(b, NULL, &swept, err);
    report(rc == 0 && swept.chunks == 0, "sweep", err);
    ash_download_free(d);
    ash_upload_free(u);
    ash_bucket_free(b);
}

static void locks(ash_store *store, ash_error *err)
{
    ash_lock_collection *c = NULL;
    ash_lock *lock = NULL;
    ash_fence fence = ASH_FENCE_INIT;
    bson_value_t id = {.value_type = BSON_TYPE_INT32};
    id.value.v_int32 = 1;
    int rc = ash_lock_collection_open(store, NULL, &c, err);
    if (rc == 0)
        rc = ash_lock_new(c, &id, NULL, &lock, err);
    if (rc == 0)
        rc = ash_lock_obtain_write(lock, err);
    if (rc == 0)
        rc = ash_lock_fence(lock, &fence, err);
    report(rc == 0 && fence.collection != NULL, "lock and its fence", err);
    report(ash_lock_release(lock, err) == 0, "release", err);
    ash_lock_free(lock);
    ash_lock_collection_close(c);
}

int main(int argc, char **argv)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    if (argc != 2)
        return 2;
    report(ash_store_open(argv[1], NULL, &store, &err) == 0, "open", &err);
    if (store == NULL)
        return 1;
    report(ash_store_capabilities(store, &can, &err) == 0 && can.transactions, "capabilities",
           &err);
    documents(store, &err);
    files(store, &err);
    locks(store, &err);
    ash_store_close(store);
    printf("1..%d\n", number);
    return failures > 0;
}
