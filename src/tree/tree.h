/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_TREE_H
#define ASH_TREE_TREE_H

/* What the files of this folder share: the tree object, and how its parts ask the store.
 *
 * Fields of a document, in their order; those marked + are Ashlar's own, which v7files keeps as it
 * keeps all that it does not know:
 *
 *   _id          ObjectId; of a root's own document the root's name
 *   _version     int32, from 1
 *   parent       _id of the folder, or the root's name
 *   filename     string
 *   length, sha  int64 and binary 0 of 20 or 32 bytes; of a file that is not inside, or
 *   in           binary 0; of a tiny file.  Without `sha` and `in` it is a folder
 *   contentType  string, where it was said
 *   created_at   date
 *   updated_at   date, from version 2 on
 *   acl          {read, write, open}: arrays of strings
 *   modified_at +  date: the file's, as its user's system had it
 *   props +      document: properties by name
 *   changed_by + string
 *   written_by + string: who wrote the bytes that a file has, where that is not `changed_by`; "": nobody
 *                is known to have
 *   keep +       {all} or {last, within}: how much history it keeps, and all below it
 *   tags +       array of strings: of this version
 *   tagged +     array of {tag, at, by?}: since when each is there, and who set it
 *   restored +   int32: the version whose contents came back as this one
 *
 * In the history _id is {_id, _version}, and `until` + says when the version ended; a deletion is
 * {_id: {_id, _version: n + 1}, _version: "deleted:n+1", deleted_at, changed_by? +}.  `gone_with` +
 * of a version before a deletion says that it was one of many commits that delete a folder, which
 * may have been interrupted and done with another time: {_id: that folder's, parent}. */

#include <stdatomic.h>

#include <ashlar/tree.h>

#include "bson/value.h"
#include "store/ops.h"
#include "tree/content/content.h"

#define ASH_TREE_NAME_MAX  1024
#define ASH_TREE_PROPS_MAX (64 * 1024)

struct ash_tree {
    ash_store *store;
    char *root;
    char *db;
    ash_collection *current; /* the newest versions */
    ash_collection *past;    /* earlier ones, and deletions */
    ash_collection *quotas;  /* account.h */
    ash_contents *contents;
    bool read_only;   /* v7files' last generation, or a store without transactions */
    bool serial;      /* what a transaction reads is still so when it commits */
    size_t whole_max; /* entries of a folder that are deleted or come back in one commit; tests make
                         it small */
    size_t finds_max; /* in one commit, to read what lies in a folder; 0: any number */
    atomic_bool prepared;
};

/* ---- asking the store ---- */

ash_find_options ash__tree_find_options(const ash_op *op);
/* The first match as a copy of its own, or NULL. */
int ash__tree_find_one(ash_collection *c, const bson_t *filter, const bson_t *sort,
                       const ash_op *op, bson_t **out, ash_error *err);

/* ash_tree_prepare(), also when it was done before: somebody may have dropped an index since, and
 * whoever asks all documents would read all of them each time. */
int ash__tree_prepare_anew(ash_tree *tree, const ash_op *op, ash_error *err);

#endif
