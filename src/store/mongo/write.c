/* SPDX-License-Identifier: Apache-2.0 */
/* Writing, by the driver's functions; in a transaction of an Ashlar server, by commands that are
 * replayed. */

#include "store/mongo/driver.h"

#include "base/error.h"
#include "base/mem.h"
#include "bson/value.h"
#include "store/mongo/replay.h"

/* The deployment judges documents; the driver's own check would only do it twice. */
static void add_write_options(ash_mongo_call *call, const char *coll)
{
    ash__mongo_call_writes(call, coll);
    BSON_APPEND_BOOL(&call->opts, "validate", false);
    if (call->op->bypass_validation)
        BSON_APPEND_BOOL(&call->opts, "bypassDocumentValidation", true);
}

/* What a write command of the driver came to.  The answer counts even when it failed. */
static int finish_write(ash_mongo_call *call, bool ok, ash_write_result *result, ash_error *err)
{
    bson_iter_t it;
    int code = ash__mongo_check(&call->reply, err);

    if (code != 0)
        return code;
    result->inserted += ash__mongo_int_field(&call->reply, "insertedCount");
    result->matched += ash__mongo_int_field(&call->reply, "matchedCount");
    result->modified += ash__mongo_int_field(&call->reply, "modifiedCount");
    result->deleted += ash__mongo_int_field(&call->reply, "deletedCount");
    if (bson_iter_init_find(&it, &call->reply, "upsertedId")) {
        result->upserted = true;
        bson_append_iter(&result->upserted_id, "_id", -1, &it);
    }
    code = ash__mongo_write_errors(call, result, err);
    if (!ok && code == 0)
        code = ash__mongo_call_fail(call, err);
    else if (!ok)
        ash__mongo_call_fail(call, NULL); /* a transaction hears whether to try again */
    return code;
}

static int check_sizes(const ash_doc_list *docs, ash_error *err)
{
    for (size_t i = 0; i < docs->count; i++) {
        if (docs->docs[i].len > ASH_DOC_MAX_BYTES)
            return ash__fail(err, ASH_ETOOBIG, "document %zu to insert has %zu bytes, over %d", i,
                             docs->docs[i].len, ASH_DOC_MAX_BYTES);
    }
    return 0;
}

int ash__mongo_insert(ash_store *store, ash_ns ns, const ash_doc_list *docs,
                      const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    bson_t *views;
    const bson_t **list;
    mongoc_collection_t *collection;
    ash_mongo_call call;
    bool ok;
    int code = check_sizes(docs, err);
    if (code == 0 && ash__replay_is_on(&opts->op))
        return ash__replay_insert(store, ns, docs, opts, result, err);
    if (code == 0)
        code = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (code != 0)
        return code;
    /* The driver wants documents of libbson; views cost no copy. */
    views = ash__alloc_array(docs->count, sizeof *views);
    list = ash__alloc_array(docs->count, sizeof *list);
    for (size_t i = 0; i < docs->count; i++) {
        ash_assert(bson_init_static(&views[i], docs->docs[i].data, docs->docs[i].len));
        list[i] = &views[i];
    }
    add_write_options(&call, ns.coll);
    if (opts->unordered)
        BSON_APPEND_BOOL(&call.opts, "ordered", false);
    collection = mongoc_client_get_collection(call.client, ns.db, ns.coll);
    bson_destroy(&call.reply);
    ok = mongoc_collection_insert_many(collection, list, docs->count, &call.opts, &call.reply,
                                       &call.error);
    mongoc_collection_destroy(collection);
    code = finish_write(&call, ok, result, err);
    ash__mongo_call_end(&call);
    ash__free(list);
    ash__free(views);
    return code;
}

/* An array of stages or a document with operators; {} replaces. */
static bool is_replacement(const bson_value_t *update, const bson_t *view)
{
    bson_iter_t it;
    if (update->value_type == BSON_TYPE_ARRAY)
        return false;
    return !bson_iter_init(&it, view) || !bson_iter_next(&it) || bson_iter_key(&it)[0] != '$';
}

int ash__mongo_view_update(const bson_value_t *update, bson_t *view, ash_error *err)
{
    if (!bson_init_static(view, update->value.v_doc.data, update->value.v_doc.data_len))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_BSON,
                                "update is no valid document");
    /* The driver tells a pipeline by its stages and would send an empty one as a replacement. */
    if (update->value_type == BSON_TYPE_ARRAY && bson_empty(view))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "update pipeline is empty");
    return 0;
}

static bool send_update(ash_mongo_call *call, mongoc_collection_t *collection, bool multi,
                        const ash_update_request *request, const bson_t *view)
{
    const bson_t *filter = request->filter;
    /* Each of the driver's functions initialises the reply itself. */
    bson_destroy(&call->reply);
    if (multi)
        return mongoc_collection_update_many(collection, filter, view, &call->opts, &call->reply,
                                             &call->error);
    if (is_replacement(request->update, view))
        return mongoc_collection_replace_one(collection, filter, view, &call->opts, &call->reply,
                                             &call->error);
    return mongoc_collection_update_one(collection, filter, view, &call->opts, &call->reply,
                                        &call->error);
}

int ash__mongo_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                      const ash_update_options *opts, ash_write_result *result, ash_error *err)
{
    mongoc_collection_t *collection;
    ash_mongo_call call;
    bson_t view;
    bool ok;
    int code = ash__mongo_view_update(request->update, &view, err);
    if (code == 0 && ash__replay_is_on(&opts->op))
        return ash__replay_update(store, ns, request, opts, result, err);
    if (code == 0)
        code = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (code != 0)
        return code;
    ash__mongo_call_local_limit(&call);
    add_write_options(&call, ns.coll);
    if (opts->upsert)
        BSON_APPEND_BOOL(&call.opts, "upsert", true);
    ash__mongo_add_array(&call.opts, "arrayFilters", opts->array_filters);
    ash__mongo_add_value(&call.opts, "hint", opts->hint);
    ash__mongo_add_doc(&call.opts, "collation", opts->collation);
    ash__mongo_add_doc(&call.opts, "let", opts->let);
    collection = mongoc_client_get_collection(call.client, ns.db, ns.coll);
    ok = send_update(&call, collection, opts->multi, request, &view);
    mongoc_collection_destroy(collection);
    code = finish_write(&call, ok, result, err);
    ash__mongo_call_end(&call);
    return code;
}

int ash__mongo_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_remove_options *opts, ash_write_result *result, ash_error *err)
{
    mongoc_collection_t *collection;
    ash_mongo_call call;
    bool ok;
    if (ash__replay_is_on(&opts->op))
        return ash__replay_remove(store, ns, filter, opts, result, err);
    int code = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (code != 0)
        return code;
    ash__mongo_call_writes(&call, ns.coll);
    ash__mongo_add_value(&call.opts, "hint", opts->hint);
    ash__mongo_add_doc(&call.opts, "collation", opts->collation);
    ash__mongo_add_doc(&call.opts, "let", opts->let);
    collection = mongoc_client_get_collection(call.client, ns.db, ns.coll);
    bson_destroy(&call.reply);
    if (opts->just_one)
        ok = mongoc_collection_delete_one(collection, filter, &call.opts, &call.reply, &call.error);
    else
        ok =
            mongoc_collection_delete_many(collection, filter, &call.opts, &call.reply, &call.error);
    mongoc_collection_destroy(collection);
    code = finish_write(&call, ok, result, err);
    ash__mongo_call_end(&call);
    return code;
}
