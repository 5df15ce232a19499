/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_DELETE_H
#define ASH_BUCKET_DELETE_H

#include "bucket/condition.h"

/* Files, then chunks, then attributes of all ids of the array; with manner->replayed the chunks of
 * very long files after the commit. */
int ash__delete_ids(ash_bucket *b, ash_transaction *t, const ash_commit_manner *manner,
                    const bson_t *ids, int64_t deadline_ms, ash_error *err);
/* The same for one id; *found says whether there was a files document. */
int ash__delete_id(ash_bucket *b, ash_transaction *t, const ash_commit_manner *manner,
                   const bson_value_t *id, int64_t deadline_ms, bool *found, ash_error *err);

#endif
