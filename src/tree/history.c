/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of one entry. */
#include "tree/history.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/list.h"

#include <string.h>

/* ---- one entry ---- */

void ash__entries_add(ash_tree_entries *list, ash_tree_entry *e)
{
    list->items = ash__grow_array(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count++] = e;
}

void ash__entries_release(ash_tree_entries *list)
{
    for (size_t i = 0; i < list->count; i++)
        ash_tree_entry_free(list->items[i]);
    ash__free(list->items);
    *list = (ash_tree_entries)ASH_TREE_ENTRIES_INIT;
}

int ash__tree_find_all(ash_collection *c, const bson_t *filter, const ash_find_options *o,
                       ash_tree_entries *out, ash_error *err)
{
    ash_cursor *cursor = NULL;
    int rc = ash_collection_find(c, filter, o, &cursor, err);
    while (rc == 0) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_next(cursor, &e, err);
        if (rc != 0 || e == NULL)
            break;
        ash__entries_add(out, e);
    }
    ash_cursor_free(cursor);
    return rc;
}

int ash__tree_past(ash_tree *tree, const bson_value_t *id, int64_t limit, const ash_op *op,
                   ash_tree_entries *out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("_id", BCON_INT32(-1));
    ash_find_options o = ash__tree_find_options(op);
    o.sort = sort;
    o.limit = limit;
    ash__tree_filter_versions(&filter, id);
    int rc = ash__tree_find_all(tree->past, &filter, &o, out, err);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

/* Newest first, so that each version ended when the one before it in the list began; but a version
 * that says so itself knows better: the one that followed may have been pruned.  A deletion does
 * not say when the entry was created. */
static void settle_dates(ash_tree_entries *list)
{
    for (size_t i = 1; i < list->count; i++) {
        if (list->items[i]->ended_ms == 0)
            list->items[i]->ended_ms = list->items[i - 1]->changed_ms;
        if (list->items[i - 1]->created_ms == 0)
            list->items[i - 1]->created_ms = list->items[i]->created_ms;
    }
}

/* Deletions have neither name nor parent of their own: they take their path from the version that
 * they ended, and the others keep the names that they had then. */
static int settle_paths(ash_tree *tree, ash_tree_entries *list, const ash_op *op, ash_error *err)
{
    int rc = 0;
    const char *known = NULL;
    const bson_value_t *folder = NULL;
    for (size_t i = list->count; rc == 0 && i-- > 0;) {
        ash_tree_entry *e = list->items[i];
        ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
        bool reached;
        if (e->parent.value_type == BSON_TYPE_EOD) {
            e->path = ash__strdup(known != NULL ? known : ASH_TREE_NOWHERE);
            continue;
        }
        if (folder != NULL && ash__same_id(folder, &e->parent)) {
            const char *slash = strrchr(known, '/');
            e->path = ash__sprintf("%.*s/%s", (int)(slash - known), known, e->name);
        } else {
            rc = ash__tree_climb(tree, e, op, &chain, &reached, err);
            if (rc == 0)
                ash__entry_set_path(e, chain.count > 0 ? ash__chain_last(&chain)->path
                                                       : ASH_TREE_NOWHERE);
            ash__chain_release(&chain);
        }
        folder = &e->parent;
        known = e->path;
    }
    return rc;
}

int ash__tree_versions(ash_tree *tree, const bson_value_t *id, int64_t limit, const ash_op *op,
                       ash_tree_entries *out, ash_error *err)
{
    ash_tree_entry *current = NULL;
    int rc = ash__tree_current(tree, id, op, &current, err);
    if (rc == 0 && current != NULL)
        ash__entries_add(out, current);
    if (rc == 0 && (limit == 0 || limit > (int64_t)out->count))
        rc = ash__tree_past(tree, id, limit == 0 ? 0 : limit - (int64_t)out->count, op, out, err);
    settle_dates(out);
    if (rc == 0)
        rc = settle_paths(tree, out, op, err);
    return rc;
}

/* The latest of what the filter finds, if it is later than *out. */
static int choose_later(ash_tree *tree, const bson_t *filter, const ash_find_options *o,
                        ash_tree_entry **out, ash_error *err)
{
    ash_tree_entries list = ASH_TREE_ENTRIES_INIT;
    int rc = ash__tree_find_all(tree->past, filter, o, &list, err);
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        ash_tree_entry *e = list.items[i];
        rc = ash__tree_find_end(tree, e, &o->op, err);
        if (rc == 0 && (*out == NULL || e->ended_ms > (*out)->ended_ms)) {
            ash_tree_entry_free(*out);
            *out = e;
            list.items[i] = NULL;
        }
    }
    ash__entries_release(&list);
    return rc;
}

