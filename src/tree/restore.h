/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_RESTORE_H
#define ASH_TREE_RESTORE_H

#include "tree/entry.h"

/* What an earlier version says of its contents, type, time and properties, and what it does not say
 * as null: as ash__commit_revise() takes it.  set: initialised. */
void ash__restored_fields(const ash_tree_entry *old, bson_t *set);

#endif
