/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CHANGE_H
#define ASH_TREE_CHANGE_H

/* Changes: one commit each.
 *
 * Whoever changes something looks at it in the commit, writes the version of before into the
 * history, the new one in its place, and says of contents who uses them.  On stores whose
 * transactions only conflict by what they write, he also claims the folders that he counts on
 * (ash__commit_claim), so that one who deletes a folder and one who puts something into it do not
 * both win; and one claim of all trees stands for the shape of the tree when folders move. */

#include "tree/account.h"

/* What runs in a change's transaction, as often as it takes. */
typedef struct ash_tree_commit {
    ash_tree *tree;
    ash_op op;      /* with the transaction */
    int64_t now_ms; /* of the store's clock; the same in each run */
    const ash_tree_change_options *opts;
    const char *changed_by;        /* who is known to change it, or NULL */
    const char *author;            /* whose bytes those are that it writes; likewise */
    const bson_value_t *gone_with; /* NULL, or the folder that this deletes a part of */
    bool whole;                    /* in a caller's transaction: all at once */
    bool too_many;            /* result of a failure: what a folder has was too much to count */
    ash_tree_account account; /* of this run */
} ash_tree_commit;

typedef int (*ash_tree_commit_fn)(ash_tree_commit *c, void *ctx, ash_error *err);

/* fn in a transaction of its own, or in op's.  opts: complete.  ASH_EUNSUPPORTED: the tree is read
 * only.  ASH_ESTATE: in a caller's transaction, before ash_tree_prepare().  What fn leaves half-way
 * in a caller's transaction breaks it. */
int ash__tree_change(ash_tree *tree, const ash_tree_change_options *opts, const ash_op *op,
                     ash_tree_commit_fn fn, void *ctx, ash_error *err);
/* Whose bytes those are that a user writes, who may be NULL; NULL: nobody's. */
const char *ash__tree_author(const ash_tree_change_options *opts, const char *user);
/* The name of op's principal, yours, or NULL. */
char *ash__tree_user(const ash_op *op);
int ash__tree_change_options(ash_tree_change_options *ours, const ash_tree_change_options *theirs,
                             ash_error *err);

/* ---- in the commit ---- */

/* The folder in which the path's last name lies, made with those above it where that is wanted.
 * The path is not the root's.  chain: from the root to the folder; rights were asked. */
int ash__commit_folder(ash_tree_commit *c, const ash_tree_path *path, ash_tree_chain *chain,
                       ash_error *err);
/* The chain to an entry that has to be there. */
int ash__commit_entry(ash_tree_commit *c, const ash_tree_path *path, ash_tree_chain *chain,
                      ash_error *err);
/* Does the entry meet the conditions of the options?  NULL: it is new. */
int ash__commit_conditions(ash_tree_commit *c, const ash_tree_entry *e, ash_error *err);
/* The fence of the options, or ASH_ELOST; conditions ask for it, too. */
int ash__commit_fence(ash_tree_commit *c, ash_error *err);
/* No other transaction that claims the same is committed beside this one. */
int ash__commit_claim(ash_tree_commit *c, const bson_value_t *id, ash_error *err);
int ash__commit_claim_shape(ash_tree_commit *c, ash_error *err);

/* The entry's new version: its document with `set` merged in at the fields' places, new ones behind
 * the others (BSON's null in `set` removes a field), and version, time and who changed it.  The old
 * one goes to the history.  Contents are the caller's matter.  *out: the new entry, with the path
 * of the old one. */
int ash__commit_revise(ash_tree_commit *c, const ash_tree_entry *old, const bson_t *set,
                       ash_tree_entry **out, ash_error *err);
/* A root's own document, where it has none yet. */
int ash__commit_insert(ash_tree_commit *c, const bson_t *doc, const char *folder_path,
                       ash_tree_entry **out, ash_error *err);
/* Many at once, in few operations: a server runs each of them again with every later one. */
#define ASH_TREE_BATCH 1000
int ash__commit_insert_all(ash_tree_commit *c, bson_t *const *docs, size_t count, ash_error *err);
int ash__commit_hold(ash_tree_commit *c, const ash_content_use *uses, size_t count, ash_error *err);
/* Out of the history, but for those that are tagged.  *gone: how many went; or NULL. */
int ash__commit_forget_versions(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                                int64_t *gone, ash_error *err);
/* Into the history, several at once: the versions as they are, and their deletions. */
int ash__commit_bury(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                     ash_error *err);

/* _id, _version, parent, filename of a new entry; doc: initialised. */
void ash__document_begin(bson_t *doc, const bson_oid_t *id, const bson_value_t *parent,
                         const char *name, int32_t version);
/* created_at, and what the options say besides. */
int ash__document_end(ash_tree_commit *c, bson_t *doc, ash_error *err);
/* Who changed it, and, of a file, who wrote it, where that is another one. */
void ash__document_changed_by(const ash_tree_commit *c, bson_t *doc);
/* Only of a deletion: it has no bytes. */
void ash__document_deleted_by(const ash_tree_commit *c, bson_t *doc);
/* Fields that each version has of its own: the next one does not inherit them. */
bool ash__field_is_of_version(const char *field);
/* contentType, modified_at, props of the options, as ash__commit_revise takes them; old may be
 * NULL. */
int ash__document_set(const ash_tree_change_options *opts, const ash_tree_entry *old, bson_t *set,
                      ash_error *err);

#endif
