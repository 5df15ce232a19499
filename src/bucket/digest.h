/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_DIGEST_H
#define ASH_BUCKET_DIGEST_H

#include "bucket/bucket.h"

/* ash_bucket_sum() that ends between two chunks with ASH_EINTERRUPTED when *cancel is set, and with
 * ASH_ETIMEOUT past the deadline (0: none); cancel may be NULL. */
int ash__bucket_sum(ash_bucket *b, const bson_value_t *id, bool recompute,
                    const volatile int *cancel, int64_t deadline_ms, char *hex, ash_error *err);

#endif
