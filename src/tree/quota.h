/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_QUOTA_H
#define ASH_TREE_QUOTA_H

/* The documents of quotas, which account.h describes: reading, writing, counting. */

#include "tree/lookup.h"

typedef struct ash_quota_document {
    int64_t max;  /* -1: it only counts */
    int64_t used; /* -1: not known */
    int64_t changes;
    bool counting;
    int64_t set_ms; /* 0: not known */
} ash_quota_document;

/* What cannot be is not known. */
void ash__quota_read(const bson_t *doc, ash_quota_document *out);
int ash__quota_find(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                    ash_quota_document *out, bool *there, ash_error *err);
/* ASH_ECONFLICT: it is not there. */
int ash__quota_update(ash_tree *tree, const bson_value_t *folder, const bson_t *change, bool upsert,
                      const ash_op *op, ash_error *err);
int ash__quota_remove(ash_tree *tree, const bson_value_t *folder, const ash_op *op, ash_error *err);
/* In a commit: so many bytes more or fewer; counted: whoever counts is told. */
int ash__quota_note(ash_tree *tree, const bson_value_t *folder, int64_t bytes, bool counting,
                    const ash_op *op, ash_error *err);
/* The chain down to the folder that has it, if there ever was one, itself included, with its path.
 * *reached: it is there, below this tree's root. */
int ash__quota_folder(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                      ash_tree_chain *chain, bool *reached, ash_error *err);
/* ASH_ENOSPC, with which folder it is, what it may have, and has, and what was to come. */
int ash__quota_refuse(ash_tree *tree, const bson_value_t *folder, const ash_quota_document *q,
                      int64_t bytes, const ash_op *op, ash_error *err);

/* The bytes of all files below a folder, itself not asked for a quota.  bounded: ASH_ETOOBIG when
 * they are more than one commit should look at. */
int ash__quota_count(ash_tree *tree, const bson_value_t *folder, bool bounded, const ash_op *op,
                     int64_t *bytes, ash_error *err);

/* The same in many steps, into the document, which says `counting`, while others change things. */
int ash__quota_count_apart(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                           ash_error *err);

/* How many bytes may be added in the last folder of the chain: of the tightest quota, and that; -1:
 * any number.  *tightest: in the chain. */
typedef struct ash_quota_room {
    int64_t bytes; /* -1: there is no quota; never negative else */
    size_t at;     /* whose quota it is: of the chain */
    ash_quota_document quota;
} ash_quota_room;
int ash__quota_room(ash_tree *tree, const ash_tree_chain *chain, const ash_op *op,
                    ash_quota_room *out, ash_error *err);

/* Is there room for so many bytes more in the last folder of the chain?  ASH_ENOSPC as by
 * ash__quota_refuse(). */
int ash__quota_require(ash_tree *tree, const ash_tree_chain *chain, int64_t bytes, const ash_op *op,
                       ash_error *err);

/* A folder that is too large to be counted in the commit that moves it is counted before. */
/* *id: the folder's, yours, as soon as there may be something to end. */
int ash__quota_begin_move(ash_tree *tree, const char *path, const ash_op *op, bson_value_t *id,
                          ash_error *err);
/* After it, wherever it lies now: the count goes, unless it is of a quota. */
int ash__quota_end_move(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                        ash_error *err);

/* Sums that are not those of the files, and such as nobody has finished: each is told. */
typedef void (*ash_quota_tell_fn)(void *ctx, const ash_tree_entry *folder, const char *text);
int ash__quotas_check(ash_tree *tree, const ash_op *op, ash_quota_tell_fn tell, void *ctx,
                      ash_error *err);
/* All of the collection are counted anew, beside others. */
int ash__quotas_recount(ash_tree *tree, const ash_op *op, ash_error *err);
/* Documents of folders that are not there any more, nor in the history, and of moves
 * that nobody ended. */
int ash__quotas_collect(ash_tree *tree, const ash_op *op, ash_error *err);

#endif
