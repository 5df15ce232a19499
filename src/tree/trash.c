/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that were deleted and can come back. */
#include "tree/history.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/list.h"

typedef struct trash_call {
    ash_tree *tree;
    const bson_value_t *folder;
    int64_t limit;
    ash_op op;
    ash_tree_entries found;
} trash_call;

/* Is it still deleted, and did it lie below the folder?  Rights are those on where it lay. */
static int look_at_deletion(trash_call *call, const ash_tree_entry *deletion, ash_error *err)
{
    ash_tree_entry *e = NULL;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false, below = false;
    int rc = ash__tree_newest(call->tree, &deletion->id, &call->op, &e, err);
    /* It came back since, or its versions were pruned away. */
    if (rc != 0 || e == NULL || !e->is_deleted || e->version + 1 != deletion->version) {
        ash_tree_entry_free(e);
        return rc;
    }
    rc = ash__tree_climb(call->tree, e, &call->op, &chain, &reached, err);
    for (size_t i = 0; rc == 0 && i < chain.count; i++)
        below = below || ash__same_id(&chain.items[i]->id, call->folder);
    bool mine = rc == 0 && reached && below;
    if (mine) {
        ash__entry_set_path(e, ash__chain_last(&chain)->path);
        e->ended_ms = deletion->changed_ms;
        ash__chain_add(&chain, ash_tree_entry_copy(e));
        mine = ash__tree_require(&chain, ASH_TREE_READ, &call->op, NULL) == 0;
    }
    if (mine)
        ash__entries_add(&call->found, e);
    else
        ash_tree_entry_free(e);
    ash__chain_release(&chain);
    return rc;
}

static int read_trash(trash_call *call, ash_error *err)
{
    bson_t *filter = BCON_NEW("deleted_at", "{", "$exists", BCON_BOOL(true), "}");
    bson_t *sort = BCON_NEW("deleted_at", BCON_INT32(-1));
    ash_find_options o = ash__tree_find_options(&call->op);
    ash_cursor *cursor = NULL;
    o.sort = sort;
    int rc = ash_collection_find(call->tree->past, filter, &o, &cursor, err);
    while (rc == 0 && (call->limit == 0 || (int64_t)call->found.count < call->limit)) {
        ash_doc doc;
        bson_t view;
        ash_tree_entry *e = NULL;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        ash__doc_to_bson(doc, &view);
        rc = ash__entry_new(bson_copy(&view), &e, err);
        if (rc == 0 && e->is_deleted)
            rc = look_at_deletion(call, e, err);
        ash_tree_entry_free(e);
    }
    ash_cursor_free(cursor);
    bson_destroy(sort);
    bson_destroy(filter);
    return rc;
}

int ash_tree_trash(ash_tree *tree, const char *path, int64_t limit, const ash_op *op,
                   ash_tree_listing **out, ash_error *err)
{
    trash_call call = {.tree = tree, .limit = limit, .op = ash__tree_op(op)};
    ash_tree_entry *folder = NULL;
    *out = NULL;
    int rc = limit < 0 ? ash__fail(err, ASH_EINVAL, "the limit is negative")
                       : ash__tree_find_ever(tree, path, ASH_TREE_READ, &call.op, &folder, err);
    if (rc == 0) {
        call.folder = &folder->id;
        rc = read_trash(&call, err);
    }
    ash_tree_entry_free(folder);
    if (rc == 0)
        *out = ash__list_entries(call.found.items, call.found.count);
    else
        ash__entries_release(&call.found);
    return rc;
}
