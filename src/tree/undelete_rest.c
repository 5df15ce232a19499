/* SPDX-License-Identifier: Apache-2.0 */
/* What was deleted with a folder that is back already.
 *
 * Level by level, some folders at once: a scan of the history, outside of transactions, says what
 * lay in them, and each commit looks again.  Whoever is killed between two commits leaves a folder
 * with less in it than it had, and goes on when he is called again. */
#include "tree/undelete.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/subtree.h"

#include <string.h>

enum { FOLDERS_AT_ONCE = 200 };

typedef struct bringing {
    ash_tree *tree;
    ash_tree_rest *rest;
    const ash_tree_change_options *opts;
    ash_op op;
    ash_tree_entries folders; /* whose turn has not come yet, and … */
    size_t first;             /* … the first of them */
    ash_tree_entries batch;   /* for the next commit */
    bool careful;             /* somebody has one of the names */
    int64_t made, bytes;      /* by the last run of a commit */
} bringing;

/* ---- a commit ---- */

/* Entries that follow one another lie in the same folder, mostly. */
static int require_folder(ash_tree_commit *c, const bson_value_t *id, ash_tree_entry **folder,
                          ash_error *err)
{
    if (*folder != NULL && ash__same_id(&(*folder)->id, id))
        return 0;
    ash_tree_entry_free(*folder);
    int rc = ash__tree_current(c->tree, id, &c->op, folder, err);
    return rc == 0 && *folder != NULL ? ash__commit_claim(c, id, err) : rc;
}

static int is_free(bringing *m, ash_tree_commit *c, const ash_tree_entry *folder, const char *name,
                   bool *yes, ash_error *err)
{
    ash_tree_entry *there = NULL;
    *yes = true;
    if (!m->careful)
        return 0;
    ash_tree_entry at = *folder;
    at.path = (char *)(uintptr_t) "";
    int rc = ash__tree_child(c->tree, &at, name, &c->op, &there, err);
    *yes = there == NULL;
    ash_tree_entry_free(there);
    return rc;
}

/* Of two that had one name, as the second came when the first had gone and their folder had not, the
 * later one has it. */
static void leave_one_of_each_name(ash_tree_entries *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        ash_tree_entry *e = list->items[i];
        size_t k = 0;
        while (k < kept && !(strcmp(list->items[k]->name, e->name) == 0 &&
                             ash__same_id(&list->items[k]->parent, &e->parent)))
            k++;
        if (k == kept) {
            list->items[kept++] = e;
        } else {
            bool later = e->changed_ms > list->items[k]->changed_ms;
            ash_tree_entry_free(later ? list->items[k] : e);
            list->items[k] = later ? e : list->items[k];
        }
    }
    list->count = kept;
}

/* Those that lie in a folder that is there, and whose names are free. */
static int choose(bringing *m, ash_tree_commit *c, ash_tree_entries *list, ash_error *err)
{
    ash_tree_entry *folder = NULL;
    size_t kept = 0;
    int rc = 0;
    if (m->careful)
        leave_one_of_each_name(list);
    for (size_t i = 0; i < list->count; i++) {
        ash_tree_entry *e = list->items[i];
        bool yes = false;
        if (rc == 0)
            rc = require_folder(c, &e->parent, &folder, err);
        if (rc == 0 && folder != NULL)
            rc = is_free(m, c, folder, e->name, &yes, err);
        if (rc == 0 && yes)
            list->items[kept++] = e;
        else
            ash_tree_entry_free(e);
    }
    list->count = kept;
    ash_tree_entry_free(folder);
    return rc;
}

static int insert_all(ash_tree_commit *c, const ash_tree_entries *list, ash_error *err)
{
    size_t used;
    ash_content_use *uses = ash__content_uses(list->items, list->count, &used);
    bson_t **made = ash__alloc_array(list->count + 1, sizeof *made);
    for (size_t i = 0; i < list->count; i++) {
        const ash_tree_entry *e = list->items[i];
        made[i] = ash__undelete_document(c, e, e->version + 1, &e->parent, e->name);
    }
    int rc = ash__commit_hold(c, uses, used, err);
    if (rc == 0)
        rc = ash__commit_insert_all(c, made, list->count, err);
    for (size_t i = 0; i < list->count; i++)
        bson_destroy(made[i]);
    ash__free(made);
    ash__free(uses);
    return rc;
}

static int bring_batch(ash_tree_commit *c, void *ctx, ash_error *err)
{
    bringing *m = ctx;
    ash_tree_entries list = ASH_TREE_ENTRIES_INIT;
    for (size_t i = 0; i < m->batch.count; i++)
        ash__entries_add(&list, ash_tree_entry_copy(m->batch.items[i]));
    int rc = ash__commit_fence(c, err);
    if (rc == 0)
        rc = ash__tree_leave_deleted(c->tree, &list, 0, &c->op, err);
    if (rc == 0)
        rc = ash__undelete_require(c, &list, m->rest->rights, err);
    if (rc == 0 && !m->rest->only_rights)
        rc = choose(m, c, &list, err);
    if (rc == 0 && !m->rest->only_rights)
        rc = insert_all(c, &list, err);
    m->made = (int64_t)list.count;
    m->bytes = 0;
    for (size_t i = 0; i < list.count; i++)
        ash__add_length(&m->bytes, list.items[i]->content.length);
    ash__entries_release(&list);
    return rc;
}

