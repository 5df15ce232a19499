/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_DIGEST_H
#define ASH_BUCKET_DIGEST_H

#include "bucket/bucket.h"

/* Whoever waits for a sum, and for how long.  All of it may be 0. */
typedef struct ash_sum_watch {
    const volatile int *cancel;                 /* set: ASH_EINTERRUPTED between two chunks */
    void (*progress)(void *ctx, int64_t bytes); /* so many more were read */
    void *ctx;
    int64_t deadline_ms; /* ASH_ETIMEOUT past it */
} ash_sum_watch;

/* ash_bucket_sum() that is watched. */
int ash__bucket_sum(ash_bucket *b, const bson_value_t *id, bool recompute,
                    const ash_sum_watch *watch, char *hex, ash_error *err);

#endif
