/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "base/error.h"

#include <string.h>

/* Counters of one operation, or of all requests of a bulkWrite. */
typedef struct write_call {
    ash_collection *c;
    ash_doc args; /* of the operation, or of one request */
    outcome *out;
    int64_t inserted, matched, modified, deleted, upserted;
    bson_t inserted_ids; /* {"0": id, …} */
    bson_t upserted_ids;
    uint32_t index; /* of the request */
} write_call;

static bool update_argument(const write_call *call, const char *name, bson_value_t *out)
{
    bson_t args;
    bson_iter_t it;
    ash__doc_to_bson(call->args, &args);
    if (!bson_iter_init_find(&it, &args, name)) {
        ash__fail(&call->out->err, ASH_EINVAL, "operation without %s", name);
        return false;
    }
    bson_value_copy(bson_iter_value(&it), out);
    return true;
}

static void note_id(bson_t *ids, uint32_t index, const bson_t *doc)
{
    bson_iter_t it;
    char key[12];
    const char *name;
    size_t len = bson_uint32_to_string(index, &name, key, sizeof key);
    if (bson_iter_init_find(&it, doc, "_id"))
        bson_append_iter(ids, name, (int)len, &it);
}

static void insert(write_call *call, const bson_t *doc)
{
    bson_t whole = BSON_INITIALIZER;
    bson_oid_t oid;
    if (!bson_has_field(doc, "_id")) {
        bson_oid_init(&oid, NULL);
        bson_append_oid(&whole, "_id", 3, &oid);
    }
    bson_concat(&whole, doc);
    if (ash_collection_insert_one(call->c, &whole, NULL, &call->out->err) == 0) {
        call->inserted++;
        note_id(&call->inserted_ids, call->index, &whole);
    }
    bson_destroy(&whole);
}

static void insert_one(write_call *call)
{
    bson_t doc;
    spec_doc(call->args, "document", &doc);
    insert(call, &doc);
}

static void insert_many(write_call *call)
{
    bson_t docs;
    spec_doc(call->args, "documents", &docs);
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(&docs));
         call->out->err.code == 0 && ash__doc_iter_next(&it);) {
        bson_t doc;
        ash__doc_to_bson(ash__value_doc(it.value), &doc);
        insert(call, &doc);
        call->index++;
    }
}

static void update(write_call *call, const char *what, bool multi)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_value_t change;
    bson_t filter;
    bson_t array_filters;
    if (!update_argument(call, what, &change))
        return;
    spec_doc(call->args, "filter", &filter);
    spec_doc(call->args, "arrayFilters", &array_filters);
    o.multi = multi;
    o.upsert = ash__value_truthy(ash__doc_get(call->args, "upsert"));
    o.array_filters = bson_empty(&array_filters) ? NULL : &array_filters;
    ash_write_result_init(&result);
    if (ash_collection_update(call->c, &filter, &change, &o, &result, &call->out->err) == 0) {
        call->matched += result.matched;
        call->modified += result.modified;
        call->upserted += result.upserted ? 1 : 0;
        if (result.upserted)
            note_id(&call->upserted_ids, call->index, &result.upserted_id);
    }
    ash_write_result_release(&result);
    bson_value_destroy(&change);
}

static void update_one(write_call *call)
{
    update(call, "update", false);
}

static void update_many(write_call *call)
{
    update(call, "update", true);
}

static void replace_one(write_call *call)
{
    update(call, "replacement", false);
}

static void delete_some(write_call *call, bool just_one)
{
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result result;
    bson_t filter;
    spec_doc(call->args, "filter", &filter);
    o.just_one = just_one;
    ash_write_result_init(&result);
    if (ash_collection_remove(call->c, &filter, &o, &result, &call->out->err) == 0)
        call->deleted += result.deleted;
    ash_write_result_release(&result);
}

static void delete_one(write_call *call)
{
    delete_some(call, true);
}

static void delete_many(write_call *call)
{
    delete_some(call, false);
}

static const struct {
    const char *name;
    void (*run)(write_call *call);
} requests[] = {
    {"insertOne", insert_one},   {"insertMany", insert_many}, {"updateOne", update_one},
    {"updateMany", update_many}, {"replaceOne", replace_one}, {"deleteOne", delete_one},
    {"deleteMany", delete_many},
};