static int commit_batch(bringing *m, ash_error *err)
{
    int rc = 0;
    m->made = 0;
    m->careful = false;
    if (m->batch.count > 0)
        rc = ash__tree_change(m->tree, m->opts, &m->op, bring_batch, m, err);
    if (rc == ASH_EEXISTS) {
        m->careful = true;
        rc = ash__tree_change(m->tree, m->opts, &m->op, bring_batch, m, err);
    }
    if (rc == 0 && !m->rest->only_rights)
        m->rest->came_back += m->made;
    else if (rc == 0 && m->batch.count > 0)
        ash__add_length(&m->rest->bytes, m->bytes);
    /* Those that are there already may have been left half-way. */
    for (size_t i = 0; i < m->batch.count; i++)
        if (m->batch.items[i]->is_folder) {
            ash__entries_add(&m->folders, m->batch.items[i]);
            m->batch.items[i] = NULL;
        }
    ash__entries_release(&m->batch);
    return rc;
}

/* ---- level by level ---- */

/* What lay in the next folders, and went with the top at its time, or (earlier) before. */
static int bring_into(bringing *m, size_t count, bool earlier, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(&m->op);
    ash_cursor *cursor = NULL;
    const ash_tree_gone gone = {m->rest->id, m->rest->deleted_ms, earlier};
    (void)ash__tree_filter_gone(&gone, m->folders.items + m->first, count, &filter);
    int rc = ash_collection_find(m->tree->past, &filter, &o, &cursor, err);
    while (rc == 0) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_next(cursor, &e, err);
        if (rc != 0 || e == NULL)
            break;
        ash__entries_add(&m->batch, e);
        if (m->batch.count == ASH_TREE_BATCH)
            rc = commit_batch(m, err);
    }
    if (rc == 0)
        rc = commit_batch(m, err);
    ash_cursor_free(cursor);
    bson_destroy(&filter);
    return rc;
}

static int bring_all(bringing *m, ash_error *err)
{
    int rc = 0;
    while (rc == 0 && m->first < m->folders.count) {
        size_t left = m->folders.count - m->first;
        size_t count = left < FOLDERS_AT_ONCE ? left : FOLDERS_AT_ONCE;
        rc = bring_into(m, count, false, err);
        if (rc == 0)
            rc = bring_into(m, count, true, err);
        for (size_t i = 0; i < count; i++, m->first++) {
            ash_tree_entry_free(m->folders.items[m->first]);
            m->folders.items[m->first] = NULL;
        }
    }
    return rc;
}

/* {gone_with: {_id: the top, parent: any}} */
static void filter_all_of_top(const bringing *m, bson_t *filter)
{
    bson_value_t first = {.value_type = BSON_TYPE_MINKEY}, last = {.value_type = BSON_TYPE_MAXKEY};
    bson_t range;
    bson_append_document_begin(filter, "gone_with", 9, &range);
    ash__tree_append_gone_with(&range, "$gte", m->rest->id, &first);
    ash__tree_append_gone_with(&range, "$lte", m->rest->id, &last);
    bson_append_document_end(filter, &range);
}

static int add_if_there(bringing *m, const bson_value_t *id, ash_error *err)
{
    ash_tree_entry *folder = NULL;
    int rc = ash__tree_current(m->tree, id, &m->op, &folder, err);
    if (folder != NULL && folder->is_folder && !ash__same_id(id, m->rest->id))
        ash__entries_add(&m->folders, folder);
    else
        ash_tree_entry_free(folder);
    return rc;
}

/* Folders that were not deleted yet when some had gone that lay in them: nothing that went leads
 * there. */
static int find_left(bringing *m, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("gone_with", BCON_INT32(1)), *only = BCON_NEW("parent", BCON_INT32(1));
    ash_find_options o = ash__tree_find_options(&m->op);
    bson_value_t before = {.value_type = BSON_TYPE_EOD};
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    bson_iter_t it;
    o.sort = sort;
    o.projection = only;
    filter_all_of_top(m, &filter);
    int rc = ash_collection_find(m->tree->past, &filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        if (!bson_iter_init_find(&it, &view, "parent") ||
            (before.value_type != BSON_TYPE_EOD && ash__same_id(&before, bson_iter_value(&it))))
            continue;
        bson_value_destroy(&before);
        bson_value_copy(bson_iter_value(&it), &before);
        rc = add_if_there(m, &before, err);
    }
    ash_cursor_free(cursor);
    bson_value_destroy(&before);
    bson_destroy(only);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

int ash__undelete_rest(ash_tree *tree, ash_tree_rest *rest, const ash_tree_change_options *opts,
                       const ash_op *op, ash_error *err)
{
    bringing m = {.tree = tree, .rest = rest, .opts = opts, .op = ash__op_of(op)};
    ash_tree_entry *top = NULL;
    m.op.durability = ASH_DURABILITY_INTERVAL;
    rest->came_back = 0;
    int rc = ash__tree_newest(tree, rest->id, &m.op, &top, err);
    if (rc == 0 && top != NULL) {
        ash__entries_add(&m.folders, top);
        if (rest->was_left)
            rc = find_left(&m, err);
        if (rc == 0)
            rc = bring_all(&m, err);
    }
    /* What its commits wrote is as durable as the caller wants. */
    if (rc == 0 && rest->came_back > 0 && ash__op_of(op).durability != ASH_DURABILITY_INTERVAL)
        rc = ash_store_flush(tree->store, op, err);
    ash__entries_release(&m.batch);
    ash__entries_release(&m.folders);
    return rc;
}
