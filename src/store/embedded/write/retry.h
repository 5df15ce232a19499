/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WRITE_RETRY_H
#define ASH_STORE_EMBEDDED_WRITE_RETRY_H

#include "bson/builder.h"
#include "store/embedded/kit/embedded.h"

/* Results of retryable writes, kept with the change they tell of.
 *
 * State "rt" session[16] statement(4, big-endian) holds {t: transaction number, w: wall time,
 * r: result}.  Statement 0 also says which transaction number of the session is the newest, so its
 * entry may lack r.  Entries older than 30 minutes are swept.
 *
 * An insert stores its result with each of its turns.  Its errors, which may be many, are apart:
 * state "rt" session[16] statement(4) part(4) holds {t, w, e: errors of one turn}, so that each is
 * written once.
 *
 * Inside an apply: begin before the first change, store in the end. */

/* *repeated: this write was done before; *stored is its result, a view until the writer changes
 * anything.  ASH_EINVAL (225) when the session has moved on to a higher number.  Without a retry id
 * nothing happens. */
int ash__retry_begin(ash_writer *w, const ash_op *op, bool *repeated, ash_doc *stored,
                     ash_error *err);
int ash__retry_store(ash_writer *w, const ash_op *op, ash_doc result, ash_error *err);

/* Results as documents: the fields of ash_write_result; more may be appended by the caller. */
void ash__retry_encode(ash_builder *b, const ash_write_result *r); /* into an open document */
void ash__retry_encode_counts(ash_builder *b, const ash_write_result *r); /* without the errors */
void ash__retry_decode(ash_doc stored, ash_write_result *r); /* replaces r, retried = true */

/* How much of a list of errors is stored in parts; {0} is none. */
typedef struct ash_retry_parts {
    uint32_t count;
    uint32_t bytes; /* of the list, with the end that every document has; 0: nothing of it */
} ash_retry_parts;

/* Store the errors that came since the last time. */
int ash__retry_put_errors(ash_writer *w, const ash_op *op, const ash_write_result *r,
                          ash_retry_parts *parts, ash_error *err);
/* Append the errors of count parts to those of r. */
int ash__retry_get_errors(ash_writer *w, const ash_op *op, uint32_t count, ash_write_result *r,
                          ash_retry_parts *parts, ash_error *err);

/* Delete what was stored before that wall time, a bounded number of entries a turn of the writer.
 */
#define ASH_RETRY_KEEP_MS ((int64_t)30 * 60 * 1000)
int ash__retry_sweep(ash_embedded *s, int64_t before_ms, ash_error *err);

#endif
