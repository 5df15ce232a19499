/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of quotas. */
#include "tree/quota.h"

#include "base/mem.h"
#include "base/server_codes.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/change.h"

#include <inttypes.h>
#include <string.h>

/* ---- whose they are ---- */

enum { NAME_MAX_BYTES = 1024 }; /* an index has it, too */

bson_value_t ash__quota_user_id(const char *user, bson_t *doc)
{
    bson_value_t id = {.value_type = BSON_TYPE_DOCUMENT};
    bson_append_utf8(doc, "user", 4, user, -1);
    id.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(doc);
    id.value.v_doc.data_len = doc->len;
    return id;
}

const char *ash__quota_user(const bson_value_t *id)
{
    bson_t doc;
    bson_iter_t it;
    if (id->value_type != BSON_TYPE_DOCUMENT ||
        !bson_init_static(&doc, id->value.v_doc.data, id->value.v_doc.data_len) ||
        !bson_iter_init_find(&it, &doc, "user") || !BSON_ITER_HOLDS_UTF8(&it))
        return NULL;
    return bson_iter_utf8(&it, NULL);
}

bool ash__quota_may_have(const char *user)
{
    size_t len = strlen(user);
    return len > 0 && len <= NAME_MAX_BYTES;
}

/* Of the folders' ids one kind is in front of the users', and one behind. */
static int find_of_folder(ash_tree *tree, bool roots, const ash_op *op, bool *any, ash_error *err)
{
    static const bson_oid_t first = {{0}};
    bson_t *filter = roots ? BCON_NEW("_id", "{", "$gte", BCON_UTF8(""), "}")
                           : BCON_NEW("_id", "{", "$gte", BCON_OID(&first), "}");
    bson_t *doc = NULL;
    int rc = ash__tree_find_one(tree->quotas, filter, NULL, op, &doc, err);
    *any = rc == 0 && doc != NULL;
    bson_destroy(doc);
    bson_destroy(filter);
    return rc;
}

int ash__quota_kinds(ash_tree *tree, const ash_op *op, bool *any, bool *of_folders, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    bson_t *doc = NULL;
    bson_iter_t it;
    int rc = ash__tree_find_one(tree->quotas, &all, NULL, op, &doc, err);
    *any = *of_folders = rc == 0 && doc != NULL;
    if (*any && bson_iter_init_find(&it, doc, "_id") &&
        ash__quota_user(bson_iter_value(&it)) != NULL) {
        rc = find_of_folder(tree, false, op, of_folders, err);
        if (rc == 0 && !*of_folders)
            rc = find_of_folder(tree, true, op, of_folders, err);
    }
    bson_destroy(doc);
    bson_destroy(&all);
    return rc;
}

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

