/* SPDX-License-Identifier: Apache-2.0 */
/* insert, update, delete: statements of one command, of which each may fail by itself.  What they
 * did and which failed is tallied, and the command fails only where the rest could not go on. */
#include "wire/cmd.h"

#include "base/mem.h"
#include "store/ops.h"
#include "wire/text.h"

#include <stdio.h>
#include <string.h>

/* What the statements of one command did, for its answer. */
typedef struct write_tally {
    int64_t n;
    int64_t modified;
    ash_builder upserted; /* array under way */
    uint32_t upserted_count;
    ash_builder errors; /* array under way */
    uint32_t error_count;
    ash_builder retried; /* array under way: statements answered from memory */
    uint32_t retried_count;
} write_tally;

static void tally_init(write_tally *t)
{
    memset(t, 0, sizeof *t);
    ash__builder_begin(&t->upserted);
    ash__builder_begin(&t->errors);
    ash__builder_begin(&t->retried);
}

static void tally_release(write_tally *t)
{
    ash__builder_release(&t->upserted);
    ash__builder_release(&t->errors);
    ash__builder_release(&t->retried);
}

/* Every statement has a list of its own, so together they need the bound once more. */
static bool has_room(const write_tally *t, size_t bytes)
{
    return ash__write_errors_fit(t->error_count, t->errors.buf.len, bytes);
}

/* Like element, but with another index. */
static void add_error_doc(write_tally *t, ash_doc error, uint32_t index)
{
    char name[12];
    uint32_t text_len = 0;
    ash_value text = ash__doc_get(error, "errmsg");
    if (text.type == BSON_TYPE_UTF8)
        ash__value_string(text, &text_len);
    /* First the details go, then the text; index and code always stay. */
    bool with_text = has_room(t, text_len), whole = has_room(t, error.len);
    ash__builder_begin_doc(&t->errors, ash__index_name(t->error_count++, name));
    ash__builder_int32(&t->errors, "index", (int32_t)index);
    for (ash_doc_iter it = ash__doc_iter(error); ash__doc_iter_next(&it);)
        if (strcmp(it.name, "errmsg") == 0 && it.value.type == BSON_TYPE_UTF8)
            ash__wire_text(&t->errors, "errmsg",
                           with_text ? ash__value_string(it.value, NULL) : "");
        else if (strcmp(it.name, "code") == 0 || (whole && strcmp(it.name, "index") != 0))
            ash__builder_element(&t->errors, &it);
    ash__builder_end(&t->errors);
}

static void add_plain_error(write_tally *t, const ash_error *err, uint32_t index)
{
    char name[12];
    bool with_text = has_room(t, strlen(err->text));
    ash__builder_begin_doc(&t->errors, ash__index_name(t->error_count++, name));
    ash__builder_int32(&t->errors, "index", (int32_t)index);
    ash__builder_int32(&t->errors, "code", ash_error_server_code(err));
    ash__wire_text(&t->errors, "errmsg", with_text ? err->text : "");
    ash__builder_end(&t->errors);
}

/* Errors that the store lists; their own indexes count from first. */
static void add_store_errors(write_tally *t, const ash_write_result *r, uint32_t first)
{
    ash_doc list = ash__doc_from_bson(&r->errors);
    for (ash_doc_iter it = ash__doc_iter(list); ash__doc_iter_next(&it);) {
        int64_t index = 0;
        ash_doc error = ash__value_doc(it.value);
        ash__value_as_int64(ash__doc_get(error, "index"), &index);
        add_error_doc(t, error, first + (uint32_t)index);
    }
}

static void note_retried(write_tally *t, uint32_t statement)
{
    char name[12];
    ash__builder_int32(&t->retried, ash__index_name(t->retried_count++, name), (int32_t)statement);
}

