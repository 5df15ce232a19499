/* SPDX-License-Identifier: Apache-2.0 */
/* aggregate, whose stages may be the server's own, write, or watch: which of these go with a
 * transaction, a read concern or API version 1 is decided here, the stages themselves are the
 * store's. */
#include "wire/cmd.h"

#include "base/mem.h"
#include "wire/needs.h"

#include <string.h>

static void describe_operations(ash_command *c, ash_builder *b)
{
    ash__describe_operations(c, b);
}

static void describe_sessions(ash_command *c, ash_builder *b)
{
    ash__sessions_describe(c->server->sessions, b);
}

/* Stages that read no collection: the server itself gives their documents. */
static const struct own_stage {
    const char *name;
    bool admin_only;
    void (*describe)(ash_command *c, ash_builder *b); /* the documents, into an open array */
} own_stages[] = {
    {"$currentOp", true, describe_operations},
    {"$listLocalSessions", false, describe_sessions},
};

static ash_value first_stage(ash_doc pipeline, const char *name)
{
    ash_doc_iter it = ash__doc_iter(pipeline);
    if (!ash__doc_iter_next(&it) || it.value.type != BSON_TYPE_DOCUMENT)
        return ASH_VALUE_MISSING;
    return ash__doc_get(ash__value_doc(it.value), name);
}

static const struct own_stage *find_own_stage(ash_doc stages)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(own_stages); i++)
        if (first_stage(stages, own_stages[i].name).type == BSON_TYPE_DOCUMENT)
            return &own_stages[i];
    return NULL;
}

static bool is_own_stage(const char *name)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(own_stages); i++)
        if (strcmp(own_stages[i].name, name) == 0)
            return true;
    return false;
}

/* The documents take the first stage's place, so that all others may follow. */
static int open_own_stage(ash_command *c, const struct own_stage *stage, ash_doc stages,
                          const ash_aggregate_options *o, ash_cursor **out, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    char name[12];
    uint32_t at = 0;
    bson_t pipeline;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "0");
    ash__builder_begin_doc(&b, "$documents");
    /* $literal, since what clients have sent (commands in $currentOp) may look like expressions. */
    ash__builder_begin_array(&b, "$literal");
    stage->describe(c, &b);
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash__builder_end(&b);
    for (ash_doc_iter it = ash__doc_iter(stages); ash__doc_iter_next(&it); at++)
        if (at > 0)
            ash__builder_value(&b, ash__index_name(at, name), it.value);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &pipeline);
    int rc = ash_store_aggregate(c->server->store, c->db, &pipeline, o, out, err);
    ash__builder_release(&b);
    return rc;
}

/* What a stage does that a read concern or the API version forbids. */
static int check_stages(const ash_command *c, ash_doc stages, ash_error *err)
{
    bool snapshot = c->wants_snapshot;
    bool linearizable = strcmp(c->read_level, "linearizable") == 0;
    bool strict = ash__arg_bool(c, "apiStrict", false);
    for (ash_doc_iter it = ash__doc_iter(stages); ash__doc_iter_next(&it);) {
        ash_doc stage =
            it.value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(it.value) : ash__doc_empty;
        ash_doc_iter field = ash__doc_iter(stage);
        const char *name = ash__doc_iter_next(&field) ? field.name : "";
        bool writes = strcmp(name, "$out") == 0 || strcmp(name, "$merge") == 0;
        bool changes = strcmp(name, "$changeStream") == 0;
        if (c->op.transaction != NULL && (writes || changes || is_own_stage(name)))
            return ash__refuse_in_transaction(name, err);
        /* A change stream tells of what cannot be taken back. */
        bool not_majority = c->read_level[0] != '\0' && strcmp(c->read_level, "majority") != 0;
        if ((writes && (snapshot || linearizable)) || (changes && not_majority))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                    "%s cannot be used with a '%s' read concern level", name,
                                    c->read_level);
        if (strict && is_own_stage(name))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_API_STRICT_ERROR,
                                    "stage %s is not allowed with 'apiStrict: true' in API "
                                    "Version 1",
                                    name);
    }
    return 0;
}

static int open_aggregate(ash_command *c, const char *coll_name, const bson_t *pipeline,
                          ash_aggregate_options *o, ash_cursor **out, ash_error *err)
{
    ash_collection *coll = NULL;
    if (coll_name == NULL)
        return ash_store_aggregate(c->server->store, c->db, pipeline, o, out, err);
    int rc = ash_collection_new(c->server->store, c->db, coll_name, &coll, err);
    if (rc == 0)
        rc = ash_collection_aggregate(coll, pipeline, o, out, err);
    ash_collection_free(coll);
    return rc;
}

