/* SPDX-License-Identifier: Apache-2.0 */
/* Changes as they happen: the change stream of the collection, told as what became of entries.
 *
 * A version replaces the document, so that a replacement is told from a mark (which updates it), and
 * what it was before stands in the history, written by the same commit. */
#include "tree/history.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tree/acl.h"

#include <string.h>

struct ash_tree_watch {
    ash_tree *tree;
    ash_op op;
    ash_cursor *cursor;
    bson_value_t top;
    ash_tree_entry *entry; /* of the last event */
    char *from;
};

int ash_tree_watch_open(ash_tree *tree, const char *path, const ash_op *op, ash_tree_watch **out,
                        ash_error *err)
{
    ash_watch_options o = ASH_WATCH_OPTIONS_INIT;
    ash_tree_entry *top = NULL;
    ash_op own = ash__op_of(op);
    *out = NULL;
    if (own.transaction != NULL)
        return ash__fail(err, ASH_ESTATE, "a watch cannot be opened in a transaction");
    int rc = ash__tree_find_ever(tree, path, ASH_TREE_READ, &own, &top, err);
    if (rc != 0)
        return rc;
    ash_tree_watch *w = ash__new(ash_tree_watch);
    w->tree = tree;
    w->op = own;
    bson_value_copy(&top->id, &w->top);
    o.op = own;
    rc = ash_store_watch(tree->store, tree->db, ash_collection_name(tree->current), &o, &w->cursor,
                         err);
    ash_tree_entry_free(top);
    if (rc != 0)
        ash_tree_watch_close(w);
    else
        *out = w;
    return rc;
}

void ash_tree_watch_close(ash_tree_watch *w)
{
    if (w == NULL)
        return;
    ash_cursor_free(w->cursor);
    bson_value_destroy(&w->top);
    ash_tree_entry_free(w->entry);
    ash__free(w->from);
    ash__free(w);
}

/* ---- events ---- */

/* Where something is or was, and whether whoever watches may know of it. */
typedef struct seen {
    bool below; /* it is what is watched, or lies below it */
    bool allowed;
} seen;

/* Gives the entry its path. */
static int locate(ash_tree_watch *w, ash_tree_entry *e, seen *out, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    int rc = ash__tree_climb(w->tree, e, &w->op, &chain, &reached, err);
    out->below = ash__same_id(&e->id, &w->top);
    for (size_t i = 0; rc == 0 && i < chain.count; i++)
        out->below = out->below || ash__same_id(&chain.items[i]->id, &w->top);
    if (rc == 0 && chain.count > 0)
        ash__entry_set_path(e, ash__chain_last(&chain)->path);
    else if (rc == 0)
        e->path = ash__strdup("/");
    out->below = out->below && (reached || e->parent.value_type == BSON_TYPE_EOD);
    out->allowed = rc == 0;
    if (rc == 0 && w->op.principal != NULL) {
        ash__chain_add(&chain, ash_tree_entry_copy(e));
        out->allowed = ash__tree_require(&chain, ASH_TREE_READ, &w->op, NULL) == 0;
    }
    ash__chain_release(&chain);
    return rc;
}

static bool is_at_same_place(const ash_tree_entry *a, const ash_tree_entry *b)
{
    return strcmp(a->name, b->name) == 0 && ash__same_id(&a->parent, &b->parent);
}

/* From elsewhere.  Whoever may not see one of the places is told of the other as if there were no
 * more. */
static void tell_move(ash_tree_watch *w, ash_tree_entry *before, const seen *was, seen *is,
                      ash_tree_event *out)
{
    out->kind = ASH_TREE_MOVED;
    if (is->allowed && !was->allowed) {
        out->kind = ASH_TREE_CREATED;
    } else if (was->allowed && !is->allowed) {
        out->kind = ASH_TREE_DELETED;
        *is = *was;
        ash_tree_entry_free(w->entry);
        w->entry = ash_tree_entry_copy(before);
    } else {
        is->below = is->below || was->below;
        w->from = ash__strdup(before->path);
    }
}

