/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_ACL_H
#define ASH_TREE_ACL_H

#include "tree/lookup.h"

/* The one place where rights are decided: may op's principal do all of that with the last entry of
 * the chain?  Without a principal everything is allowed.  ASH_EACCES. */
int ash__tree_require(const ash_tree_chain *chain, unsigned rights, const ash_op *op,
                      ash_error *err);
/* The entry of the chain whose list counts for the one at `at`; NULL: none has any. */
const ash_tree_entry *ash__acl_source(const ash_tree_chain *chain, size_t at);

#endif
