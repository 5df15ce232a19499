/* SPDX-License-Identifier: Apache-2.0 */
/* find, count, distinct and explain.  Arguments reach the store as views of the request, which
 * lives until the answer is sent. */
#include "wire/cmd.h"

#include "base/mem.h"

#include <string.h>

/* Options of find that ask for something this server does not do. */
static int refuse_find_options(const ash_command *c, ash_error *err)
{
    static const char *const refused[] = {"returnKey", "resumeAfter", "requestResumeToken"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(refused); i++)
        if (ash__value_truthy(ash__arg(c, refused[i])))
            return ash__fail(err, ASH_EUNSUPPORTED,
                             "find: option '%s' is not supported by this server", refused[i]);
    return 0;
}

/* Documents among the arguments are the caller's, who has the views. */
static int read_find_options(const ash_command *c, ash_find_options *o, int64_t *batch_size,
                             ash_error *err)
{
    int rc = refuse_find_options(c, err);
    if (rc == 0)
        rc = ash__arg_count(c, "skip", &o->skip, err);
    if (rc == 0)
        rc = ash__arg_count(c, "limit", &o->limit, err);
    if (rc == 0)
        rc = ash__arg_count(c, "batchSize", batch_size, err);
    /* 0 means something: the cursor and no documents. */
    if (ash__arg(c, "batchSize").type == 0)
        *batch_size = -1;
    o->op = c->op;
    o->tailable = ash__arg_bool(c, "tailable", false);
    o->await_data = ash__arg_bool(c, "awaitData", false);
    o->no_cursor_timeout = ash__arg_bool(c, "noCursorTimeout", false);
    o->allow_disk_use = ash__arg_bool(c, "allowDiskUse", false);
    o->show_record_id = ash__arg_bool(c, "showRecordId", false);
    o->past_damage = ash__arg_bool(c, "ashlarPastDamage", false);
    if (rc == 0 && o->tailable && c->op.transaction != NULL)
        rc = ash__refuse_in_transaction("A tailable cursor", err);
    if (rc == 0 && o->await_data && !o->tailable)
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                              "Cannot set 'awaitData' without also setting 'tailable'");
    return rc;
}

int ash__run_find(ash_command *c, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter_doc, sort, projection, collation, let, min, max, empty = BSON_INITIALIZER;
    ash_arg_value hint;
    ash_collection *coll = NULL;
    ash_cursor *cursor = NULL;
    int64_t batch_size;
    atomic_fetch_add(&c->server->counters.query, 1);
    int rc = read_find_options(c, &o, &batch_size, err);
    if (rc != 0)
        return rc;
    const bson_t *filter = ash__arg_bson(c, "filter", &filter_doc);
    o.sort = ash__arg_bson(c, "sort", &sort);
    o.projection = ash__arg_bson(c, "projection", &projection);
    o.collation = ash__arg_bson(c, "collation", &collation);
    o.let = ash__arg_bson(c, "let", &let);
    o.hint = ash__field_value(c->body, "hint", &hint);
    o.min = ash__arg_bson(c, "min", &min);
    o.max = ash__arg_bson(c, "max", &max);
    if ((rc = ash__command_collection(c, &coll, err)) != 0)
        return rc;
    rc = ash_collection_find(coll, filter != NULL ? filter : &empty, &o, &cursor, err);
    if (rc == 0) {
        char *ns = ash__sprintf("%s.%s", c->db, c->coll);
        ash_first_batch how = {.ns = ns,
                               .batch_size = batch_size,
                               .limit = o.limit,
                               .single = ash__arg_bool(c, "singleBatch", false),
                               .tailable = o.tailable,
                               .awaits = o.tailable && o.await_data,
                               .no_timeout = o.no_cursor_timeout,
                               .past_damage = o.past_damage};
        rc = ash__reply_first_batch(c, cursor, &how, err);
        ash__free(ns);
    }
    ash_collection_free(coll);
    return rc;
}

/* ---- count, distinct, explain ---- */