static void note_last_error(ash_command *c, const write_tally *t)
{
    ash_connection *conn = c->connection;
    int64_t code = 0;
    uint32_t len;
    conn->last_n = t->n;
    conn->last_error[0] = '\0';
    if (t->error_count > 0) {
        /* The array is not closed yet, its first document is. */
        /* Behind the array's length, a type and "0". */
        ash_doc first = {t->errors.buf.data + 7, 0};
        if (ash__doc_at(first.data, t->errors.buf.len - 7, &first)) {
            ash_value text = ash__doc_get(first, "errmsg");
            ash__value_as_int64(ash__doc_get(first, "code"), &code);
            if (text.type == BSON_TYPE_UTF8)
                snprintf(conn->last_error, sizeof conn->last_error, "%s",
                         ash__value_string(text, &len));
        }
    }
    conn->last_code = (int32_t)code;
}

static void add_array(ash_builder *b, const char *name, ash_builder *array, uint32_t count)
{
    ash__builder_end(array);
    if (count > 0)
        ash__builder_array_value(b, name, ash__builder_doc(array));
}

static void reply_tally(ash_command *c, write_tally *t, bool updates)
{
    ash_builder *b = &c->reply->body;
    note_last_error(c, t);
    ash__builder_int32(b, "n", (int32_t)t->n);
    if (updates)
        ash__builder_int32(b, "nModified", (int32_t)t->modified);
    add_array(b, "upserted", &t->upserted, t->upserted_count);
    add_array(b, "writeErrors", &t->errors, t->error_count);
    add_array(b, "retriedStmtIds", &t->retried, t->retried_count);
}

/* ---- insert ---- */

int ash__run_insert(ash_command *c, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    ash_collection *coll = NULL;
    ash_write_result result;
    write_tally tally;
    ash_doc *docs = NULL;
    size_t count;
    int rc = ash__arg_docs(c, "documents", &docs, &count, err);
    if (rc != 0)
        return rc;
    ash_write_result_init(&result);
    tally_init(&tally);
    o.op = c->op;
    o.op.bypass_validation = ash__arg_bool(c, "bypassDocumentValidation", false);
    o.unordered = !ash__arg_bool(c, "ordered", true);
    if ((rc = ash__command_collection(c, &coll, err)) != 0)
        goto out;
    atomic_fetch_add(&c->server->counters.insert, (int64_t)count);
    rc = ash__command_fail_write(c, err);
    if (rc == 0)
        rc = ash_collection_insert(coll, docs, count, &o, &result, err);
    if (rc == 0 && !result.retried)
        ash__command_wrote(c);
    tally.n = result.inserted;
    /* Documents behind the end have been neither inserted nor refused, so nobody may take the
     * errors told for all. */
    bool ended = rc != 0 && ash__error_ends_command(err);
    if (rc != 0 && result.error_count == 0 && !ended) {
        add_plain_error(&tally, err, (uint32_t)result.inserted);
        rc = 0;
    } else if (result.error_count > 0 && !ended) {
        add_store_errors(&tally, &result, 0);
        rc = 0;
    }
    if (result.retried)
        for (uint32_t i = 0; i < count; i++)
            note_retried(&tally, i);
    if (rc == 0)
        reply_tally(c, &tally, false);
out:
    ash_collection_free(coll);
    ash_write_result_release(&result);
    tally_release(&tally);
    ash__free(docs);
    return rc;
}

/* ---- update and delete: one statement after the other ---- */

/* Runs one statement; what it did goes into result. */
typedef int (*statement_fn)(ash_command *c, ash_collection *coll, ash_doc statement,
                            ash_write_result *result, ash_error *err);

