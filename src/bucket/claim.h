/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_CLAIM_H
#define ASH_BUCKET_CLAIM_H

#include "bucket/bucket.h"

/* Where a store has no transactions, conditional puts of one name take turns: each holds a document
 * {_id: {name: NAME}, version: ObjectId} in the attributes from before its look at the condition
 * until after its files document.  One that stays for 30 s is taken to be of a process that died.
 */
int ash__claim_take(const ash_work *work, const char *filename, bson_oid_t *claim, ash_error *err);
void ash__claim_release(const ash_work *work, const char *filename, const bson_oid_t *claim);

/* {_id: {name: filename}} */
void ash__claim_filter(bson_t *filter, const char *filename);

/* Whose the claim is that the filter finds; {0}: nobody's. */
int ash__claim_holder(const ash_work *work, const bson_t *filter, bson_oid_t *holder,
                      ash_error *err);

#endif
