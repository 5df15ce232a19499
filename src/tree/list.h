/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_LIST_H
#define ASH_TREE_LIST_H

#include "tree/lookup.h"

/* A listing of entries that are there already, which it takes over. */
ash_tree_listing *ash__list_entries(ash_tree_entry **items, size_t count);

/* Where entries come from, one by one. */
typedef struct ash_tree_source {
    int (*next)(void *ctx, ash_tree_entry **out, ash_error *err); /* NULL at the end */
    void (*free)(void *ctx);
    void *ctx;
} ash_tree_source;
/* Takes the source over; limit 0: to its end. */
ash_tree_listing *ash__list_from(const ash_tree_source *source, int64_t limit);

#endif
