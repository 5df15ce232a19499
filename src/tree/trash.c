/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that were deleted and can come back: deletions in the order of their time, some at once,
 * with the versions that they ended. */
#include "tree/history.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/list.h"
#include "tree/places.h"

enum { BATCH = 200 };

typedef struct trash {
    ash_tree *tree;
    ash_op op;
    ash_cursor *cursor;
    ash_tree_places *places;
    ash_tree_entries found; /* of the last batch */
    size_t given;
} trash;

/* ---- a batch of deletions ---- */

/* The later one of an entry's deletions is the only one that can be undone. */
static bool is_known(const ash_tree_entries *deletions, const ash_tree_entry *e)
{
    for (size_t i = 0; i < deletions->count; i++)
        if (ash__same_id(&deletions->items[i]->id, &e->id)) {
            if (deletions->items[i]->version < e->version)
                deletions->items[i]->version = e->version;
            return true;
        }
    return false;
}

static int read_deletions(trash *t, ash_tree_entries *out, ash_error *err)
{
    int rc = 0;
    while (rc == 0 && t->cursor != NULL && out->count < BATCH) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_next(t->cursor, &e, err);
        if (rc == 0 && e == NULL) {
            ash_cursor_free(t->cursor);
            t->cursor = NULL;
            break;
        }
        if (rc != 0)
            break;
        if (e->is_deleted && !is_known(out, e))
            ash__entries_add(out, e);
        else
            ash_tree_entry_free(e);
    }
    return rc;
}

static bool has(const ash_tree_entries *list, const bson_value_t *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (ash__same_id(&list->items[i]->id, id))
            return true;
    return false;
}

/* Where pruning took the version that a deletion ended, the newest one that it left. */
static int add_earlier(trash *t, const ash_tree_entries *deletions, ash_tree_entries *out,
                       ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < deletions->count; i++) {
        const ash_tree_entry *deletion = deletions->items[i];
        ash_tree_entry *e = NULL;
        if (has(out, &deletion->id))
            continue;
        rc = ash__tree_newest(t->tree, &deletion->id, &t->op, &e, err);
        if (e != NULL && e->is_deleted && e->version < deletion->version)
            ash__entries_add(out, e);
        else
            ash_tree_entry_free(e);
    }
    return rc;
}

/* The versions that ended with them, and that nothing came after. */
static int read_ended(trash *t, const ash_tree_entries *deletions, ash_tree_entries *out,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, in, ids;
    ash_find_options o = ash__tree_find_options(&t->op);
    bson_append_document_begin(&filter, "_id", 3, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < deletions->count; i++) {
        char buf[12];
        const char *key;
        (void)bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        ash__tree_append_version_id(&ids, key, &deletions->items[i]->id,
                                    deletions->items[i]->version - 1);
    }
    bson_append_array_end(&in, &ids);
    bson_append_document_end(&filter, &in);
    BCON_APPEND(&filter, "_version", "{", "$type", BCON_UTF8("number"), "}");
    int rc = ash__tree_find_all(t->tree->past, &filter, &o, out, err);
    if (rc == 0)
        rc = add_earlier(t, deletions, out, err);
    if (rc == 0)
        rc = ash__tree_leave_last_deleted(t->tree, out, &t->op, err);
    bson_destroy(&filter);
    return rc;
}

/* ---- one entry ---- */

/* Rights are those on where it lay. */
static int may_read(trash *t, ash_tree_entry *e, bool *may, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    *may = true;
    if (t->op.principal == NULL)
        return 0;
    int rc = ash__tree_climb(t->tree, e, &t->op, &chain, &reached, err);
    if (rc == 0) {
        ash__chain_add(&chain, ash_tree_entry_copy(e));
        *may = ash__tree_require(&chain, ASH_TREE_READ, &t->op, NULL) == 0;
    }
    ash__chain_release(&chain);
    return rc;
}

/* Did it lie below the folder?  Takes the entry over. */
static int look_at(trash *t, const ash_tree_entry *deletion, ash_tree_entry *e, ash_error *err)
{
    const ash_tree_place *place = NULL;
    int rc = ash__places_find(t->places, e, &place, err);
    bool mine = rc == 0 && place != NULL && place->reached && place->below;
    if (mine) {
        ash__place_set_path(place, e);
        e->is_deleted = true;
        e->ended_ms = deletion->changed_ms;
        rc = may_read(t, e, &mine, err);
    }
    if (rc == 0 && mine)
        ash__entries_add(&t->found, e);
    else
        ash_tree_entry_free(e);
    return rc;
}

static int look_at_all(trash *t, const ash_tree_entries *deletions, ash_tree_entries *ended,
                       ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < deletions->count; i++)
        for (size_t k = 0; rc == 0 && k < ended->count; k++)
            if (ended->items[k] != NULL &&
                ash__same_id(&ended->items[k]->id, &deletions->items[i]->id)) {
                rc = look_at(t, deletions->items[i], ended->items[k], err);
                ended->items[k] = NULL;
            }
    return rc;
}

/* ---- the listing ---- */

static int read_batch(trash *t, ash_error *err)
{
    ash_tree_entries deletions = ASH_TREE_ENTRIES_INIT, ended = ASH_TREE_ENTRIES_INIT;
    ash__entries_release(&t->found);
    t->given = 0;
    int rc = read_deletions(t, &deletions, err);
    if (rc == 0 && deletions.count > 0)
        rc = read_ended(t, &deletions, &ended, err);
    if (rc == 0)
        rc = look_at_all(t, &deletions, &ended, err);
    ash__entries_release(&deletions);
    ash__entries_release(&ended);
    return rc;
}

static int next(void *ctx, ash_tree_entry **out, ash_error *err)
{
    trash *t = ctx;
    int rc = 0;
    *out = NULL;
    while (rc == 0 && t->given == t->found.count && t->cursor != NULL)
        rc = read_batch(t, err);
    if (rc == 0 && t->given < t->found.count) {
        *out = t->found.items[t->given];
        t->found.items[t->given++] = NULL;
    }
    return rc;
}

static void free_trash(void *ctx)
{
    trash *t = ctx;
    ash_cursor_free(t->cursor);
    ash__places_free(t->places);
    ash__entries_release(&t->found);
    ash__free(t);
}

int ash_tree_trash(ash_tree *tree, const char *path, int64_t limit, const ash_op *op,
                   ash_tree_listing **out, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_entry *folder = NULL;
    *out = NULL;
    int rc = limit < 0 ? ash__fail(err, ASH_EINVAL, "the limit is negative")
                       : ash__tree_find_ever(tree, path, ASH_TREE_READ, &own, &folder, err);
    if (rc != 0)
        return rc;
    bson_t *filter = BCON_NEW("deleted_at", "{", "$exists", BCON_BOOL(true), "}");
    bson_t *sort = BCON_NEW("deleted_at", BCON_INT32(-1));
    ash_find_options o = ash__tree_find_options(&own);
    trash *t = ash__new(trash);
    t->tree = tree;
    t->op = own;
    t->places = ash__places_new(tree, &folder->id, &own);
    o.sort = sort;
    rc = ash_collection_find(tree->past, filter, &o, &t->cursor, err);
    if (rc == 0)
        *out = ash__list_from(&(ash_tree_source){next, free_trash, t}, limit);
    else
        free_trash(t);
    bson_destroy(sort);
    bson_destroy(filter);
    ash_tree_entry_free(folder);
    return rc;
}
