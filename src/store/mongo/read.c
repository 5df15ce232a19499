/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, by the driver's functions; in a transaction of an Ashlar server, by commands that are
 * replayed. */

#include "store/mongo/driver.h"

#include "base/error.h"
#include "store/mongo/replay.h"

#include <string.h>

void ash__mongo_find_fields(bson_t *to, const ash_find_options *o)
{
    ash__mongo_add_doc(to, "sort", o->sort);
    ash__mongo_add_doc(to, "projection", o->projection);
    ash__mongo_add_value(to, "hint", o->hint);
    ash__mongo_add_doc(to, "collation", o->collation);
    ash__mongo_add_doc(to, "let", o->let);
    ash__mongo_add_doc(to, "min", o->min);
    ash__mongo_add_doc(to, "max", o->max);
    if (o->skip > 0)
        BSON_APPEND_INT64(to, "skip", o->skip);
    if (o->limit > 0)
        BSON_APPEND_INT64(to, "limit", o->limit);
    if (o->batch_size > 0)
        BSON_APPEND_INT32(to, "batchSize", o->batch_size);
    if (o->tailable)
        BSON_APPEND_BOOL(to, "tailable", true);
    if (o->await_data)
        BSON_APPEND_BOOL(to, "awaitData", true);
    if (o->no_cursor_timeout)
        BSON_APPEND_BOOL(to, "noCursorTimeout", true);
    if (o->allow_disk_use)
        BSON_APPEND_BOOL(to, "allowDiskUse", true);
    if (o->show_record_id)
        BSON_APPEND_BOOL(to, "showRecordId", true);
}

static int find(ash_store *store, ash_ns ns, const bson_t *filter, const ash_find_options *opts,
                ash_cursor **out, ash_error *err)
{
    mongoc_collection_t *collection;
    mongoc_read_prefs_t *prefs = NULL;
    mongoc_cursor_t *driver;
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (rc != 0)
        return rc;
    rc = ash__mongo_call_reads(&call, &prefs, err);
    if (rc != 0) {
        ash__mongo_call_end(&call);
        return rc;
    }
    ash__mongo_find_fields(&call.opts, opts);
    /* MongoDB refuses options that it does not know. */
    bool past_damage = opts->past_damage && call.store->past_damage && opts->op.transaction == NULL;
    if (past_damage)
        BSON_APPEND_BOOL(&call.opts, "ashlarPastDamage", true);
    collection = mongoc_client_get_collection(call.client, ns.db, ns.coll);
    driver = mongoc_collection_find_with_opts(collection, filter, &call.opts, prefs);
    mongoc_collection_destroy(collection);
    mongoc_read_prefs_destroy(prefs);
    if (opts->await_data)
        mongoc_cursor_set_max_await_time_ms(
            driver, opts->max_await_ms < UINT32_MAX ? (uint32_t)opts->max_await_ms : UINT32_MAX);
    return ash__mongo_cursor_new(&call, driver, opts->tailable, out, err);
}

int ash__mongo_find(ash_store *store, ash_ns ns, const bson_t *filter, const ash_find_options *opts,
                    ash_cursor **out, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    if (ash__replay_is_on(&opts->op))
        return ash__replay_find(store, ns, filter, opts, out, err);
    int rc = find(store, ns, filter, opts, out, &why);
    /* That a cursor may rest is a wish, which servers other than MongoDB may not know. */
    if (rc != 0 && opts->no_cursor_timeout && why.server_code == ASH_MONGO_NOT_IMPLEMENTED) {
        ash_find_options without = *opts;
        without.no_cursor_timeout = false;
        why = (ash_error)ASH_ERROR_INIT;
        rc = find(store, ns, filter, &without, out, &why);
    }
    if (rc != 0 && err != NULL)
        *err = why;
    return rc;
}

static bool is_change_stream(const bson_t *pipeline)
{
    bson_iter_t it, stage;
    return bson_iter_init(&it, pipeline) && bson_iter_next(&it) && BSON_ITER_HOLDS_DOCUMENT(&it) &&
           bson_iter_recurse(&it, &stage) && bson_iter_next(&stage) &&
           strcmp(bson_iter_key(&stage), "$changeStream") == 0;
}

static void add_aggregate_options(ash_mongo_call *call, const char *coll, const bson_t *pipeline,
                                  const ash_aggregate_options *o)
{
    ash__mongo_add_value(&call->opts, "hint", o->hint);
    ash__mongo_add_doc(&call->opts, "collation", o->collation);
    ash__mongo_add_doc(&call->opts, "let", o->let);
    if (o->batch_size > 0)
        BSON_APPEND_INT32(&call->opts, "batchSize", o->batch_size);
    if (o->allow_disk_use)
        BSON_APPEND_BOOL(&call->opts, "allowDiskUse", true);
    /* A pipeline that only reads has no use for a write concern. */
    if (!ash__pipeline_writes(pipeline))
        return;
    ash__mongo_call_writes(call, coll);
    if (o->op.bypass_validation)
        BSON_APPEND_BOOL(&call->opts, "bypassDocumentValidation", true);
}

