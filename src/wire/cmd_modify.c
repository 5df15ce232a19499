/* SPDX-License-Identifier: Apache-2.0 */
/* findAndModify: one document changed and given back in one step. */
#include "wire/cmd.h"

#include "base/mem.h"

#include <string.h>

static int read_options(const ash_command *c, ash_find_and_modify_options *o, ash_error *err)
{
    o->op = c->op;
    o->op.bypass_validation = ash__arg_bool(c, "bypassDocumentValidation", false);
    o->remove = ash__arg_bool(c, "remove", false);
    o->upsert = ash__arg_bool(c, "upsert", false);
    o->return_new = ash__arg_bool(c, "new", false);
    /* Exactly one of the two. */
    if (o->remove == (o->update != NULL))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE, "%s",
                                o->remove ? "Cannot specify both an update and remove=true"
                                          : "Either an update or remove=true must be specified");
    if (o->remove && o->upsert)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Cannot specify both upsert=true and remove=true");
    if (o->remove && o->return_new)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Cannot specify both new=true and remove=true; 'remove' always "
                                "returns the deleted document");
    return 0;
}

/* {lastErrorObject, value}. */
static void reply_result(ash_command *c, const ash_find_and_modify_options *o, const bson_t *value,
                         bool found, const ash_write_result *result)
{
    ash_builder *b = &c->reply->body;
    /* At most one of the three is not 0. */
    int32_t n = (int32_t)(result->matched + result->deleted) + (result->upserted ? 1 : 0);
    ash__builder_begin_doc(b, "lastErrorObject");
    ash__builder_int32(b, "n", n);
    if (!o->remove)
        ash__builder_bool(b, "updatedExisting", result->matched > 0);
    if (result->upserted) {
        ash_value id = ash__doc_get(ash__doc_from_bson(&result->upserted_id), "_id");
        ash__builder_value(b, "upserted", id);
    }
    ash__builder_end(b);
    if (found)
        ash__builder_doc_value(b, "value", ash__doc_from_bson(value));
    else
        ash__builder_null(b, "value");
    if (result->retried)
        ash__builder_int32(b, "retriedStmtId", 0);
}

/* A refusal by a unique index or the validator is the whole command's error and tells which. */
static void add_details(ash_command *c, const ash_write_result *result)
{
    static const char *const names[] = {"keyPattern", "keyValue", "errInfo"};
    ash_reply *r = c->reply;
    ash_value first = ash__doc_get(ash__doc_from_bson(&result->errors), "0");
    if (first.type != BSON_TYPE_DOCUMENT)
        return;
    ash__builder_begin(&r->details);
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        ash__builder_value(&r->details, names[i], ash__doc_get(ash__value_doc(first), names[i]));
    ash__builder_end(&r->details);
    r->has_details = true;
}

int ash__run_find_and_modify(ash_command *c, ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_t query, sort, fields, filters, collation, let, value, empty = BSON_INITIALIZER;
    ash_arg_value update, hint;
    ash_write_result result;
    ash_collection *coll = NULL;
    bool found = false;
    o.sort = ash__arg_bson(c, "sort", &sort);
    o.projection = ash__arg_bson(c, "fields", &fields);
    o.array_filters = ash__arg_bson(c, "arrayFilters", &filters);
    o.collation = ash__arg_bson(c, "collation", &collation);
    o.let = ash__arg_bson(c, "let", &let);
    o.hint = ash__field_value(c->body, "hint", &hint);
    o.update = ash__field_value(c->body, "update", &update);
    int rc = read_options(c, &o, err);
    if (rc == 0)
        rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    const bson_t *filter = ash__arg_bson(c, "query", &query);
    ash_write_result_init(&result);
    rc = ash__command_fail_write(c, err);
    if (rc == 0)
        rc = ash_collection_find_and_modify(coll, filter != NULL ? filter : &empty, &o, &value,
                                            &found, &result, err);
    if (rc == 0 && !result.retried)
        ash__command_wrote(c);
    if (rc == 0) {
        reply_result(c, &o, &value, found, &result);
        bson_destroy(&value);
    } else {
        add_details(c, &result);
    }
    ash_write_result_release(&result);
    ash_collection_free(coll);
    return rc;
}
