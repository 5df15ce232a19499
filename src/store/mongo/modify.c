/* SPDX-License-Identifier: Apache-2.0 */
/* findAndModify, by the driver's function; its answer is read here for replays as well. */

#include "store/mongo/driver.h"

#include "base/error.h"
#include "store/mongo/replay.h"

static mongoc_find_and_modify_opts_t *driver_options(ash_mongo_call *call, const char *coll,
                                                     const ash_find_and_modify_options *o,
                                                     const bson_t *update)
{
    mongoc_find_and_modify_opts_t *to = mongoc_find_and_modify_opts_new();
    int flags = MONGOC_FIND_AND_MODIFY_NONE;

    if (o->remove)
        flags |= MONGOC_FIND_AND_MODIFY_REMOVE;
    if (o->upsert)
        flags |= MONGOC_FIND_AND_MODIFY_UPSERT;
    if (o->return_new)
        flags |= MONGOC_FIND_AND_MODIFY_RETURN_NEW;
    mongoc_find_and_modify_opts_set_flags(to, (mongoc_find_and_modify_flags_t)flags);
    if (o->sort != NULL)
        mongoc_find_and_modify_opts_set_sort(to, o->sort);
    if (o->projection != NULL)
        mongoc_find_and_modify_opts_set_fields(to, o->projection);
    if (!o->remove)
        mongoc_find_and_modify_opts_set_update(to, update);
    if (o->op.bypass_validation)
        mongoc_find_and_modify_opts_set_bypass_document_validation(to, true);
    /* Before the options are copied into the driver's. */
    ash__mongo_call_writes(call, coll);
    ash__mongo_add_array(&call->opts, "arrayFilters", o->array_filters);
    ash__mongo_add_value(&call->opts, "hint", o->hint);
    ash__mongo_add_doc(&call->opts, "collation", o->collation);
    ash__mongo_add_doc(&call->opts, "let", o->let);
    mongoc_find_and_modify_opts_append(to, &call->opts);
    return to;
}

/* lastErrorObject: {n, updatedExisting, upserted?}; value: the document or null. */
void ash__mongo_modify_reply(const bson_t *reply, bool removed, const ash_modify_answer *answer)
{
    ash_write_result *result = answer->result;
    bson_iter_t it, at;
    uint32_t len = 0;
    const uint8_t *data = NULL;
    bson_t view;

    *answer->found = false;
    bson_init(answer->value);
    if (bson_iter_init_find(&it, reply, "value") && BSON_ITER_HOLDS_DOCUMENT(&it)) {
        bson_iter_document(&it, &len, &data);
        *answer->found = bson_init_static(&view, data, len) && bson_concat(answer->value, &view);
    }
    if (!bson_iter_init_find(&it, reply, "lastErrorObject") || !BSON_ITER_HOLDS_DOCUMENT(&it))
        return;
    if (bson_iter_recurse(&it, &at) && bson_iter_find(&at, "upserted")) {
        result->upserted = true;
        bson_append_iter(&result->upserted_id, "_id", -1, &at);
    } else if (bson_iter_recurse(&it, &at) && bson_iter_find(&at, "n")) {
        int64_t n = bson_iter_as_int64(&at);
        if (removed)
            result->deleted = n;
        else
            result->matched = result->modified = n; /* the command does not tell them apart */
    }
}

static int duplicate_details(ash_mongo_call *call, ash_write_result *result, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    int code = ash__mongo_call_fail(call, &why);
    /* The answer names the key and its value beside the error. */
    if (why.server_code == ASH_MONGO_DUPLICATE_KEY)
        ash__write_result_add_error(result, 0, &why, &call->reply);
    if (err != NULL)
        *err = why;
    return code;
}

int ash__mongo_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                               const ash_find_and_modify_options *opts,
                               const ash_modify_answer *answer, ash_error *err)
{
    mongoc_find_and_modify_opts_t *driver;
    mongoc_collection_t *collection;
    ash_mongo_call call;
    bson_t update = BSON_INITIALIZER;
    bool ok;
    int code = 0;
    if (!opts->remove)
        code = ash__mongo_view_update(opts->update, &update, err);
    if (code == 0 && ash__replay_is_on(&opts->op))
        return ash__replay_find_and_modify(store, ns, filter, opts, answer, err);
    if (code == 0)
        code = ash__mongo_call_begin(&call, store, &opts->op, err);
    if (code != 0)
        return code;
    driver = driver_options(&call, ns.coll, opts, &update);
    collection = mongoc_client_get_collection(call.client, ns.db, ns.coll);
    bson_destroy(&call.reply);
    ok = mongoc_collection_find_and_modify_with_opts(collection, filter, driver, &call.reply,
                                                     &call.error);
    mongoc_collection_destroy(collection);
    mongoc_find_and_modify_opts_destroy(driver);
    code = ash__mongo_check(&call.reply, err);
    if (code == 0 && !ok)
        code = duplicate_details(&call, answer->result, err);
    else if (code == 0)
        code = ash__mongo_write_errors(&call, answer->result, err);
    if (code == 0)
        ash__mongo_modify_reply(&call.reply, opts->remove, answer);
    ash__mongo_call_end(&call);
    return code;
}
