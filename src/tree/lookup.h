/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_LOOKUP_H
#define ASH_TREE_LOOKUP_H

/* From paths to entries, now or at a moment. */

#include "tree/entry.h"
#include "tree/path.h"

/* The entries along a path, the root first, as far as they are there. */
typedef struct ash_tree_chain {
    ash_tree_entry **items;
    size_t count, capacity;
} ash_tree_chain;

#define ASH_TREE_CHAIN_INIT                                                                        \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }
void ash__chain_release(ash_tree_chain *c);
static inline ash_tree_entry *ash__chain_last(const ash_tree_chain *c)
{
    return c->items[c->count - 1];
}
/* The last one, which is the caller's then. */
ash_tree_entry *ash__chain_take(ash_tree_chain *c);
void ash__chain_add(ash_tree_chain *c, ash_tree_entry *e);
/* Of the item at `at`, where not every one of them has its path, by the names; ash__free(). */
char *ash__chain_path(const ash_tree_chain *c, size_t at);

/* As far as the path leads: chain->count is path->count + 1 when all of it is there.  A file in its
 * middle is ASH_EINVAL.  at_ms 0: now. */
int ash__tree_walk(ash_tree *tree, const ash_tree_path *path, int64_t at_ms, const ash_op *op,
                   ash_tree_chain *chain, ash_error *err);
/* All of it: else ASH_ENOTFOUND. */
int ash__tree_walk_all(ash_tree *tree, const ash_tree_path *path, int64_t at_ms, const ash_op *op,
                       ash_tree_chain *chain, ash_error *err);
int ash__tree_say_missing(const ash_tree_path *path, size_t found, int64_t at_ms, ash_error *err);

/* One name in a folder, or NULL. */
int ash__tree_child(ash_tree *tree, const ash_tree_entry *folder, const char *name,
                    const ash_op *op, ash_tree_entry **out, ash_error *err);
/* The current version by id, or NULL. */
int ash__tree_current(ash_tree *tree, const bson_value_t *id, const ash_op *op,
                      ash_tree_entry **out, ash_error *err);
/* One version; the current one, too.  NULL: there is none. */
int ash__tree_version(ash_tree *tree, const bson_value_t *id, int32_t version, const ash_op *op,
                      ash_tree_entry **out, ash_error *err);
/* The newest that is no deletion, current or not; is_deleted tells.  NULL: there is none. */
int ash__tree_newest(ash_tree *tree, const bson_value_t *id, const ash_op *op, ash_tree_entry **out,
                     ash_error *err);
/* When a version of the history ended, where its document does not say (v7files' own). */
int ash__tree_find_end(ash_tree *tree, ash_tree_entry *e, const ash_op *op, ash_error *err);

/* What an id that stands as a parent is of: this tree's root, or the newest of a folder (NULL: there
 * is none). */
int ash__tree_folder(ash_tree *tree, const bson_value_t *id, const ash_op *op, ash_tree_entry **out,
                     bool *is_this_root, ash_error *err);
/* Above an entry, by its parents as they are now, or were last: its chain from the root on, itself
 * not in it; the last has its path.  *reached: it begins at this tree's root. */
int ash__tree_climb(ash_tree *tree, const ash_tree_entry *e, const ash_op *op,
                    ash_tree_chain *chain, bool *reached, ash_error *err);

/* Filters on the history of one entry: _id between its first version and its last. */
void ash__tree_filter_versions(bson_t *filter, const bson_value_t *id);
void ash__tree_append_version_id(bson_t *doc, const char *name, const bson_value_t *id,
                                 int32_t version);
/* {_id: top, parent: folder}: `gone_with` of what lay in that folder. */
void ash__tree_append_gone_with(bson_t *doc, const char *name, const bson_value_t *top,
                                const bson_value_t *folder);

#endif
