/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_GET_H
#define ASH_TREE_GET_H

#include "tree/lookup.h"

/* As ash_tree_get(), of arguments that were checked. */
int ash__tree_get(ash_tree *tree, const char *path, const ash_tree_when *when, const ash_op *op,
                  ash_tree_entry **out, ash_error *err);

#endif
