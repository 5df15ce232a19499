/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_COPY_DOCUMENTS_H
#define ASH_CMD_COPY_DOCUMENTS_H

#include "cmd/copy/owned.h"

/* Collections from one store to another, document by document, byte for byte.
 *
 * For each collection: its options and indexes first (options.c), so that the target never
 * holds what its own indexes refuse, then its documents in the order that the source gives them
 * (documents.c).  What is there already is compared, so that a copy can be repeated. */

typedef struct ash_copy_collections {
    const ash_cmd *cmd;
    ash_store *to;     /* NULL: a dry run whose target is yet to be made */
    const char *to_db; /* NULL: that of the source */
    bool replace;      /* a document of the same _id that differs */
    bool verify;       /* read both sides again when a collection has been copied */
    /* Only collections of these names, each of which sets its flag in `found`; NULL: all. */
    const char *const *names;
    bool *found;
    int name_count;
    const ash_copy_owned *owned; /* by object stores, which go by themselves; or NULL */
    ash_progress *progress;
    int64_t total_bytes, total_documents; /* what there is to do */
    int64_t collections, copied, replaced, present, failed;
} ash_copy_collections;

/* Adds what there is to do to the totals, and checks that no name is of a part of a bucket. */
int ash__copy_collections_count(ash_copy_collections *c, const ash_cmd *from, ash_store *store,
                                ash_error *err);
/* Trouble with a document, an index or a collection is reported and counted in `failed`; what ends
 * everything is returned. */
int ash__copy_collections(ash_copy_collections *c, const ash_cmd *from, ash_store *store,
                          ash_error *err);

/* What buckets.c says of a failure: does it end everything, as trouble with a store does? */
bool ash__copy_ends_all(int rc);

/* ---- one collection ---- */

typedef struct ash_copy_table {
    ash_copy_collections *all;
    char *shown;          /* "db.name" */
    ash_collection *from; /* open */
    ash_collection *to;   /* open; NULL in a dry run whose target is yet to be made */
    bool made;            /* the target had no such collection */
    bool has_collation;   /* of its own: an index without one is of byte order */
    bool may_be_there;    /* the target may have some of the documents */
    bool bypass;          /* a validator that was made later may refuse what is there */
    int64_t indexes;      /* made */
    int64_t read, copied, replaced, present, failed, verified;
    int64_t told; /* failures that were reported each */
} ash_copy_table;

/* Report a failure and count it.  what: NULL, or names the item within the collection. */
void ash__copy_table_fail(ash_copy_table *t, const char *what, const ash_error *err);

/* Make the collection as described unless it is there; made, has_collation and may_be_there are
 * filled in.  ASH_EEXISTS: the target's has other options. */
int ash__copy_options(ash_copy_table *t, ash_doc description, ash_error *err);
int ash__copy_indexes(ash_copy_table *t, ash_error *err);
int ash__copy_documents(ash_copy_table *t, ash_error *err);
/* Does the target have each document that the source has? */
int ash__copy_verify(ash_copy_table *t, ash_error *err);

#endif
