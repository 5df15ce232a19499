/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mongo/replay.h"

#include "base/error.h"
#include "base/mem.h"
#include "bson/value.h"

/* The commands of MongoDB that the driver's functions would send, and their answers. */

/* ---- reading ---- */

/* The one batch of the answer. */
static int open_batch(ash_store *store, const bson_t *reply, ash_cursor **out, ash_error *err)
{
    bson_iter_t it, at;
    uint32_t len = 0;
    const uint8_t *data = NULL;
    bson_t view, *docs;
    if (!bson_iter_init_find(&it, reply, "cursor") || !bson_iter_recurse(&it, &at) ||
        !bson_iter_find(&at, "firstBatch") || !BSON_ITER_HOLDS_ARRAY(&at))
        return ash__fail(err, ASH_ENETWORK, "answer in a transaction has no batch");
    bson_iter_array(&at, &len, &data);
    ash_assert(bson_init_static(&view, data, len)); /* checked when it arrived */
    /* The answer goes with the call, the cursor stays. */
    docs = bson_copy(&view);
    *out = ash__cursor_from_array(store, docs);
    return 0;
}

static int run_cursor(ash_store *store, const ash_op *op, const char *db, const bson_t *command,
                      ash_cursor **out, ash_error *err)
{
    ash_mongo_call call;
    int rc = ash__replay_run(&call, store, op, db, command, err);
    if (rc == 0)
        rc = open_batch(store, &call.reply, out, err);
    ash__mongo_call_end(&call);
    return rc;
}

int ash__replay_find(ash_store *store, ash_ns ns, const bson_t *filter,
                     const ash_find_options *opts, ash_cursor **out, ash_error *err)
{
    bson_t *command = BCON_NEW("find", BCON_UTF8(ns.coll), "filter", BCON_DOCUMENT(filter));
    ash__mongo_find_fields(command, opts);
    int rc = run_cursor(store, &opts->op, ns.db, command, out, err);
    bson_destroy(command);
    return rc;
}

int ash__replay_aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                          const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    bson_t command = BSON_INITIALIZER;
    bson_t cursor = BSON_INITIALIZER;
    if (ns.coll != NULL)
        BSON_APPEND_UTF8(&command, "aggregate", ns.coll);
    else
        BSON_APPEND_INT32(&command, "aggregate", 1);
    BSON_APPEND_ARRAY(&command, "pipeline", pipeline);
    BSON_APPEND_DOCUMENT(&command, "cursor", &cursor);
    ash__mongo_add_value(&command, "hint", opts->hint);
    ash__mongo_add_doc(&command, "collation", opts->collation);
    ash__mongo_add_doc(&command, "let", opts->let);
    if (opts->allow_disk_use)
        BSON_APPEND_BOOL(&command, "allowDiskUse", true);
    int rc = run_cursor(store, &opts->op, ns.db, &command, out, err);
    bson_destroy(&cursor);
    bson_destroy(&command);
    return rc;
}

int ash__replay_count(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_count_options *opts, int64_t *out, ash_error *err)
{
    ash_mongo_call call;
    bson_t *command = BCON_NEW("count", BCON_UTF8(ns.coll), "query", BCON_DOCUMENT(filter));
    ash__mongo_add_value(command, "hint", opts->hint);
    ash__mongo_add_doc(command, "collation", opts->collation);
    if (opts->skip > 0)
        BSON_APPEND_INT64(command, "skip", opts->skip);
    if (opts->limit > 0)
        BSON_APPEND_INT64(command, "limit", opts->limit);
    int rc = ash__replay_run(&call, store, &opts->op, ns.db, command, err);
    if (rc == 0)
        *out = ash__mongo_int_field(&call.reply, "n");
    ash__mongo_call_end(&call);
    bson_destroy(command);
    return rc;
}

