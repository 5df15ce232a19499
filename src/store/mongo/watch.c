/* SPDX-License-Identifier: Apache-2.0 */
/* Change streams, by the driver's watch, which resumes them. */

#include "store/mongo/driver.h"

#include "base/error.h"

#include <string.h>

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
    if (o->full_document_before_change != NULL)
        BSON_APPEND_UTF8(to, "fullDocumentBeforeChange", o->full_document_before_change);
    if (o->expanded_events)
        BSON_APPEND_BOOL(to, "showExpandedEvents", true);
    /* A stream waits as it was opened; set_op cannot change it. */
    BSON_APPEND_INT64(to, "maxAwaitTimeMS", o->max_await_ms);
    if (o->batch_size > 0)
        BSON_APPEND_INT32(to, "batchSize", o->batch_size);
}

static mongoc_change_stream_t *watch_by(mongoc_client_t *client, ash_ns ns, const bson_t *pipeline,
                                        const bson_t *opts)
{
    mongoc_change_stream_t *stream;
    if (ns.db == NULL)
        return mongoc_client_watch(client, pipeline, opts);
    if (ns.coll == NULL) {
        mongoc_database_t *database = mongoc_client_get_database(client, ns.db);
        stream = mongoc_database_watch(database, pipeline, opts);
        mongoc_database_destroy(database);
    } else {
        mongoc_collection_t *collection = mongoc_client_get_collection(client, ns.db, ns.coll);
        stream = mongoc_collection_watch(collection, pipeline, opts);
        mongoc_collection_destroy(collection);
    }
    return stream;
}

/* A stream shows what a majority has, whatever level the URI gives to reads: deployments refuse
 * another.  The stream copies its client's. */
static mongoc_change_stream_t *start_watch(const ash_mongo_call *call, ash_ns ns,
                                           const bson_t *pipeline, const bson_t *opts)
{
    const mongoc_read_concern_t *given = mongoc_client_get_read_concern(call->client);
    if (mongoc_read_concern_is_default(given))
        return watch_by(call->client, ns, pipeline, opts);
    mongoc_read_concern_t *of_reads = mongoc_read_concern_copy(given);
    mongoc_read_concern_t *majority = mongoc_read_concern_new();
    mongoc_read_concern_set_level(majority, MONGOC_READ_CONCERN_LEVEL_MAJORITY);
    mongoc_client_set_read_concern(call->client, majority);
    mongoc_change_stream_t *stream = watch_by(call->client, ns, pipeline, opts);
    mongoc_client_set_read_concern(call->client, of_reads);
    mongoc_read_concern_destroy(majority);
    mongoc_read_concern_destroy(of_reads);
    return stream;
}

/* A server that has no change streams at all does not know their stage. */
static int without_streams(const ash_error *why, ash_error *err)
{
    if (why->server_code == ASH_MONGO_LOCATION_UNKNOWN_STAGE &&
        strstr(why->text, "$changeStream") != NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED, why->server_code, "%s", why->text);
    if (err != NULL)
        *err = *why;
    return why->code;
}

int ash__mongo_watch(ash_store *store, ash_ns ns, const ash_watch_options *opts, ash_cursor **out,
                     ash_error *err)
{
    static const bson_t no_stages = BSON_INITIALIZER;
    bson_t stream_opts = BSON_INITIALIZER;
    const bson_t *pipeline = opts->pipeline != NULL ? opts->pipeline : &no_stages;
    ash_error why = ASH_ERROR_INIT;
    ash_mongo_call call;
    int rc;

    if (opts->op.transaction != NULL)
        return ash__fail(err, ASH_EUNSUPPORTED, "a transaction cannot watch");
    rc = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (rc == 0) {
        add_watch_options(&stream_opts, opts);
        rc =
            ash__mongo_stream_new(&call, start_watch(&call, ns, pipeline, &stream_opts), out, &why);
        if (rc != 0)
            rc = without_streams(&why, err);
    }
    bson_destroy(&stream_opts);
    return rc;
}

/* ---- a watch that is written as a pipeline's first stage ---- */

struct stage_options {
    ash_watch_options watch;
    bson_t resume_after, start_after; /* static */
};

static const bson_t *as_document(const bson_iter_t *it, bson_t *holder)
{
    uint32_t len;
    const uint8_t *data;
    if (!BSON_ITER_HOLDS_DOCUMENT(it))
        return NULL;
    bson_iter_document(it, &len, &data);
    return bson_init_static(holder, data, len) ? holder : NULL;
}

static void read_spec(bson_iter_t *spec, struct stage_options *o)
{
    while (bson_iter_next(spec)) {
        const char *key = bson_iter_key(spec);
        if (strcmp(key, "resumeAfter") == 0) {
            o->watch.resume_after = as_document(spec, &o->resume_after);
        } else if (strcmp(key, "startAfter") == 0) {
            o->watch.start_after = as_document(spec, &o->start_after);
        } else if (strcmp(key, "startAtOperationTime") == 0 && BSON_ITER_HOLDS_TIMESTAMP(spec)) {
            uint32_t seconds, increment;
            bson_iter_timestamp(spec, &seconds, &increment);
            o->watch.start_at_operation_time = (uint64_t)seconds << 32 | increment;
        } else if (strcmp(key, "fullDocument") == 0 && BSON_ITER_HOLDS_UTF8(spec)) {
            o->watch.full_document = bson_iter_utf8(spec, NULL);
        } else if (strcmp(key, "fullDocumentBeforeChange") == 0 && BSON_ITER_HOLDS_UTF8(spec)) {
            o->watch.full_document_before_change = bson_iter_utf8(spec, NULL);
        } else if (strcmp(key, "showExpandedEvents") == 0) {
            o->watch.expanded_events = bson_iter_as_bool(spec);
        } else if (strcmp(key, "allChangesForCluster") == 0) {
            o->watch.all_changes = bson_iter_as_bool(spec);
        }
    }
}

int ash__mongo_watch_stage(ash_store *store, ash_ns ns, const bson_t *pipeline,
                           const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    struct stage_options o = {.watch = ASH_WATCH_OPTIONS_INIT};
    bson_iter_t it, stage, spec;
    bson_t rest = BSON_INITIALIZER;
    char index[16];
    uint32_t count = 0;
    o.watch.op = opts->op;
    o.watch.batch_size = opts->batch_size;
    o.watch.max_await_ms = opts->max_await_ms;
    /* The stage becomes options; what stands behind it stays a pipeline. */
    if (bson_iter_init(&it, pipeline) && bson_iter_next(&it) && bson_iter_recurse(&it, &stage) &&
        bson_iter_next(&stage) && BSON_ITER_HOLDS_DOCUMENT(&stage) &&
        bson_iter_recurse(&stage, &spec))
        read_spec(&spec, &o);
    while (bson_iter_next(&it)) {
        const char *name;
        bson_uint32_to_string(count++, &name, index, sizeof index);
        BSON_APPEND_VALUE(&rest, name, bson_iter_value(&it));
    }
    o.watch.pipeline = &rest;
    /* The driver asks so of the whole deployment. */
    if (o.watch.all_changes)
        ns.db = NULL;
    int rc = ash__mongo_watch(store, ns, &o.watch, out, err);
    bson_destroy(&rest);
    return rc;
}