/* The collection's name, or NULL for {aggregate: 1}. */
static int aggregate_target(const ash_command *c, const char **coll, ash_error *err)
{
    int64_t one;
    uint32_t len = 0;
    *coll = NULL;
    if (c->value.type == BSON_TYPE_UTF8) {
        *coll = ash__value_string(c->value, &len);
        return ash__check_namespace(*coll, len, err);
    }
    if (ash__value_as_int64(c->value, &one) && one == 1)
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                            "aggregate takes a collection's name or 1");
}

static int aggregate_batch_size(const ash_command *c, int64_t *batch_size, ash_error *err)
{
    static const ash_argument fields[] = {{"batchSize", ASH_ARG_NUMBER}, {NULL, 0}};
    ash_value cursor = ash__arg(c, "cursor");
    *batch_size = -1;
    /* As MongoDB has it since 3.6, which gives no answer without a cursor any more. */
    if (cursor.type == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "The 'cursor' option is required, except for aggregate with the "
                                "explain argument");
    int rc = ash__check_fields(ash__value_doc(cursor), fields, "cursor", err);
    if (rc != 0)
        return rc;
    ash_value size = ash__doc_get(ash__value_doc(cursor), "batchSize");
    if (ash__value_as_int64(size, batch_size) && *batch_size < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cursor.batchSize must not be negative");
    return 0;
}

void ash__reply_details(ash_command *c, const bson_t *details)
{
    if (bson_empty(details))
        return;
    ash__builder_begin(&c->reply->details);
    ash__builder_elements(&c->reply->details, ash__doc_from_bson(details));
    ash__builder_end(&c->reply->details);
    c->reply->has_details = true;
}

static int reply_aggregate(ash_command *c, const char *coll, ash_doc stages, ash_cursor *cursor,
                           int64_t batch_size, ash_error *err)
{
    bool changes = first_stage(stages, "$changeStream").type != 0;
    char *ns = ash__sprintf("%s.%s", c->db, coll != NULL ? coll : "$cmd.aggregate");
    ash_first_batch how = {.ns = ns,
                           .batch_size = batch_size,
                           .tailable = changes,
                           .awaits = changes,
                           .changes = changes};
    int rc = ash__reply_first_batch(c, cursor, &how, err);
    ash__free(ns);
    /* Each further batch is judged by them again. */
    if (rc == 0 && c->reply->keep_cursor)
        ash__pipeline_joins(c, coll, stages, &c->reply->cursor->joined);
    return rc;
}

int ash__run_aggregate(ash_command *c, ash_error *err)
{
    ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
    bson_t pipeline, collation, let, details = BSON_INITIALIZER;
    ash_arg_value hint;
    ash_cursor *cursor = NULL;
    const char *coll;
    int64_t batch_size;
    int rc = aggregate_target(c, &coll, err);
    if (rc != 0)
        return rc;
    if (ash__arg_bson(c, "pipeline", &pipeline) == NULL)
        return ash__missing_argument(c, "pipeline", err);
    if (ash__arg_bool(c, "explain", false) && c->op.transaction != NULL)
        return ash__refuse_in_transaction("explain", err);
    if (ash__arg_bool(c, "explain", false))
        return ash__explain_command(c, coll != NULL ? coll : "$cmd.aggregate", c->body,
                                    "queryPlanner", err);
    if ((rc = aggregate_batch_size(c, &batch_size, err)) != 0)
        return rc;
    ash_doc stages = ash__doc_from_bson(&pipeline);
    if ((rc = check_stages(c, stages, err)) != 0)
        return rc;
    /* Elsewhere in the pipeline it is the store's error. */
    bool changes = first_stage(stages, "$changeStream").type != 0;
    if (changes && !c->server->can_watch)
        return ash__fail_server(err, ASH_EUNSUPPORTED,
                                ASH_MONGO_LOCATION_CHANGE_STREAM_ON_STANDALONE,
                                "The $changeStream stage is only supported on replica sets");
    o.op = c->op;
    o.error_details = &details;
    o.op.bypass_validation = ash__arg_bool(c, "bypassDocumentValidation", false);
    o.allow_disk_use = ash__arg_bool(c, "allowDiskUse", false);
    o.collation = ash__arg_bson(c, "collation", &collation);
    o.let = ash__arg_bson(c, "let", &let);
    o.hint = ash__field_value(c->body, "hint", &hint);
    /* On a collection they are stages that the store does not know. */
    const struct own_stage *own = coll == NULL ? find_own_stage(stages) : NULL;
    if (own != NULL && own->admin_only && strcmp(c->db, "admin") != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "%s must be run against the 'admin' database with {aggregate: 1}",
                                own->name);
    if (own != NULL)
        rc = open_own_stage(c, own, stages, &o, &cursor, err);
    else
        rc = open_aggregate(c, coll, &pipeline, &o, &cursor, err);
    if (rc != 0)
        ash__reply_details(c, &details); /* why $merge could not write a document */
    bson_destroy(&details);
    if (rc != 0)
        return rc;
    return reply_aggregate(c, coll, stages, cursor, batch_size, err);
}
