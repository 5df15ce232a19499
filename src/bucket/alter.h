/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_ALTER_H
#define ASH_BUCKET_ALTER_H

/* A file being altered: the old one, and the chunks that will be different.
 *
 * Every chunk number below chunk_count(length) is in exactly one place:
 *   changed   in memory, a whole chunk_size of bytes, zeros behind the end of the file;
 *   staged    in the chunks collection under the id `staging`, as long, when memory was full;
 *   old       in the file itself, unchanged, and as long as the new length wants it.
 * Nothing of the file is touched before the commit, which removes the old chunks that change,
 * inserts the changed ones, gives the staged ones the file's id, and updates the files document. */

#include "bucket/attributes.h"
#include "bucket/chunks.h"
#include "bucket/condition.h"

#define ASH_ALTER_HELD_BYTES (4 * 1024 * 1024)

typedef struct ash_changed_chunk {
    int64_t n;
    uint8_t *data; /* chunk_size bytes */
} ash_changed_chunk;

struct ash_alter {
    ash_bucket *bucket;
    ash_file *file; /* as it was when this began */
    ash_fence_copy fence;
    int64_t timeout_ms;
    int64_t length;      /* of the new file */
    int64_t base_length; /* the least that the length has been: old bytes behind it are gone */
    ash_changed_chunk *changed; /* sorted by n */
    size_t changed_count, changed_max;
    int64_t *staged; /* sorted */
    size_t staged_count;
    bson_value_t staging; /* an ObjectId; chunks under it are swept if this process dies */
    bool failed, finished;
};

/* The bytes of chunk n, to be written to; loaded from where it is unless `whole` says that all of
 * it will be overwritten. */
int ash__alter_chunk(ash_alter *a, int64_t n, bool whole, int64_t deadline_ms, uint8_t **data,
                     ash_error *err);
/* Before a commit that had better be small: what is in memory goes into the store, too, the file's
 * last chunk as long as it will be. */
int ash__alter_stage_all(ash_alter *a, int64_t deadline_ms, ash_error *err);
/* Forget all changed and staged chunks from number n on. */
int ash__alter_forget(ash_alter *a, int64_t first, int64_t deadline_ms, ash_error *err);

#endif
