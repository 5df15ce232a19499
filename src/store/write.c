/* SPDX-License-Identifier: Apache-2.0 */
/* Changing documents.  A caller may leave out the result, or know a shorter one; slots always fill
 * a whole one. */

#include "store/call.h"

#include "base/budget.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/options.h"

#include <string.h>

#define DOC_MIN_BYTES 5

/* How far a write came, for a caller who does not ask, or knows a shorter struct. */
typedef struct result_room {
    ash_write_result own;
    ash_write_result *theirs; /* or NULL */
} result_room;

static ash_write_result *result_begin(result_room *room, ash_write_result *theirs)
{
    ash_write_result_init(&room->own);
    room->theirs = theirs;
    return theirs != NULL && theirs->size >= sizeof *theirs ? theirs : &room->own;
}

/* The two documents are in every version of the struct; what comes behind them may not be. */
static void result_end(result_room *room)
{
    ash_write_result *to = room->theirs, *from = &room->own;
    const size_t behind = offsetof(ash_write_result, error_count);
    if (to != NULL && to->size < sizeof *to && to->size >= behind) {
        to->inserted = from->inserted;
        to->matched = from->matched;
        to->modified = from->modified;
        to->deleted = from->deleted;
        to->upserted = from->upserted;
        bson_destroy(&to->upserted_id);
        bson_copy_to(&from->upserted_id, &to->upserted_id);
        bson_destroy(&to->errors);
        bson_copy_to(&from->errors, &to->errors);
        memcpy((uint8_t *)to + behind, (const uint8_t *)from + behind, to->size - behind);
    }
    ash_write_result_release(from);
}

static int check_docs(const ash_doc *docs, size_t count, ash_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (docs[i].data == NULL || docs[i].len < DOC_MIN_BYTES ||
            ash__get_le32(docs[i].data) != docs[i].len)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_BSON,
                                    "document %zu to insert has a wrong length", i);
    }
    return 0;
}

static int check_update(const bson_value_t *update, ash_error *err)
{
    if (update != NULL &&
        (update->value_type == BSON_TYPE_DOCUMENT || update->value_type == BSON_TYPE_ARRAY))
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                            "update must be a document or an array of pipeline stages");
}

int ash_collection_insert(ash_collection *c, const ash_doc *docs, size_t count,
                          const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    ash_insert_options o;
    ash_doc_list list = {docs, count};
    result_room room;
    int code = ash__op_options_copy(&o, offsetof(ash_insert_options, op), opts, err);
    if (code == 0)
        code = ash__call_write(c->store, &o.op, err);
    if (code == 0)
        code = check_docs(docs, count, err);
    /* Backends need not think of a list of none. */
    if (code != 0 || count == 0)
        return code;
    result = result_begin(&room, result);
    code = c->store->ops->insert(c->store, ash__ns_of(c), &list, &o, result, err);
    result_end(&room);
    return code;
}

int ash_collection_insert_one(ash_collection *c, const bson_t *doc, const ash_insert_options *opts,
                              ash_error *err)
{
    ash_doc view = {bson_get_data(doc), doc->len};
    return ash_collection_insert(c, &view, 1, opts, NULL, err);
}

int ash_collection_update(ash_collection *c, const bson_t *filter, const bson_value_t *update,
                          const ash_update_options *opts, ash_write_result *result, ash_error *err)
{
    ash_update_options o;
    ash_update_request request = {ash__bson_or_empty(filter), update};
    result_room room;
    int code = ash__op_options_copy(&o, offsetof(ash_update_options, op), opts, err);
    if (code == 0)
        code = ash__call_write(c->store, &o.op, err);
    if (code == 0)
        code = check_update(update, err);
    if (code != 0)
        return code;
    result = result_begin(&room, result);
    ash_budget outer = ash__budget_enter(o.op.deadline_ms, o.op.cancel, 0);
    code = c->store->ops->update(c->store, ash__ns_of(c), &request, &o, result, err);
    ash__budget_leave(outer);
    result_end(&room);
    return code;
}

int ash_collection_remove(ash_collection *c, const bson_t *filter, const ash_remove_options *opts,
                          ash_write_result *result, ash_error *err)
{
    ash_remove_options o;
    result_room room;
    int code = ash__op_options_copy(&o, offsetof(ash_remove_options, op), opts, err);
    if (code == 0)
        code = ash__call_write(c->store, &o.op, err);
    if (code != 0)
        return code;
    result = result_begin(&room, result);
    ash_budget outer = ash__budget_enter(o.op.deadline_ms, o.op.cancel, 0);
    code =
        c->store->ops->remove(c->store, ash__ns_of(c), ash__bson_or_empty(filter), &o, result, err);
    ash__budget_leave(outer);
    result_end(&room);
    return code;
}

static int check_find_and_modify(const ash_find_and_modify_options *o, ash_error *err)
{
    if (o->remove && o->update != NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "either an update or remove may be given, not both");
    /* Neither has a meaning when the document goes. */
    if (o->remove && (o->upsert || o->return_new))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "remove goes neither with upsert nor with return_new");
    return o->remove ? 0 : check_update(o->update, err);
}

int ash_collection_find_and_modify(ash_collection *c, const bson_t *filter,
                                   const ash_find_and_modify_options *opts, bson_t *value,
                                   bool *found, ash_write_result *result, ash_error *err)
{
    ash_find_and_modify_options o;
    result_room room;
    /* The slot always gives them; the caller may not want them. */
    bson_t own_value;
    bool own_found;
    int code = ash__op_options_copy(&o, offsetof(ash_find_and_modify_options, op), opts, err);
    if (code == 0)
        code = ash__call_write(c->store, &o.op, err);
    if (code == 0)
        code = check_find_and_modify(&o, err);
    if (code != 0)
        return code;
    result = result_begin(&room, result);
    ash_budget outer = ash__budget_enter(o.op.deadline_ms, o.op.cancel, 0);
    ash_modify_answer answer = {value != NULL ? value : &own_value,
                                found != NULL ? found : &own_found, result};
    code = c->store->ops->find_and_modify(c->store, ash__ns_of(c), ash__bson_or_empty(filter), &o,
                                          &answer, err);
    ash__budget_leave(outer);
    if (code == 0 && value == NULL)
        bson_destroy(&own_value);
    result_end(&room);
    return code;
}
