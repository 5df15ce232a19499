/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_REMOVE_H
#define ASH_TREE_REMOVE_H

#include "tree/subtree.h"

/* In the commit: the entries go into the history as deleted, and let go of their contents. */
int ash__commit_remove(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                       ash_error *err);

#endif
