/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_REMOVE_H
#define ASH_TREE_REMOVE_H

#include "tree/subtree.h"

/* In the commit: the entries go into the history as deleted, and let go of their contents. */
int ash__commit_remove(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                       ash_error *err);

/* Deletions that are too many for one commit, each of which goes on where the last one ended. */
typedef struct ash_tree_removal {
    const ash_tree_path *path;
    bool whole;          /* in a caller's transaction: all at once */
    bool too_many;       /* result of a run: nothing was done, as that was too much for it */
    int64_t began_ms;    /* of all its commits: what was deleted together comes back together */
    ash_tree_entry *top; /* what is deleted; own */
} ash_tree_removal;
/* In the commit: the entry that is at the path, which is the one that it was in the commit before;
 * conditions were looked at. */
int ash__removal_top(ash_tree_commit *c, ash_tree_removal *r, ash_tree_chain *chain,
                     ash_error *err);
/* Many commits: what lies in the folder goes, a folder after what lies in it.  What others put there
 * meanwhile may be left, as may folders that they put it into. */
int ash__removal_empty(ash_tree *tree, ash_tree_removal *r, const ash_tree_change_options *opts,
                       const ash_op *op, ash_error *err);

#endif
