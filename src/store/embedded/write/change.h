/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WRITE_CHANGE_H
#define ASH_STORE_EMBEDDED_WRITE_CHANGE_H

#include "query/update/update.h"
#include "store/embedded/kit/embedded.h"

/* Changes of single documents, inside an apply: each checks what may refuse it (validator, guard,
 * unique indexes), then writes the record and the log entry.  details: initialised by the caller;
 * {keyPattern, keyValue} when a unique index refuses, {errInfo: {failingDocumentId, details}} when
 * the validator does. */

typedef struct ash_changer {
    ash_embedded *store;
    ash_writer *writer;
    const ash_coll *coll;
    const ash_op *op;
    bson_t *details;
} ash_changer;

/* A record that a filter matches, and where in its arrays.  record: valid until the writer changes
 * anything. */
typedef struct ash_match {
    bool found; /* false: there is none, and nothing else is set */
    ash_record record;
    ash_match_details details;
} ash_match;

/* doc: checked, _id first.  staged: see ash__record_insert. */
int ash__change_insert(ash_changer *c, ash_doc doc, ash_staged *staged, uint64_t *rid,
                       ash_error *err);

/* Apply the update to a match.  after: receives the new document.  *modified: bytes changed. */
int ash__change_update(ash_changer *c, const ash_update *u, const ash_match *m, ash_builder *after,
                       bool *modified, ash_error *err);
/* Does the log keep the collection's documents as they were? */
bool ash__change_keeps_images(const ash_coll *c);
int ash__change_delete(ash_changer *c, const ash_record *r, ash_error *err);

#endif
