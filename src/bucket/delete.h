/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_DELETE_H
#define ASH_BUCKET_DELETE_H

#include "bucket/condition.h"

/* Files, then chunks, then attributes of all ids of the array; with manner->replayed the chunks of
 * very long files after the commit. */
int ash__delete_ids(const ash_work *work, const bson_t *ids, ash_error *err);
/* The same for one id; *found says whether there was a files document. */
int ash__delete_id(const ash_work *work, const bson_value_t *id, bool *found, ash_error *err);

#endif
