/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_CONDITION_H
#define ASH_BUCKET_CONDITION_H

/* What must hold when a change of a file commits. */

#include "bucket/bucket.h"

/* A fence with its own copy of what the caller lent. */
typedef struct ash_fence_copy {
    bool given;
    ash_collection *locks;
    bson_value_t lock_id;
    int64_t writes;
    int64_t token;
} ash_fence_copy;
int ash__fence_copy(ash_bucket *b, const ash_fence *fence, ash_fence_copy *out, ash_error *err);
void ash__fence_release(ash_fence_copy *f); /* zero-initialised is fine */
/* Append what finds the lock document exactly as it was granted: a takeover by a writer counts
 * `writes` up, one by a reader clears write_lock. */
void ash__fence_filter(const ash_fence_copy *f, bson_t *filter);

/* ash_change_options as operations want them. */
typedef struct ash_change {
    ash_work work; /* in the caller's transaction, or in none */
    ash_fence_copy fence;
    const bson_t *only_if; /* lent; or NULL */
    bool if_name_absent;
} ash_change;
int ash__change_init(ash_bucket *b, const ash_change_options *opts, ash_change *out,
                     ash_error *err);
void ash__change_release(ash_change *c); /* also after a failed init */
/* ASH_EINVAL when the options ask for what only a change of one file by its id has … */
int ash__change_refuse_filter(const ash_change *c, ash_error *err);
/* … or for a transaction or a condition where there is none: ASH_EINVAL, ASH_ESTATE. */
int ash__change_refuse_all(const ash_change *c, ash_error *err);
/* {_id: id}, and only_if with it. */
void ash__change_filter(const ash_change *c, const bson_value_t *id, bson_t *filter);
/* Nothing matched that: 0 when there is no such file, ASH_ECONDITION when there is. */
int ash__change_check_unmatched(const ash_work *work, const ash_change *c, const bson_value_t *id,
                                ash_error *err);

/* The lock is still held as it was granted, and the file with that id was not changed with a later
 * token: else ASH_ELOST.  Where other processes write too, the lock document is touched in the
 * transaction, so that a takeover conflicts with it. */
int ash__fence_check(const ash_work *work, const ash_fence_copy *f, const bson_value_t *file_id,
                     ash_error *err);

/* In a transaction that is not serial: two that claim the same file id conflict, though one of them
 * only looks at the file. */
int ash__id_claim(const ash_work *work, const bson_value_t *id, ash_error *err);

/* The put condition on a name; else ASH_ECONDITION. */
int ash__condition_check(const ash_work *work, ash_put_condition condition,
                         const bson_value_t *newest, const char *filename, ash_error *err);

#endif