static int run_update(ash_command *c, ash_collection *coll, ash_doc s, ash_write_result *result,
                      ash_error *err)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_t filter, filters, collation, let, variables;
    ash_arg_value update, hint;
    o.op = c->op;
    o.op.bypass_validation = ash__arg_bool(c, "bypassDocumentValidation", false);
    o.multi = ash__value_truthy(ash__doc_get(s, "multi"));
    o.upsert = ash__value_truthy(ash__doc_get(s, "upsert"));
    o.array_filters = ash__value_bson(ash__doc_get(s, "arrayFilters"), &filters);
    o.collation = ash__value_bson(ash__doc_get(s, "collation"), &collation);
    o.hint = ash__field_value(s, "hint", &hint);
    o.let = ash__value_bson(ash__doc_get(s, "c"), &variables);
    /* A statement's own variables go before the command's. */
    if (o.let == NULL)
        o.let = ash__arg_bson(c, "let", &let);
    const bson_value_t *u = ash__field_value(s, "u", &update);
    if (ash__value_bson(ash__doc_get(s, "q"), &filter) == NULL || u == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "an update needs q, a document, and u");
    return ash_collection_update(coll, &filter, u, &o, result, err);
}

static int run_delete(ash_command *c, ash_collection *coll, ash_doc s, ash_write_result *result,
                      ash_error *err)
{
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    bson_t filter, collation, let;
    ash_arg_value hint;
    int64_t limit = 0;
    o.op = c->op;
    o.collation = ash__value_bson(ash__doc_get(s, "collation"), &collation);
    o.hint = ash__field_value(s, "hint", &hint);
    o.let = ash__arg_bson(c, "let", &let);
    ash_value limit_value = ash__doc_get(s, "limit");
    if (ash__value_bson(ash__doc_get(s, "q"), &filter) == NULL || limit_value.type == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "a delete needs q, a document, and limit");
    if (!ash__value_as_int64(limit_value, &limit) || limit < 0 || limit > 1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "The limit field in delete objects must be 0 or 1. Got %lld",
                                (long long)limit);
    o.just_one = limit == 1;
    return ash_collection_remove(coll, &filter, &o, result, err);
}

/* The first two are required. */
static const ash_argument update_fields[] = {{"q", ASH_ARG_DOC},
                                             {"u", ASH_ARG_DOC | ASH_ARG_ARRAY},
                                             {"c", ASH_ARG_DOC},
                                             {"multi", ASH_ARG_BOOL},
                                             {"upsert", ASH_ARG_BOOL},
                                             {"collation", ASH_ARG_DOC},
                                             {"arrayFilters", ASH_ARG_ARRAY},
                                             {"hint", ASH_ARG_DOC | ASH_ARG_STRING},
                                             {NULL, 0}};
static const ash_argument delete_fields[] = {{"q", ASH_ARG_DOC},
                                             {"limit", ASH_ARG_NUMBER},
                                             {"collation", ASH_ARG_DOC},
                                             {"hint", ASH_ARG_DOC | ASH_ARG_STRING},
                                             {NULL, 0}};

static int check_required(ash_doc statement, const ash_argument *fields, const char *where,
                          ash_error *err)
{
    for (int i = 0; i < 2; i++)
        if (ash__value_is_missing(ash__doc_get(statement, fields[i].name)))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MISSING_FIELD,
                                    "BSON field '%s.%s' is missing but a required field", where,
                                    fields[i].name);
    return 0;
}

/* Only what changes one document can be recognised when it comes again. */
static int check_statements(const ash_command *c, const ash_doc *statements, size_t count,
                            bool updates, ash_error *err)
{
    char where[40];
    snprintf(where, sizeof where, "%s.%s", c->info->name, updates ? "updates" : "deletes");
    for (size_t i = 0; i < count; i++) {
        int64_t limit = 1;
        const ash_argument *fields = updates ? update_fields : delete_fields;
        int rc = ash__check_fields(statements[i], fields, where, err);
        if (rc == 0)
            rc = check_required(statements[i], fields, where, err);
        if (rc != 0)
            return rc;
        ash__value_as_int64(ash__doc_get(statements[i], "limit"), &limit);
        bool multi = updates ? ash__value_truthy(ash__doc_get(statements[i], "multi")) : limit == 0;
        if (c->retryable && multi)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                    "Cannot use retryable writes with %s",
                                    updates ? "multi=true" : "limit=0");
    }
    return 0;
}

