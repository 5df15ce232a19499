/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_HISTORY_H
#define ASH_TREE_HISTORY_H

#include "tree/lookup.h"

/* Entries of one's own. */
typedef struct ash_tree_entries {
    ash_tree_entry **items;
    size_t count, capacity;
} ash_tree_entries;
#define ASH_TREE_ENTRIES_INIT                                                                      \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }
void ash__entries_add(ash_tree_entries *list, ash_tree_entry *e);
void ash__entries_release(ash_tree_entries *list);

/* Everything that the filter finds, without paths. */
int ash__tree_find_all(ash_collection *c, const bson_t *filter, const ash_find_options *o,
                       ash_tree_entries *out, ash_error *err);
/* The history of one entry, newest first, the current version not among them; limit 0: all. */
int ash__tree_past(ash_tree *tree, const bson_value_t *id, int64_t limit, const ash_op *op,
                   ash_tree_entries *out, ash_error *err);
/* The same with the current version, with ends and paths. */
int ash__tree_versions(ash_tree *tree, const bson_value_t *id, int64_t limit, const ash_op *op,
                       ash_tree_entries *out, ash_error *err);
bool ash__entry_is_tagged(const ash_tree_entry *e);
/* What was deleted with a folder. */
typedef struct ash_tree_gone {
    const bson_value_t *id; /* the folder's */
    int64_t deleted_ms;     /* when it was */
    bool earlier;           /* not what went at that time, but before, when that was interrupted */
} ash_tree_gone;
/* What of it lay in some folders; false: none of them is one. */
bool ash__tree_filter_gone(const ash_tree_gone *gone, ash_tree_entry *const *folders, size_t count,
                           bson_t *filter);
/* list: one folder that was deleted.  Adds what was deleted together with it below it, level by level
 * and in few operations; what came back since is left out.  max: *more, and some of them, when the
 * list would be longer; 0: all. */
int ash__tree_deleted_below(ash_tree *tree, ash_tree_entries *list, size_t max, bool *more,
                            const ash_op *op, ash_error *err);
/* Of the list from first on, last versions before deletions: leaves those that nothing came after. */
int ash__tree_leave_deleted(ash_tree *tree, ash_tree_entries *list, size_t first, const ash_op *op,
                            ash_error *err);
/* The same of a list of which each is known to have a deletion behind it. */
int ash__tree_leave_last_deleted(ash_tree *tree, ash_tree_entries *list, const ash_op *op,
                                 ash_error *err);
/* What is at the path, or who had it last. */
int ash__tree_find_ever(ash_tree *tree, const char *path, unsigned rights, const ash_op *op,
                        ash_tree_entry **out, ash_error *err);
/* Of an entry that has a history, by the lists that count where it lies now, or lay last. */
int ash__tree_require_gone(ash_tree *tree, const ash_tree_entry *gone, unsigned rights,
                           const ash_op *op, ash_error *err);

#endif
