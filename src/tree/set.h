/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_SET_H
#define ASH_TREE_SET_H

#include "tree/entry.h"

/* Does the document say all of `set` already (null: has no such field)? */
bool ash__entry_says(const ash_tree_entry *e, const bson_t *set);
/* Fields of a document as ash__commit_revise() takes them: a version, unless it says them.  Of the
 * options, those count that are none of a document's fields. */
int ash__tree_set_fields(ash_tree *tree, const char *path, const bson_t *fields,
                         const ash_tree_change_options *opts, const ash_op *op, ash_error *err);

#endif