int ash__replay_distinct(ash_store *store, const char *db, const bson_t *command, const ash_op *op,
                         bson_t *out, ash_error *err)
{
    ash_mongo_call call;
    int rc = ash__replay_run(&call, store, op, db, command, err);
    if (rc == 0) {
        bson_init(out);
        bson_copy_to_excluding_noinit(&call.reply, out, "ok", NULL);
    }
    ash__mongo_call_end(&call);
    return rc;
}

/* ---- writing ---- */

static void read_upserted(const bson_t *reply, ash_write_result *result)
{
    bson_iter_t it, item, field;
    if (!bson_iter_init_find(&it, reply, "upserted") || !bson_iter_recurse(&it, &item) ||
        !bson_iter_next(&item) || !bson_iter_recurse(&item, &field) ||
        !bson_iter_find(&field, "_id"))
        return;
    result->upserted = true;
    bson_append_iter(&result->upserted_id, "_id", -1, &field);
}

/* An insert, update or delete of one statement. */
typedef struct write_request {
    ash_store *store;
    const ash_op *op;
    const char *db;
    bson_t *command;
} write_request;

/* *n: how many documents it was about. */
static int run_write(const write_request *w, ash_write_result *result, int64_t *n, ash_error *err)
{
    ash_mongo_call call;
    if (w->op->bypass_validation)
        BSON_APPEND_BOOL(w->command, "bypassDocumentValidation", true);
    int rc = ash__replay_run(&call, w->store, w->op, w->db, w->command, err);
    if (rc == 0) {
        *n = ash__mongo_int_field(&call.reply, "n");
        result->modified += ash__mongo_int_field(&call.reply, "nModified");
        read_upserted(&call.reply, result);
        rc = ash__mongo_write_errors(&call, result, err);
    }
    ash__mongo_call_end(&call);
    return rc;
}

static void append_document(bson_t *array, uint32_t index, ash_doc doc)
{
    char text[12];
    const char *name;
    bson_t view, own;
    bson_oid_t id;
    ash_assert(bson_init_static(&view, doc.data, doc.len));
    bson_uint32_to_string(index, &name, text, sizeof text);
    if (bson_has_field(&view, "_id")) {
        BSON_APPEND_DOCUMENT(array, name, &view);
        return;
    }
    /* The server would make another one each time. */
    bson_oid_init(&id, NULL);
    BSON_APPEND_DOCUMENT_BEGIN(array, name, &own);
    BSON_APPEND_OID(&own, "_id", &id);
    bson_concat(&own, &view);
    bson_append_document_end(array, &own);
}

int ash__replay_insert(ash_store *store, ash_ns ns, const ash_doc_list *docs,
                       const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    bson_t *command =
        BCON_NEW("insert", BCON_UTF8(ns.coll), "ordered", BCON_BOOL(!opts->unordered));
    bson_t list;
    int64_t n = 0;
    int rc = 0;
    BSON_APPEND_ARRAY_BEGIN(command, "documents", &list);
    for (size_t i = 0; rc == 0 && i < docs->count; i++) {
        if (list.len + docs->docs[i].len > ASH_DOC_MAX_BYTES)
            rc = ash__fail(err, ASH_ETOOBIG, "documents to insert have more than %d bytes",
                           ASH_DOC_MAX_BYTES);
        else
            append_document(&list, (uint32_t)i, docs->docs[i]);
    }
    bson_append_array_end(command, &list);
    if (rc == 0)
        rc = run_write(&(write_request){store, &opts->op, ns.db, command}, result, &n, err);
    result->inserted += n;
    bson_destroy(command);
    return rc;
}

/* The array `name` of one statement, under way. */
static void begin_statement(bson_t *command, const char *name, bson_t *list, bson_t *statement,
                            const bson_t *filter)
{
    bson_append_array_begin(command, name, -1, list);
    BSON_APPEND_DOCUMENT_BEGIN(list, "0", statement);
    BSON_APPEND_DOCUMENT(statement, "q", filter);
}

