/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_ACL_H
#define ASH_TREE_ACL_H

#include "tree/lookup.h"

/* The one place where rights are decided: may op's principal do all of that with the last entry of
 * the chain?  Without a principal everything is allowed.  ASH_EACCES. */
int ash__tree_require(const ash_tree_chain *chain, unsigned rights, const ash_op *op,
                      ash_error *err);
/* The same of a chain that is of a moment in the past: where something lay is what it was then, but
 * lists are those of today (or the last ones), or what was closed would stay open in the past. */
int ash__tree_require_at(ash_tree *tree, const ash_tree_chain *chain, int64_t at_ms,
                         unsigned rights, const ash_op *op, ash_error *err);
/* May who asks read this version, by the lists of where it lay?  ASH_EACCES. */
int ash__tree_require_read(ash_tree *tree, const ash_tree_entry *entry, const ash_op *op,
                           ash_error *err);
/* Who looks after the whole tree has to be allowed everything with its root. */
int ash__tree_require_care(ash_tree *tree, const ash_op *op, ash_error *err);
/* An entry as it is guarded: its newest version, under the path that it had.  Where that was pruned
 * away, the entry itself. */
int ash__acl_guard(ash_tree *tree, const ash_tree_entry *e, const ash_op *op, ash_tree_entry **out,
                   ash_error *err);
/* The entry of the chain whose list counts for the one at `at`; NULL: none has any. */
const ash_tree_entry *ash__acl_source(const ash_tree_chain *chain, size_t at);

#endif
