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

/* {user: name}, which doc holds, initialised; by it all functions here take a user for a folder, unless they
 * say otherwise. */
bson_value_t ash__quota_user_id(const char *user, bson_t *doc);
/* The name in one; NULL: it is a folder's. */
const char *ash__quota_user(const bson_value_t *id);
/* Names may be too long, or empty: nobody has a quota by those. */
bool ash__quota_may_have(const char *user);
/* Are there any, and some that may be of folders? */
int ash__quota_kinds(ash_tree *tree, const ash_op *op, bool *any, bool *of_folders, ash_error *err);

/* What cannot be is not known. */
void ash__quota_read(const bson_t *doc, ash_quota_document *out);
/* How many bytes more there may be: INT64_MAX where nobody has counted. */
int64_t ash__quota_left(const ash_quota_document *q);
int ash__quota_find(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                    ash_quota_document *out, bool *there, ash_error *err);
/* ASH_ECONFLICT: it is not there. */
int ash__quota_update(ash_tree *tree, const bson_value_t *folder, const bson_t *change, bool upsert,
                      const ash_op *op, ash_error *err);
int ash__quota_remove(ash_tree *tree, const bson_value_t *folder, const ash_op *op, ash_error *err);
/* In a commit: so many bytes more or fewer; counted: whoever counts is told. */
int ash__quota_note(ash_tree *tree, const bson_value_t *folder, int64_t bytes, bool counting,
                    const ash_op *op, ash_error *err);
/* Of no user: the chain down to the folder that has it, if there ever was one, itself included, with its path.
 * *reached: it is there, below this tree's root. */
int ash__quota_folder(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                      ash_tree_chain *chain, bool *reached, ash_error *err);
/* ASH_ENOSPC, with which folder or user it is, what it may have, and has, and what was to come; to who may
 * not know that, only that there is no room. */
int ash__quota_refuse(ash_tree *tree, const bson_value_t *folder, const ash_quota_document *q,
                      int64_t bytes, const ash_op *op, ash_error *err);

/* The bytes of all files below a folder, or of a user, itself not asked for a quota.  bounded: ASH_ETOOBIG
 * when there is more than one commit should look at. */
int ash__quota_count(ash_tree *tree, const bson_value_t *folder, bool bounded, const ash_op *op,
                     int64_t *bytes, ash_error *err);

/* All files of a user, or (NULL) all that there are, with whose they are, or NULL: one scan.  What cannot be
 * read has no bytes. */
typedef int (*ash_quota_written_fn)(void *ctx, const char *user, int64_t bytes, ash_error *err);
int ash__quota_each_written(ash_tree *tree, const char *user, const ash_op *op,
                            ash_quota_written_fn fn, void *ctx, ash_error *err);

/* The same in many steps, into the document, which says `counting`, while others change things. */
int ash__quota_count_apart(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                           ash_error *err);

/* How many bytes a user (or NULL) may add in the last folder of the chain, or to the file that is there
 * instead, whose own become his then: of the tightest quota, and that. */
typedef struct ash_quota_room {
    int64_t bytes; /* -1: there is no quota; never negative else */
    size_t at;     /* whose quota it is: of the chain; its length: the user's own */
    ash_quota_document quota;
} ash_quota_room;
int ash__quota_room(ash_tree *tree, const ash_tree_chain *chain, const char *user, const ash_op *op,
                    ash_quota_room *out, ash_error *err);

/* Is there room for so many bytes more in the last folder of the chain?  ASH_ENOSPC as by
 * ash__quota_refuse(). */
int ash__quota_require(ash_tree *tree, const ash_tree_chain *chain, const char *user, int64_t bytes,
                       const ash_op *op, ash_error *err);

/* Of no user: a folder that is too large to be counted in the commit that moves it is counted before.
 * *id: the folder's, yours, as soon as there may be something to end. */
int ash__quota_begin_move(ash_tree *tree, const char *path, const ash_op *op, bson_value_t *id,
                          ash_error *err);
/* After it, wherever it lies now: the count goes, unless it is of a quota. */
int ash__quota_end_move(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                        ash_error *err);

/* Sums that are not those of the files, and such as nobody has finished: each is told.  folder: NULL where
 * it went, and of a user. */
typedef void (*ash_quota_tell_fn)(void *ctx, const ash_tree_entry *folder, const char *user,
                                  const char *text);
int ash__quotas_check(ash_tree *tree, const ash_op *op, ash_quota_tell_fn tell, void *ctx,
                      ash_error *err);
/* All of the collection's folders are counted anew, beside others. */
int ash__quotas_recount(ash_tree *tree, const ash_op *op, ash_error *err);
/* Documents of folders that are not there any more, nor in the history, and of moves
 * that nobody ended. */
int ash__quotas_collect(ash_tree *tree, const ash_op *op, ash_error *err);

#endif
