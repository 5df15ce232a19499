/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_DOWNLOAD_H
#define ASH_BUCKET_DOWNLOAD_H

#include "base/hash.h"
#include "bucket/chunks.h"

/* Positions are bytes of the file; start <= position <= end <= length.
 *
 * One version from beginning to end: the files document is read, then the cursor over the chunks is
 * opened and its first batch taken (which makes the store keep that version), then the files
 * document is read again.  When it changed in between, all starts anew. */
struct ash_download {
    ash_bucket *bucket;
    ash_file *file;
    int64_t start, end, position;
    int64_t timeout_ms;
    bool pinned;          /* the store keeps the version that is being read */
    bool embedded;        /* the store is in this process */
    ash_cursor *cursor;   /* NULL until bytes are asked for, and after a seek */
    ash_batch batch;      /* of the cursor … */
    size_t batch_at;      /* … and the next document in it */
    int64_t next_n;       /* the chunk that must come next */
    const uint8_t *piece; /* bytes of the current chunk that are not given out yet */
    size_t piece_len;
    bool failed;
    ash_digest *digest; /* verify: fed as long as reading is sequential from 0 */
    int64_t digested;
    bool ended; /* the end was reached and checked */
};

/* The cursor over the chunks from `position` on, opened and with its first batch. */
int ash__download_open_chunks(ash_download *d, int64_t deadline_ms, ash_error *err);
int ash__download_check_options(const ash_download_options *o, ash_error *err);

#endif
