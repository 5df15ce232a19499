/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_KEEP_H
#define ASH_TREE_KEEP_H

#include "tree/lookup.h"

/* The rule of the document; false: it has none. */
bool ash__keep_read(const ash_tree_entry *e, ash_tree_keep *out);
/* The nearest of the chain that has a rule, or NULL, and then everything is kept. */
const ash_tree_entry *ash__keep_find(const ash_tree_chain *chain, ash_tree_keep *out);

#endif
