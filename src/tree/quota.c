/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of quotas. */
#include "tree/quota.h"

#include "base/mem.h"
#include "base/server_codes.h"
#include "bucket/bucket.h"
#include "tree/acl.h"

#include <inttypes.h>

/* ---- reading ---- */

static int64_t number_of(const bson_t *doc, const char *field)
{
    bson_iter_t it;
    if (!bson_iter_init_find(&it, doc, field) || !BSON_ITER_HOLDS_NUMBER(&it))
        return -1;
    int64_t n = bson_iter_as_int64(&it);
    return n < 0 ? 0 : n; /* a sum that is wrong; nobody may have more for it */
}

void ash__quota_read(const bson_t *doc, ash_quota_document *out)
{
    bson_iter_t it;
    *out = (ash_quota_document){.max = number_of(doc, "max"),
                                .used = number_of(doc, "used"),
                                .changes = number_of(doc, "changes"),
                                .set_ms = 0};
    out->counting = bson_iter_init_find(&it, doc, "counting") && bson_iter_as_bool(&it);
    if (bson_iter_init_find(&it, doc, "set_at") && BSON_ITER_HOLDS_DATE_TIME(&it))
        out->set_ms = bson_iter_date_time(&it);
}

int ash__quota_find(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                    ash_quota_document *out, bool *there, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *doc = NULL;
    *out = (ash_quota_document){.max = -1, .used = -1};
    ash__filter_id(&filter, "_id", folder);
    int rc = ash__tree_find_one(tree->quotas, &filter, NULL, op, &doc, err);
    *there = rc == 0 && doc != NULL;
    if (*there)
        ash__quota_read(doc, out);
    bson_destroy(doc);
    bson_destroy(&filter);
    return rc;
}

/* ---- writing ---- */

int ash__quota_update(ash_tree *tree, const bson_value_t *folder, const bson_t *change, bool upsert,
                      const ash_op *op, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    o.op = *op;
    o.upsert = upsert;
    ash__filter_id(&filter, "_id", folder);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
    value.value.v_doc.data_len = change->len;
    int rc = ash_collection_update(tree->quotas, &filter, &value, &o, &result, err);
    if (rc == 0 && !upsert && result.matched != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "a quota was taken away meanwhile");
    ash_write_result_release(&result);
    bson_destroy(&filter);
    return rc;
}

int ash__quota_note(ash_tree *tree, const bson_value_t *folder, int64_t bytes, bool counting,
                    const ash_op *op, ash_error *err)
{
    bson_t change = BSON_INITIALIZER, inc;
    bson_append_document_begin(&change, "$inc", 4, &inc);
    if (bytes != 0)
        bson_append_int64(&inc, "used", 4, bytes);
    if (counting)
        bson_append_int64(&inc, "changes", 7, 1);
    bool empty = bson_empty(&inc);
    bson_append_document_end(&change, &inc);
    int rc = empty ? 0 : ash__quota_update(tree, folder, &change, false, op, err);
    bson_destroy(&change);
    return rc;
}

int ash__quota_remove(ash_tree *tree, const bson_value_t *folder, const ash_op *op, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    o.op = *op;
    ash__filter_id(&filter, "_id", folder);
    int rc = ash_collection_remove(tree->quotas, &filter, &o, NULL, err);
    bson_destroy(&filter);
    return rc;
}

/* ---- refusing ---- */

int ash__quota_folder(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                      ash_tree_chain *chain, bool *reached, ash_error *err)
{
    ash_tree_entry *e = NULL;
    *reached = false;
    int rc = ash__tree_folder(tree, folder, op, &e, reached, err);
    if (rc != 0 || e == NULL)
        return rc;
    if (!*reached)
        rc = ash__tree_climb(tree, e, op, chain, reached, err);
    if (rc == 0 && chain->count > 0)
        ash__entry_set_path(e, ash__chain_last(chain)->path);
    *reached = *reached && !e->is_deleted;
    ash__chain_add(chain, e);
    return rc;
}

int ash__quota_refuse(ash_tree *tree, const bson_value_t *folder, const ash_quota_document *q,
                      int64_t bytes, const ash_op *op, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    int rc = ash__quota_folder(tree, folder, op, &chain, &reached, err);
    const char *path = chain.count > 0 ? ash__chain_last(&chain)->path : NULL;
    /* What else is there is not for those who may not read it. */
    if (rc == 0 && ash__tree_require(&chain, ASH_TREE_READ, op, NULL) != 0)
        rc = ash__fail_server(err, ASH_ENOSPC, ASH_MONGO_LOCATION_QUOTA_EXCEEDED,
                              "over quota: there is no room for %" PRId64 " bytes more", bytes);
    else if (rc == 0)
        rc = ash__fail_server(err, ASH_ENOSPC, ASH_MONGO_LOCATION_QUOTA_EXCEEDED,
                              "over quota: %.256s may have %" PRId64 " bytes and has %" PRId64
                              "; %" PRId64 " more were to come",
                              path != NULL ? path : "a folder", q->max, q->used, bytes);
    ash__chain_release(&chain);
    return rc;
}

/* ---- what there is room for ---- */

static int find_of_chain(ash_tree *tree, const ash_tree_chain *chain, const ash_op *op,
                         ash_cursor **out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(op);
    ash__filter_entries(&filter, "_id", chain->items, chain->count);
    int rc = ash_collection_find(tree->quotas, &filter, &o, out, err);
    bson_destroy(&filter);
    return rc;
}

static void take_tighter(const ash_tree_chain *chain, const bson_t *doc, ash_quota_room *out)
{
    bson_iter_t it;
    ash_quota_document q;
    ash__quota_read(doc, &q);
    if (q.max < 0 || !bson_iter_init_find(&it, doc, "_id"))
        return;
    int64_t left = q.used < 0 ? INT64_MAX : q.used < q.max ? q.max - q.used : 0;
    for (size_t i = 0; i < chain->count; i++)
        if ((out->bytes < 0 || left < out->bytes) &&
            ash__same_id(&chain->items[i]->id, bson_iter_value(&it)))
            *out = (ash_quota_room){left, i, q};
}

int ash__quota_room(ash_tree *tree, const ash_tree_chain *chain, const ash_op *op,
                    ash_quota_room *out, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    *out = (ash_quota_room){.bytes = -1};
    int rc = find_of_chain(tree, chain, op, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        take_tighter(chain, &view, out);
    }
    ash_cursor_free(cursor);
    return rc;
}

int ash__quota_require(ash_tree *tree, const ash_tree_chain *chain, int64_t bytes, const ash_op *op,
                       ash_error *err)
{
    ash_quota_room room;
    int rc = ash__quota_room(tree, chain, op, &room, err);
    if (rc == 0 && room.bytes >= 0 && bytes > room.bytes)
        rc = ash__quota_refuse(tree, &chain->items[room.at]->id, &room.quota, bytes, op, err);
    return rc;
}