/* A new version: in its place, or from elsewhere. */
static int tell_version(ash_tree_watch *w, seen *is, ash_tree_event *out, ash_error *err)
{
    ash_tree_entry *before = NULL;
    seen was = {false, false};
    int rc = ash__tree_version(w->tree, &w->entry->id, w->entry->version - 1, &w->op, &before, err);
    out->kind = ASH_TREE_CHANGED;
    if (rc == 0 && before != NULL && !before->is_deleted && !is_at_same_place(before, w->entry)) {
        rc = locate(w, before, &was, err);
        if (rc == 0)
            tell_move(w, before, &was, is, out);
    }
    ash_tree_entry_free(before);
    return rc;
}

static int read_document(ash_tree_watch *w, bson_iter_t *it, ash_error *err)
{
    const uint8_t *data;
    uint32_t len;
    bson_t view;
    bson_iter_document(it, &len, &data);
    return bson_init_static(&view, data, len)
               ? ash__entry_new(bson_copy(&view), &w->entry, err)
               : ash__fail(err, ASH_ECORRUPT, "a change stream gave a document that cannot be");
}

static int read_deleted(ash_tree_watch *w, bson_iter_t *key, ash_error *err)
{
    bson_iter_t it;
    if (!BSON_ITER_HOLDS_DOCUMENT(key) || !bson_iter_recurse(key, &it) ||
        !bson_iter_find(&it, "_id"))
        return 0;
    return ash__tree_newest(w->tree, bson_iter_value(&it), &w->op, &w->entry, err);
}

/* *out is filled when the event is of interest; else its kind stays 0. */
static int tell(ash_tree_watch *w, const bson_t *event, ash_tree_event *out, ash_error *err)
{
    bson_iter_t it;
    seen is = {false, false};
    int rc = 0;
    const char *what = bson_iter_init_find(&it, event, "operationType") && BSON_ITER_HOLDS_UTF8(&it)
                           ? bson_iter_utf8(&it, NULL)
                           : "";
    bool insert = strcmp(what, "insert") == 0, replace = strcmp(what, "replace") == 0;
    if ((insert || replace) && bson_iter_init_find(&it, event, "fullDocument"))
        rc = read_document(w, &it, err);
    else if (strcmp(what, "delete") == 0 && bson_iter_init_find(&it, event, "documentKey"))
        rc = read_deleted(w, &it, err);
    if (rc != 0 || w->entry == NULL)
        return rc;
    rc = locate(w, w->entry, &is, err);
    /* A large copy is made elsewhere, and comes as its first version. */
    bool first = insert || (replace && w->entry->version == 1);
    out->kind = first ? ASH_TREE_CREATED : ASH_TREE_DELETED;
    if (rc == 0 && !first && replace)
        rc = tell_version(w, &is, out, err);
    if (rc != 0 || !is.below || !is.allowed) {
        out->kind = 0;
        return rc;
    }
    out->entry = w->entry;
    out->path = w->entry->path;
    out->from = w->from;
    return 0;
}

int ash_tree_watch_next(ash_tree_watch *w, int64_t timeout_ms, ash_tree_event *out, ash_error *err)
{
    int64_t until = ash__clock_ms() + (timeout_ms > 0 ? timeout_ms : 0);
    size_t known = out->size;
    ash_tree_event event = ASH_TREE_EVENT_INIT;
    int rc = 0;
    for (bool asked = false; rc == 0 && event.kind == 0; asked = true) {
        int64_t left = until - ash__clock_ms();
        ash_doc doc;
        bson_t view;
        if (asked && left <= 0)
            break;
        ash_tree_entry_free(w->entry);
        ash__free(w->from);
        w->entry = NULL;
        w->from = NULL;
        ash_cursor_set_op(w->cursor, w->op.deadline_ms, w->op.cancel, left > 0 ? left : 0);
        rc = ash_cursor_next(w->cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            continue;
        ash__doc_to_bson(doc, &view);
        rc = tell(w, &view, &event, err);
    }
    memcpy(out, &event, known < sizeof event ? known : sizeof event);
    out->size = known;
    return rc;
}