static void end_statement(bson_t *command, bson_t *list, bson_t *statement, const bson_t *let)
{
    bson_append_document_end(list, statement);
    bson_append_array_end(command, list);
    ash__mongo_add_doc(command, "let", let);
}

int ash__replay_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                       const ash_update_options *opts, ash_write_result *result, ash_error *err)
{
    bson_t *command = BCON_NEW("update", BCON_UTF8(ns.coll));
    bson_t list, statement;
    int64_t n = 0;
    begin_statement(command, "updates", &list, &statement, request->filter);
    BSON_APPEND_VALUE(&statement, "u", request->update);
    BSON_APPEND_BOOL(&statement, "multi", opts->multi);
    BSON_APPEND_BOOL(&statement, "upsert", opts->upsert);
    ash__mongo_add_array(&statement, "arrayFilters", opts->array_filters);
    ash__mongo_add_value(&statement, "hint", opts->hint);
    ash__mongo_add_doc(&statement, "collation", opts->collation);
    end_statement(command, &list, &statement, opts->let);
    int rc = run_write(&(write_request){store, &opts->op, ns.db, command}, result, &n, err);
    /* n counts an upsert as well. */
    result->matched += n - (result->upserted ? 1 : 0);
    bson_destroy(command);
    return rc;
}

int ash__replay_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                       const ash_remove_options *opts, ash_write_result *result, ash_error *err)
{
    bson_t *command = BCON_NEW("delete", BCON_UTF8(ns.coll));
    bson_t list, statement;
    int64_t n = 0;
    begin_statement(command, "deletes", &list, &statement, filter);
    BSON_APPEND_INT32(&statement, "limit", opts->just_one ? 1 : 0);
    ash__mongo_add_value(&statement, "hint", opts->hint);
    ash__mongo_add_doc(&statement, "collation", opts->collation);
    end_statement(command, &list, &statement, opts->let);
    int rc = run_write(&(write_request){store, &opts->op, ns.db, command}, result, &n, err);
    result->deleted += n;
    bson_destroy(command);
    return rc;
}

static bson_t *modify_command(const char *coll, const bson_t *filter,
                              const ash_find_and_modify_options *o)
{
    bson_t *command = BCON_NEW("findAndModify", BCON_UTF8(coll), "query", BCON_DOCUMENT(filter));
    ash__mongo_add_doc(command, "sort", o->sort);
    ash__mongo_add_doc(command, "fields", o->projection);
    if (o->remove)
        BSON_APPEND_BOOL(command, "remove", true);
    else
        ash__mongo_add_value(command, "update", o->update);
    if (o->return_new)
        BSON_APPEND_BOOL(command, "new", true);
    if (o->upsert)
        BSON_APPEND_BOOL(command, "upsert", true);
    if (o->op.bypass_validation)
        BSON_APPEND_BOOL(command, "bypassDocumentValidation", true);
    ash__mongo_add_array(command, "arrayFilters", o->array_filters);
    ash__mongo_add_value(command, "hint", o->hint);
    ash__mongo_add_doc(command, "collation", o->collation);
    ash__mongo_add_doc(command, "let", o->let);
    return command;
}

int ash__replay_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                                const ash_find_and_modify_options *opts,
                                const ash_modify_answer *answer, ash_error *err)
{
    ash_mongo_call call;
    ash_error own = ASH_ERROR_INIT;
    bson_t *command = modify_command(ns.coll, filter, opts);
    int rc = ash__replay_run(&call, store, &opts->op, ns.db, command, &own);
    if (rc == 0)
        ash__mongo_modify_reply(&call.reply, opts->remove, answer);
    else if (own.server_code == ASH_MONGO_DUPLICATE_KEY)
        ash__write_result_add_error(answer->result, 0, &own, &call.reply);
    if (rc != 0 && err != NULL)
        *err = own;
    ash__mongo_call_end(&call);
    bson_destroy(command);
    return rc;
}