int ash__run_count(ash_command *c, ash_error *err)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    bson_t query, collation, empty = BSON_INITIALIZER;
    ash_arg_value hint;
    ash_collection *coll = NULL;
    int64_t n = 0;
    o.op = c->op;
    /* A negative limit means the same as its positive. */
    o.limit = ash__arg_int64(c, "limit", 0);
    if (o.limit < 0)
        o.limit = o.limit == INT64_MIN ? INT64_MAX : -o.limit;
    int rc = ash__arg_count(c, "skip", &o.skip, err);
    if (rc != 0)
        return rc;
    o.collation = ash__arg_bson(c, "collation", &collation);
    o.hint = ash__field_value(c->body, "hint", &hint);
    const bson_t *filter = ash__arg_bson(c, "query", &query);
    if ((rc = ash__command_collection(c, &coll, err)) != 0)
        return rc;
    rc = ash_collection_count(coll, filter != NULL ? filter : &empty, &o, &n, err);
    ash_collection_free(coll);
    if (rc != 0)
        return rc;
    /* As MongoDB does; some clients read nothing else. */
    if (n <= INT32_MAX)
        ash__builder_int32(&c->reply->body, "n", (int32_t)n);
    else
        ash__builder_int64(&c->reply->body, "n", n);
    return 0;
}

int ash__run_distinct(ash_command *c, ash_error *err)
{
    bson_t query, collation, out, empty = BSON_INITIALIZER;
    ash_collection *coll = NULL;
    const char *key = ash__arg_string(c, "key", NULL);
    if (key == NULL)
        return ash__missing_argument(c, "key", err);
    const bson_t *filter = ash__arg_bson(c, "query", &query);
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    rc = ash_collection_distinct(coll, key, filter != NULL ? filter : &empty,
                                 ash__arg_bson(c, "collation", &collation), &c->op, &out, err);
    ash_collection_free(coll);
    if (rc == 0) {
        ash__reply_fields(c, &out);
        bson_destroy(&out);
        if (c->op.at_time != 0)
            ash__builder_timestamp(&c->reply->body, "atClusterTime", c->op.at_time);
    }
    return rc;
}

int ash__explain_command(ash_command *c, const char *coll_name, ash_doc command,
                         const char *verbosity, ash_error *err)
{
    bson_t doc, out;
    ash_collection *coll = NULL;
    int rc = ash_collection_new(c->server->store, c->db, coll_name, &coll, err);
    if (rc != 0)
        return rc;
    ash__doc_to_bson(command, &doc);
    rc = ash_collection_explain(coll, &doc, verbosity, &c->op, &out, err);
    ash_collection_free(coll);
    if (rc != 0)
        return rc;
    ash__reply_fields(c, &out);
    if (!bson_has_field(&out, "command"))
        ash__builder_doc_value(&c->reply->body, "command", command);
    bson_destroy(&out);
    ash__builder_begin_doc(&c->reply->body, "serverInfo");
    ash__builder_text(&c->reply->body, "host", c->connection->peer.local);
    ash__builder_text(&c->reply->body, "version", ASH_SERVER_VERSION);
    ash__builder_end(&c->reply->body);
    return 0;
}

int ash__run_explain(ash_command *c, ash_error *err)
{
    uint32_t len;
    const char *coll = "$cmd.aggregate";
    if (c->value.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field 'explain.explain' is the wrong type '%s', expected "
                                "type 'object'",
                                ash__type_name(c->value.type));
    ash_doc command = ash__value_doc(c->value);
    ash_doc_iter it = ash__doc_iter(command);
    if (!ash__doc_iter_next(&it))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "explain needs a command");
    if (it.value.type == BSON_TYPE_UTF8) {
        coll = ash__value_string(it.value, &len);
        int rc = ash__check_namespace(coll, len, err);
        if (rc != 0)
            return rc;
    }
    const char *verbosity = ash__arg_string(c, "verbosity", "allPlansExecution");
    if (strcmp(verbosity, "queryPlanner") != 0 && strcmp(verbosity, "executionStats") != 0 &&
        strcmp(verbosity, "allPlansExecution") != 0)
        return ash__fail_server(
            err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
            "verbosity string must be one of {'queryPlanner', 'executionStats', "
            "'allPlansExecution'}");
    return ash__explain_command(c, coll, command, verbosity, err);
}