static mongoc_cursor_t *start_aggregate(const ash_mongo_call *call, ash_ns ns,
                                        const bson_t *pipeline)
{
    mongoc_cursor_t *driver;
    if (ns.coll == NULL) {
        mongoc_database_t *database = mongoc_client_get_database(call->client, ns.db);
        driver = mongoc_database_aggregate(database, pipeline, &call->opts, NULL);
        mongoc_database_destroy(database);
    } else {
        mongoc_collection_t *collection =
            mongoc_client_get_collection(call->client, ns.db, ns.coll);
        driver =
            mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, pipeline, &call->opts, NULL);
        mongoc_collection_destroy(collection);
    }
    return driver;
}

int ash__mongo_aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                         const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    ash_mongo_call call;
    int rc;
    if (ash__replay_is_on(&opts->op))
        return ash__replay_aggregate(store, ns, pipeline, opts, out, err);
    /* So that the driver resumes it, as it does with its own. */
    if (is_change_stream(pipeline))
        return ash__mongo_watch_stage(store, ns, pipeline, opts, out, err);
    rc = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (rc != 0)
        return rc;
    add_aggregate_options(&call, ns.coll, pipeline, opts);
    return ash__mongo_cursor_new(&call, start_aggregate(&call, ns, pipeline), false, out, err);
}

int ash__mongo_count(ash_store *store, ash_ns ns, const bson_t *filter,
                     const ash_count_options *opts, int64_t *out, ash_error *err)
{
    mongoc_collection_t *collection;
    ash_mongo_call call;
    if (ash__replay_is_on(&opts->op))
        return ash__replay_count(store, ns, filter, opts, out, err);
    int rc = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (rc != 0)
        return rc;
    ash__mongo_add_value(&call.opts, "hint", opts->hint);
    ash__mongo_add_doc(&call.opts, "collation", opts->collation);
    if (opts->skip > 0)
        BSON_APPEND_INT64(&call.opts, "skip", opts->skip);
    if (opts->limit > 0)
        BSON_APPEND_INT64(&call.opts, "limit", opts->limit);
    collection = mongoc_client_get_collection(call.client, ns.db, ns.coll);
    bson_destroy(&call.reply);
    *out = mongoc_collection_count_documents(collection, filter, &call.opts, NULL, &call.reply,
                                             &call.error);
    mongoc_collection_destroy(collection);
    if (*out < 0)
        rc = ash__mongo_call_fail(&call, err);
    ash__mongo_call_end(&call);
    return rc;
}

int ash__mongo_distinct(ash_store *store, ash_ns ns, const ash_distinct_request *request,
                        const ash_op *op, bson_t *out, ash_error *err)
{
    bson_t *command = BCON_NEW("distinct", BCON_UTF8(ns.coll), "key", BCON_UTF8(request->key),
                               "query", BCON_DOCUMENT(request->filter));
    int rc;
    ash__mongo_add_doc(command, "collation", request->collation);
    if (ash__replay_is_on(op))
        rc = ash__replay_distinct(store, ns.db, command, op, out, err);
    else
        rc = ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_READ, ns.db, command}, op, out,
                            err);
    bson_destroy(command);
    return rc;
}

int ash__mongo_explain(ash_store *store, ash_ns ns, const ash_explain_request *request,
                       const ash_op *op, bson_t *out, ash_error *err)
{
    bson_t *explain = BCON_NEW("explain", BCON_DOCUMENT(request->command), "verbosity",
                               BCON_UTF8(request->verbosity));
    int rc =
        ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_ASK, ns.db, explain}, op, out, err);
    bson_destroy(explain);
    return rc;
}

int ash__mongo_stats(ash_store *store, ash_ns ns, int64_t scale, const ash_op *op, bson_t *out,
                     ash_error *err)
{
    bson_t command = BSON_INITIALIZER;
    int rc;
    if (ns.db == NULL)
        BSON_APPEND_INT32(&command, "serverStatus", 1);
    else if (ns.coll == NULL)
        BSON_APPEND_INT32(&command, "dbStats", 1);
    else
        BSON_APPEND_UTF8(&command, "collStats", ns.coll);
    if (ns.db != NULL)
        BSON_APPEND_INT64(&command, "scale", scale);
    rc = ash__mongo_run(
        store, &(ash_mongo_request){ASH_MONGO_ASK, ns.db != NULL ? ns.db : "admin", &command}, op,
        out, err);
    bson_destroy(&command);
    return rc;
}
