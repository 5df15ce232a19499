/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_LIST_H
#define ASH_TREE_LIST_H

#include "tree/lookup.h"

/* A listing of entries that are there already, which it takes over. */
ash_tree_listing *ash__list_entries(ash_tree_entry **items, size_t count);

#endif
