/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_LIST_H
#define ASH_TREE_LIST_H

#include "tree/lookup.h"

/* What lies in a folder that was looked up; folder is copied. */
int ash__list_folder(ash_tree *tree, const ash_tree_entry *folder, int64_t at_ms, const ash_op *op,
                     ash_tree_listing **out, ash_error *err);
/* A listing of entries that are there already, which it takes over. */
ash_tree_listing *ash__list_entries(ash_tree_entry **items, size_t count);

#endif
