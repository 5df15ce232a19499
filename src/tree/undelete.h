/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_UNDELETE_H
#define ASH_TREE_UNDELETE_H

/* What was deleted comes back: a folder first, then, where that is too much for its commit, what was
 * deleted with it, in many. */

#include "tree/change.h"
#include "tree/history.h"

/* The document of a last version, as the one behind its deletion. */
bson_t *ash__undelete_document(const ash_tree_commit *c, const ash_tree_entry *e, int32_t deletion,
                               const bson_value_t *parent, const char *name);
/* Whoever brings something back may do that where each of them lay. */
int ash__undelete_require(ash_tree_commit *c, const ash_tree_entries *list, unsigned rights,
                          ash_error *err);

/* The rest of a folder. */
typedef struct ash_tree_rest {
    const bson_value_t *id;
    int64_t deleted_ms; /* what lay in it went at that time, too */
    unsigned rights;    /* that are needed on each of them */
    bool only_rights;   /* nothing comes back yet */
    bool was_left;      /* the folder is there, as its deletion, or this, was interrupted */
    int64_t came_back;  /* result: how many */
    int64_t bytes;      /* result of only_rights: what they have, and so would add */
} ash_tree_rest;
/* Many commits, each folder before what lies in it.  What is there already, or whose name somebody
 * else has by now, is passed over. */
int ash__undelete_rest(ash_tree *tree, ash_tree_rest *rest, const ash_tree_change_options *opts,
                       const ash_op *op, ash_error *err);

#endif