/* Whoever had the name in the folder last.  An index has the order of ends; v7files' own versions
 * do not say theirs. */
static int find_last_owner(ash_tree *tree, const ash_tree_path *path, const ash_op *op,
                           const ash_tree_entry *folder, ash_tree_entry **out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("until", BCON_INT32(-1));
    ash_find_options last = ash__tree_find_options(op), all = ash__tree_find_options(op);
    ash__filter_id(&filter, "parent", &folder->id);
    bson_append_utf8(&filter, "filename", 8, path->names[path->count - 1], -1);
    bson_t *ended = bson_copy(&filter), *silent = bson_copy(&filter);
    BCON_APPEND(ended, "until", "{", "$gt", BCON_DATE_TIME(0), "}");
    BCON_APPEND(silent, "until", BCON_NULL);
    last.sort = sort;
    last.limit = 1;
    *out = NULL;
    int rc = choose_later(tree, ended, &last, out, err);
    if (rc == 0)
        rc = choose_later(tree, silent, &all, out, err);
    bson_destroy(sort);
    bson_destroy(ended);
    bson_destroy(silent);
    bson_destroy(&filter);
    if (rc != 0) {
        ash_tree_entry_free(*out);
        *out = NULL;
    }
    return rc;
}

/* It may lie elsewhere by now, and its history is what it is there, too: that place counts. */
int ash__tree_require_gone(ash_tree *tree, const ash_tree_entry *gone, unsigned rights,
                           const ash_op *op, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *newest = NULL;
    bool reached;
    if (op->principal == NULL)
        return 0;
    int rc = ash__tree_newest(tree, &gone->id, op, &newest, err);
    if (rc == 0 && newest != NULL)
        rc = ash__tree_climb(tree, newest, op, &chain, &reached, err);
    if (rc == 0 && newest != NULL) {
        ash__entry_set_path(newest,
                            chain.count > 0 ? ash__chain_last(&chain)->path : ASH_TREE_NOWHERE);
        ash__chain_add(&chain, newest);
        rc = ash__tree_require(&chain, rights, op, err);
    } else {
        ash_tree_entry_free(newest);
    }
    ash__chain_release(&chain);
    return rc;
}

int ash__tree_find_ever(ash_tree *tree, const char *path, unsigned rights, const ash_op *op,
                        ash_tree_entry **out, ash_error *err)
{
    ash_tree_path parts = {0};
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    *out = NULL;
    int rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_walk(tree, &parts, 0, op, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, rights, op, err);
    bool there = chain.count > parts.count;
    if (rc == 0 && there)
        *out = ash__chain_take(&chain);
    else if (rc == 0 && chain.count == parts.count)
        rc = find_last_owner(tree, &parts, op, ash__chain_last(&chain), out, err);
    if (rc == 0 && *out != NULL && !there)
        rc = ash__tree_require_gone(tree, *out, rights, op, err);
    if (rc == 0 && *out == NULL)
        rc = ash__tree_say_missing(&parts, chain.count, 0, err);
    if (rc == 0 && (*out)->path == NULL)
        (*out)->path = ash__tree_path_join(&parts, parts.count);
    if (rc != 0) {
        ash_tree_entry_free(*out);
        *out = NULL;
    }
    ash__chain_release(&chain);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_history(ash_tree *tree, const char *path, int64_t limit, const ash_op *op,
                     ash_tree_listing **out, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_entry *e = NULL;
    ash_tree_entries list = ASH_TREE_ENTRIES_INIT;
    *out = NULL;
    int rc = limit < 0 ? ash__fail(err, ASH_EINVAL, "the limit is negative")
                       : ash__tree_find_ever(tree, path, ASH_TREE_READ, &own, &e, err);
    if (rc == 0 && e->version == 0)
        ash__entries_add(&list, ash_tree_entry_copy(e)); /* a root that nobody has changed */
    else if (rc == 0)
        rc = ash__tree_versions(tree, &e->id, limit, &own, &list, err);
    ash_tree_entry_free(e);
    if (rc == 0)
        *out = ash__list_entries(list.items, list.count);
    else
        ash__entries_release(&list);
    return rc;
}
