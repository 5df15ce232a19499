/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mongo/driver.h"

#include "base/error.h"

static void add_watch_options(bson_t *to, const ash_watch_options *o)
{
    ash__mongo_add_doc(to, "resumeAfter", o->resume_after);
    ash__mongo_add_doc(to, "startAfter", o->start_after);
    if (o->start_at_operation_time != 0)
        BSON_APPEND_TIMESTAMP(to, "startAtOperationTime",
                              (uint32_t)(o->start_at_operation_time >> 32),
                              (uint32_t)o->start_at_operation_time);
    if (o->full_document != NULL)
        BSON_APPEND_UTF8(to, "fullDocument", o->full_document);
    BSON_APPEND_INT64(to, "maxAwaitTimeMS", o->max_await_ms);
    if (o->batch_size > 0)
        BSON_APPEND_INT32(to, "batchSize", o->batch_size);
}

static mongoc_change_stream_t *start_watch(const ash_mongo_call *call, const char *db,
                                           const char *coll, const bson_t *pipeline,
                                           const bson_t *opts)
{
    mongoc_change_stream_t *stream;
    if (db == NULL)
        return mongoc_client_watch(call->client, pipeline, opts);
    if (coll == NULL) {
        mongoc_database_t *database = mongoc_client_get_database(call->client, db);
        stream = mongoc_database_watch(database, pipeline, opts);
        mongoc_database_destroy(database);
    } else {
        mongoc_collection_t *collection = mongoc_client_get_collection(call->client, db, coll);
        stream = mongoc_collection_watch(collection, pipeline, opts);
        mongoc_collection_destroy(collection);
    }
    return stream;
}

int ash__mongo_watch(ash_store *store, const char *db, const char *coll,
                     const ash_watch_options *opts, ash_cursor **out, ash_error *err)
{
    static const bson_t no_stages = BSON_INITIALIZER;
    bson_t stream_opts = BSON_INITIALIZER;
    const bson_t *pipeline = opts->pipeline != NULL ? opts->pipeline : &no_stages;
    ash_mongo_call call;
    int result;

    if (opts->op.transaction != NULL)
        return ash__fail(err, ASH_EUNSUPPORTED, "a transaction cannot watch");
    result = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (result == 0) {
        add_watch_options(&stream_opts, opts);
        result = ash__mongo_stream_new(&call, start_watch(&call, db, coll, pipeline, &stream_opts),
                                       out, err);
    }
    bson_destroy(&stream_opts);
    return result;
}