static bool run_request(write_call *call, const char *name)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(name, requests[i].name) == 0) {
            requests[i].run(call);
            return true;
        }
    }
    return false;
}

static void bulk_write(write_call *call)
{
    bson_t list;
    spec_doc(call->args, "requests", &list);
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(&list));
         call->out->err.code == 0 && ash__doc_iter_next(&it);) {
        ash_doc_iter request = ash__doc_iter(ash__value_doc(it.value));
        if (!ash__doc_iter_next(&request) || request.value.type != BSON_TYPE_DOCUMENT) {
            ash__fail(&call->out->err, ASH_EINVAL, "bulkWrite request without a description");
            return;
        }
        call->args = ash__value_doc(request.value);
        if (!run_request(call, request.name))
            ash__fail(&call->out->err, ASH_EINVAL, "bulkWrite request %s is not known",
                      request.name);
        call->index++;
    }
}

static void return_counts(const write_call *call, const char *name)
{
    bson_t doc = BSON_INITIALIZER;
    bson_iter_t it;
    bool one = strcmp(name, "bulkWrite") != 0;
    if (one && call->inserted == 1 && strcmp(name, "insertOne") == 0) {
        if (bson_iter_init_find(&it, &call->inserted_ids, "0"))
            bson_append_iter(&doc, "insertedId", 10, &it);
    } else {
        bson_append_document(&doc, "insertedIds", 11, &call->inserted_ids);
    }
    bson_append_int64(&doc, "insertedCount", 13, call->inserted);
    bson_append_int64(&doc, "matchedCount", 12, call->matched);
    bson_append_int64(&doc, "modifiedCount", 13, call->modified);
    bson_append_int64(&doc, "deletedCount", 12, call->deleted);
    bson_append_int64(&doc, "upsertedCount", 13, call->upserted);
    if (one && bson_iter_init_find(&it, &call->upserted_ids, "0"))
        bson_append_iter(&doc, "upsertedId", 10, &it);
    if (!one)
        bson_append_document(&doc, "upsertedIds", 11, &call->upserted_ids);
    spec_return_doc(call->out, &doc);
    bson_destroy(&doc);
}

/* ---- find and modify ---- */

static void find_and_modify(write_call *call, const char *what)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_value_t change = {.value_type = BSON_TYPE_EOD};
    bson_t filter;
    bson_t sort;
    bson_t value;
    bool found = false;
    const char *after = spec_text(call->args, "returnDocument");
    if (what != NULL && !update_argument(call, what, &change))
        return;
    spec_doc(call->args, "filter", &filter);
    spec_doc(call->args, "sort", &sort);
    o.sort = bson_empty(&sort) ? NULL : &sort;
    o.update = what != NULL ? &change : NULL;
    o.remove = what == NULL;
    o.upsert = ash__value_truthy(ash__doc_get(call->args, "upsert"));
    o.return_new = after != NULL && strcmp(after, "After") == 0;
    if (ash_collection_find_and_modify(call->c, &filter, &o, &value, &found, NULL,
                                       &call->out->err) == 0) {
        if (found)
            spec_return_doc(call->out, &value);
        else
            spec_return_value(call->out, (ash_value){BSON_TYPE_NULL, NULL, 0});
        bson_destroy(&value);
    }
    bson_value_destroy(&change);
}

static bool run_find_and_modify(write_call *call, const char *name)
{
    if (strcmp(name, "findOneAndUpdate") == 0)
        find_and_modify(call, "update");
    else if (strcmp(name, "findOneAndReplace") == 0)
        find_and_modify(call, "replacement");
    else if (strcmp(name, "findOneAndDelete") == 0)
        find_and_modify(call, NULL);
    else
        return false;
    return true;
}

enum call spec_write_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out)
{
    write_call call = {.c = e->collection, .args = args, .out = out};
    bool known = true;
    (void)r;
    bson_init(&call.inserted_ids);
    bson_init(&call.upserted_ids);
    if (strcmp(name, "bulkWrite") == 0)
        bulk_write(&call);
    else
        known = run_request(&call, name);
    if (known)
        return_counts(&call, name);
    else
        known = run_find_and_modify(&call, name);
    bson_destroy(&call.inserted_ids);
    bson_destroy(&call.upserted_ids);
    return known ? CALLED : UNKNOWN_OPERATION;
}
