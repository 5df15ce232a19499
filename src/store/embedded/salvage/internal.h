/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SALVAGE_INTERNAL_H
#define ASH_STORE_EMBEDDED_SALVAGE_INTERNAL_H

#include "bson/builder.h"
#include "engine/salvage/salvage.h"
#include "store/embedded/salvage/salvage.h"

typedef struct ash_salvaging {
    ash_salvage *from;
    ash_store *to; /* NULL: nothing is copied */
    const ash_salvage_options *opts;
    ash_salvage_report *report;
    ash_buffer buf; /* of the document at hand */
    int64_t done;   /* records read */
} ash_salvaging;

/* A finding: begin, add facts, then tell, which releases it.  text is printf's. */
void ash__finding_begin(ash_builder *facts, const char *kind, const char *db, const char *coll);
void ash__finding_place(ash_builder *facts, const ash_salvage_record *r);
/* What is to be said of a stray record. */
const char *ash__finding_doubt(const ash_salvage_record *r);
void ash__finding_tell(ash_salvaging *w, ash_builder *facts, bool lost, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The collection in the new store, made with its options and indexes; *out NULL when nothing is
 * copied. */
int ash__salvaging_make(ash_salvaging *w, const ash_salvage_coll *c, ash_collection **out,
                        ash_error *err);
/* *refused: the new store does not take it, which is told; other failures end the work. */
int ash__salvaging_insert(ash_salvaging *w, ash_collection *to, const ash_salvage_coll *c,
                          ash_doc doc, bool *refused, ash_error *err);
/* Now and then: progress.  ASH_EINTERRUPTED. */
int ash__salvaging_step(ash_salvaging *w, ash_error *err);

/* salvage_names.c: names for the collections that have none. */
void ash__salvaging_name(ash_salvaging *w);

/* salvage_bucket.c */
int ash__salvaging_bucket(ash_salvaging *w, const ash_salvage_coll *files,
                          const ash_salvage_coll *chunks, ash_error *err);

#endif
