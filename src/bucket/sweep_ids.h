/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_SWEEP_IDS_H
#define ASH_BUCKET_SWEEP_IDS_H

#include "bucket/bucket.h"

/* Every distinct files_id in the chunks, by steps through their index: one look for each id,
 * however many chunks it has.  Ids that cannot be an _id (arrays, regular expressions) are not
 * visited.  Damaged chunks are passed over, and with them an id that has no others; *damage is the
 * first failure of that kind, if its code was 0. */
typedef int (*ash_sweep_visit)(void *ctx, const bson_value_t *id, ash_error *err);
int ash__sweep_each_id(const ash_work *work, ash_sweep_visit visit, void *ctx, ash_error *damage,
                       ash_error *err);

#endif
