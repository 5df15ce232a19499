/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_COPY_H
#define ASH_TREE_COPY_H

/* Copying: a small folder in one commit, a large one in many, of which the last makes it visible.
 *
 * Until then the copy lies in a root of its own, COPIES, where nobody looks, under a folder that has
 * the id which the copy will have, and `copying_at` +, when somebody last worked on it.  Whoever
 * gives up, or collects what was given up, moves that folder to the root LEFT before he deletes what
 * is below: whoever may still be at work finds it gone. */

#include "tree/change.h"

#define ASH_TREE_COPIES                                                                            \
    "\x01"                                                                                         \
    "ashlar/copies"
#define ASH_TREE_LEFT                                                                              \
    "\x01"                                                                                         \
    "ashlar/left"

typedef struct ash_tree_copying {
    const char *from;
    ash_tree_when when;
    const ash_tree_path *to;
    bool whole;            /* in a caller's transaction: all at once */
    bool too_many;         /* result of a run: nothing was done, as that was too much for it */
    ash_tree_entry *entry; /* result: the copy */
} ash_tree_copying;

/* A new entry's document, of what another one says. */
bson_t *ash__copied_document(ash_tree_commit *c, const bson_oid_t *id, const bson_value_t *parent,
                             const char *name, const ash_tree_entry *e);
/* ASH_EINVAL: the source is among the folders of the chain. */
int ash__copy_refuse_circle(const ash_tree_copying *call, const bson_value_t *source,
                            const ash_tree_chain *target, ash_error *err);
/* In the commit: the folder that the copy comes to lie in, which is not below the source. */
int ash__copy_target(ash_tree_commit *c, const ash_tree_copying *call, const bson_value_t *source,
                     ash_tree_chain *target, ash_error *err);
/* Many commits; what a failure or a crash leaves is not visible. */
int ash__copy_many(ash_tree *tree, ash_tree_copying *call, const ash_tree_change_options *opts,
                   const ash_op *op, ash_error *err);

/* One's own copy is given up. */
int ash__copy_give_up(ash_tree *tree, const bson_oid_t *id, const ash_op *op, ash_error *err);
/* Those are given up that nobody has worked on for so long (< 0: all), and what was given up is
 * deleted, without a history. */
int ash__copies_collect(ash_tree *tree, int64_t min_age_s, const ash_op *op, ash_error *err);

#endif