int64_t ash__quota_left(const ash_quota_document *q)
{
    if (q->used < 0)
        return INT64_MAX;
    return q->used < q->max ? q->max - q->used : 0;
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

/* What else is there is not for those who may not know it. */
static int refuse(const char *who, const ash_quota_document *q, int64_t bytes, ash_error *err)
{
    if (who == NULL)
        return ash__fail_server(err, ASH_ENOSPC, ASH_MONGO_LOCATION_QUOTA_EXCEEDED,
                                "over quota: there is no room for %" PRId64 " bytes more", bytes);
    return ash__fail_server(err, ASH_ENOSPC, ASH_MONGO_LOCATION_QUOTA_EXCEEDED,
                            "over quota: %.256s may have %" PRId64 " bytes and has %" PRId64
                            "; %" PRId64 " more were to come",
                            who, q->max, q->used, bytes);
}

static int refuse_user(const char *user, const ash_quota_document *q, int64_t bytes,
                       const ash_op *op, ash_error *err)
{
    char *asking = ash__tree_user(op);
    char *who = ash__sprintf("user %s", user);
    bool told = op->principal == NULL || (asking != NULL && strcmp(asking, user) == 0);
    int rc = refuse(told ? who : NULL, q, bytes, err);
    ash__free(who);
    ash__free(asking);
    return rc;
}

int ash__quota_refuse(ash_tree *tree, const bson_value_t *folder, const ash_quota_document *q,
                      int64_t bytes, const ash_op *op, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    if (ash__quota_user(folder) != NULL)
        return refuse_user(ash__quota_user(folder), q, bytes, op, err);
    int rc = ash__quota_folder(tree, folder, op, &chain, &reached, err);
    const char *path = chain.count > 0 ? ash__chain_last(&chain)->path : NULL;
    bool told = rc == 0 && ash__tree_require(&chain, ASH_TREE_READ, op, NULL) == 0;
    if (rc == 0)
        rc = refuse(!told ? NULL : path != NULL ? path : "a folder", q, bytes, err);
    ash__chain_release(&chain);
    return rc;
}

/* ---- what there is room for ---- */

static int find_of_chain(ash_tree *tree, const ash_tree_chain *chain, const char *user,
                         const ash_op *op, ash_cursor **out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, id = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(op);
    ash_tree_entry whose = {0};
    ash_tree_entry **all = ash__alloc_array(chain->count + 1, sizeof *all);
    size_t count = chain->count;
    for (size_t i = 0; i < count; i++)
        all[i] = chain->items[i];
    if (user != NULL && ash__quota_may_have(user)) {
        whose.id = ash__quota_user_id(user, &id);
        all[count++] = &whose;
    }
    ash__filter_entries(&filter, "_id", all, count);
    int rc = ash_collection_find(tree->quotas, &filter, &o, out, err);
    ash__free(all);
    bson_destroy(&id);
    bson_destroy(&filter);
    return rc;
}

/* Another one's bytes, which would be his then. */
static int64_t bytes_of_others(const ash_tree_chain *chain, const char *user)
{
    const ash_tree_entry *e = ash__chain_last(chain);
    const char *who = ash_tree_entry_written_by(e);
    return who != NULL && strcmp(who, user) == 0 ? 0 : e->content.length;
}

static void take_tighter(const ash_tree_chain *chain, const bson_t *doc, ash_quota_room *out)
{
    bson_iter_t it;
    ash_quota_document q;
    ash__quota_read(doc, &q);
    if (q.max < 0 || !bson_iter_init_find(&it, doc, "_id"))
        return;
    const char *user = ash__quota_user(bson_iter_value(&it));
    int64_t taken = user != NULL ? bytes_of_others(chain, user) : 0;
    int64_t left = ash__quota_left(&q);
    if (left < INT64_MAX)
        left = taken < left ? left - taken : 0;
    if (out->bytes >= 0 && left >= out->bytes)
        return;
    if (user != NULL)
        *out = (ash_quota_room){left, chain->count, q};
    for (size_t i = 0; user == NULL && i < chain->count; i++)
        if (ash__same_id(&chain->items[i]->id, bson_iter_value(&it)))
            *out = (ash_quota_room){left, i, q};
}

int ash__quota_room(ash_tree *tree, const ash_tree_chain *chain, const char *user, const ash_op *op,
                    ash_quota_room *out, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    *out = (ash_quota_room){.bytes = -1};
    int rc = find_of_chain(tree, chain, user, op, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        take_tighter(chain, &view, out);
    }
    ash_cursor_free(cursor);
    return rc;
}

int ash__quota_require(ash_tree *tree, const ash_tree_chain *chain, const char *user, int64_t bytes,
                       const ash_op *op, ash_error *err)
{
    ash_quota_room room;
    int rc = ash__quota_room(tree, chain, user, op, &room, err);
    if (rc != 0 || room.bytes < 0 || bytes <= room.bytes)
        return rc;
    return room.at < chain->count
               ? ash__quota_refuse(tree, &chain->items[room.at]->id, &room.quota, bytes, op, err)
               : refuse_user(user, &room.quota, bytes, op, err);
}