static void count_statement(write_tally *t, const ash_write_result *r, uint32_t index)
{
    char name[12];
    t->n += r->matched + r->deleted + (r->upserted ? 1 : 0);
    t->modified += r->modified;
    if (r->upserted) {
        ash__builder_begin_doc(&t->upserted, ash__index_name(t->upserted_count++, name));
        ash__builder_int32(&t->upserted, "index", (int32_t)index);
        ash__builder_elements(&t->upserted, ash__doc_from_bson(&r->upserted_id));
        ash__builder_end(&t->upserted);
    }
    if (r->retried)
        note_retried(t, index);
}

/* The statements of one command under way. */
typedef struct statements {
    ash_command *c;
    ash_collection *coll;
    statement_fn run;
    write_tally tally;
    bool failed; /* the last one did not work */
} statements;

/* 0: go on; else the command's own failure. */
static int run_statement(statements *s, ash_doc statement, uint32_t index, ash_error *err)
{
    ash_command *c = s->c;
    write_tally *t = &s->tally;
    ash_write_result result;
    ash_error own = ASH_ERROR_INIT;
    ash_write_result_init(&result);
    /* The store knows a repeated statement by session, number and this. */
    c->retry.statement = (int32_t)index;
    int rc = ash__command_fail_write(c, &own);
    if (rc == 0)
        rc = s->run(c, s->coll, statement, &result, &own);
    if (rc == 0 && !result.retried)
        ash__command_wrote(c);
    s->failed = rc != 0;
    count_statement(t, &result, index);
    if (rc != 0 && ash__error_ends_command(&own)) {
        if (err != NULL)
            *err = own;
    } else if (rc != 0) {
        if (result.error_count > 0)
            add_store_errors(t, &result, index);
        else
            add_plain_error(t, &own, index);
        rc = 0;
    }
    ash_write_result_release(&result);
    return rc;
}

static int run_statements(ash_command *c, const char *list_name, statement_fn run, bool updates,
                          ash_error *err)
{
    statements s = {.c = c, .run = run};
    ash_doc *list = NULL;
    size_t count;
    bool ordered = ash__arg_bool(c, "ordered", true);
    int rc = ash__arg_docs(c, list_name, &list, &count, err);
    if (rc != 0)
        return rc;
    tally_init(&s.tally);
    rc = check_statements(c, list, count, updates, err);
    if (rc == 0)
        rc = ash__command_collection(c, &s.coll, err);
    atomic_fetch_add(updates ? &c->server->counters.update : &c->server->counters.remove,
                     (int64_t)count);
    /* Unordered ones go on behind one that failed. */
    for (size_t i = 0; i < count && rc == 0 && !(ordered && s.failed); i++)
        rc = run_statement(&s, list[i], (uint32_t)i, err);
    if (rc == 0)
        reply_tally(c, &s.tally, updates);
    ash_collection_free(s.coll);
    tally_release(&s.tally);
    ash__free(list);
    return rc;
}

int ash__run_update(ash_command *c, ash_error *err)
{
    return run_statements(c, "updates", run_update, true, err);
}

int ash__run_delete(ash_command *c, ash_error *err)
{
    return run_statements(c, "deletes", run_delete, false, err);
}

/* For clients that ask after a write; those that write by OP_MSG or OP_QUERY commands have had
 * their answer. */
int ash__run_get_last_error(ash_command *c, ash_error *err)
{
    const ash_connection *conn = c->connection;
    ash_builder *b = &c->reply->body;
    (void)err;
    ash__builder_int32(b, "connectionId", (int32_t)(conn->peer.id & INT32_MAX));
    ash__builder_int32(b, "n", (int32_t)conn->last_n);
    ash__builder_int32(b, "syncMillis", 0);
    ash__builder_null(b, "writtenTo");
    if (conn->last_error[0] != '\0') {
        ash__wire_text(b, "err", conn->last_error);
        ash__builder_int32(b, "code", conn->last_code);
    } else {
        ash__builder_null(b, "err");
    }
    return 0;
}
