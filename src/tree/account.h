/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_ACCOUNT_H
#define ASH_TREE_ACCOUNT_H

/* Quotas: how many bytes the newest versions of all files below a folder may have together, or all
 * whose bytes are a user's (ash_tree_entry_written_by), wherever they lie.
 *
 * A document for each folder or user that has one, in NAME.quotas, which v7files does not know:
 *
 *   _id       the folder's, or the root's name; or {user: name}
 *   max       int64; missing: it only counts, for somebody who is about to move the folder
 *   used      int64: what they have; missing: nobody has counted yet, and nothing is refused
 *   counting  bool true: somebody counts, or was interrupted while he did
 *   changes   int64: one more with each that begins to count, and each commit below while he does,
 *             so that he notices
 *   set_at, set_by  when, and by whom
 *
 * Every commit that changes what lies below writes `used` as well, whatever it changes; so the sum is
 * that of the tree at each moment, and of two commits that would both fit alone, one sees the other,
 * or conflicts with it.  A folder that was deleted keeps its document, with 0 bytes, and has the
 * quota again when it comes back. */

#include "tree/history.h"

struct ash_tree_commit;

#define ASH_NO_NODE SIZE_MAX

/* A folder that something changed in, or that is above one; or a user, who is above nothing. */
typedef struct ash_account_node {
    bson_value_t id;
    size_t above;  /* ASH_NO_NODE: a root, a user, or nobody knows */
    size_t quota;  /* likewise: it has none */
    bool is_asked; /* for its quota */
    bool is_touched;
    int64_t bytes; /* more by this commit, directly in it */
} ash_account_node;

typedef struct ash_account_quota {
    size_t node;
    int64_t max;  /* < 0: it only counts */
    int64_t used; /* < 0: not known */
    bool counting;
    bool is_touched;
    int64_t bytes; /* more by this commit, below it */
} ash_account_quota;

/* Of one commit, in which it looks up what it needs; all zeros: nothing yet. */
typedef struct ash_tree_account {
    bool is_asked, is_used; /* whether the tree has quotas at all; … */
    bool of_folders;        /* … and then, whether some folder may have one */
    ash_account_node *nodes;
    size_t node_count, node_capacity;
    size_t *slots; /* open addressing by id; node + 1; a power of two, at most half full */
    size_t slot_count;
    ash_account_quota *quotas;
    size_t quota_count, quota_capacity;
} ash_tree_account;

void ash__account_release(ash_tree_account *a);

/* ---- in the commit, while what is named is still in its place ---- */

/* So many bytes more, or fewer, in a folder; of users that says nothing. */
int ash__account_add(struct ash_tree_commit *c, const bson_value_t *folder, int64_t bytes,
                     ash_error *err);
/* Whoever wrote the file has so many more, or fewer. */
int ash__account_user(struct ash_tree_commit *c, const ash_tree_entry *file, int64_t bytes,
                      ash_error *err);
/* The entries come (sign 1), or go (-1).  Each folder is there, or is among them. */
int ash__account_entries(struct ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                         int sign, ash_error *err);
/* Only as far as users are concerned, wherever they lie. */
int ash__account_users(struct ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                       int sign, ash_error *err);
int ash__account_documents(struct ash_tree_commit *c, bson_t *const *docs, size_t count,
                           ash_error *err);
/* A file or folder comes to lie in another one.  Where that crosses the bounds of a quota, all below
 * a folder is counted, if that is not known. */
int ash__account_move(struct ash_tree_commit *c, const ash_tree_entry *moved,
                      const bson_value_t *to, ash_error *err);
/* At the end: what was added up is written.  ASH_ENOSPC (12501): it is more than a folder or user may have;
 * what makes nothing larger always passes. */
int ash__account_settle(struct ash_tree_commit *c, ash_error *err);

#endif
