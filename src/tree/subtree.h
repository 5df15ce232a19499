/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_SUBTREE_H
#define ASH_TREE_SUBTREE_H

/* All that lies below a folder, level by level: one find for each batch of folders, so that a
 * transaction through a server stays short. */

#include "tree/change.h"

typedef struct ash_tree_subtree {
    ash_tree_entry **items; /* each folder before what lies in it; only the top has a path */
    size_t *parents;        /* where in items its folder is; SIZE_MAX: the top */
    size_t count, capacity, parents_capacity;
    int64_t at_ms;         /* as it was then; 0: now */
    size_t max, finds_max; /* entries, and finds, that it ends with; 0: none */
    bool more;             /* it ended with them */
} ash_tree_subtree;
#define ASH_TREE_SUBTREE_INIT                                                                      \
    {                                                                                              \
        NULL, NULL, 0, 0, 0, 0, 0, 0, false                                                        \
    }
/* top becomes the first item, and is the subtree's then.  at_ms 0: now. */
int ash__subtree_read(ash_tree *tree, ash_tree_entry *top, int64_t at_ms, const ash_op *op,
                      ash_tree_subtree *out, ash_error *err);
/* May op's principal do that with every one of them?  above: the chain down to the top, itself
 * included, as ash__acl_guard() has it; at_ms: of which moment the subtree is. */
int ash__subtree_require(ash_tree *tree, const ash_tree_subtree *s, const ash_tree_chain *above,
                         unsigned rights, const ash_op *op, ash_error *err);
void ash__subtree_release(ash_tree_subtree *s);

/* Who uses which content among the entries; owners point into them.  *count of them; ash__free(). */
ash_content_use *ash__content_uses(ash_tree_entry *const *entries, size_t count, size_t *uses);

#endif
