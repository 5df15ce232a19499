/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_DOWNLOAD_H
#define ASH_BUCKET_DOWNLOAD_H

#include "base/hash.h"
#include "bucket/chunks.h"

/* Positions are bytes of the file; start <= position <= end <= length.
 *
 * One version from beginning to end: the files document is read and the cursor over the chunks is
 * opened (which makes the store keep that version) at one moment.  Where a store has no such
 * moments, the files document is read again afterwards, and all starts anew when it changed. */
/* A chunk that was met before and lies where it did; doc NULL: not met. */
typedef struct ash_known_chunk {
    const uint8_t *doc;
    uint32_t data_at; /* in doc; all before it is verified */
    uint32_t len;     /* of the data */
} ash_known_chunk;

struct ash_download {
    ash_bucket *bucket;
    ash_file *file;
    int64_t start, end, position;
    int64_t timeout_ms;
    bool pinned;            /* the store keeps the version that is being read */
    ash_cursor *cursor;     /* NULL until bytes are asked for, and after a seek */
    ash_batch batch;        /* of the cursor … */
    size_t batch_at;        /* … and the next document in it */
    size_t batch_first;     /* the first one's number in the cursor's result */
    bool in_parts;          /* bytes of chunks are to be verified here */
    size_t batch_chunks;    /* in parts: chunks to ask for next */
    int64_t first_n;        /* number of the cursor's first chunk */
    int64_t next_n;         /* the chunk that must come next */
    bool sought;            /* its place was reckoned from its number */
    bool lost;              /* in parts: the cursor stands nowhere in particular */
    ash_known_chunk *known; /* in parts, after a seek: by number less first_n */
    bool aside; /* a known chunk is being read: the cursor has to go to the one behind it */
    const ash_doc *chunk; /* the current one, in the batch or … */
    ash_doc known_doc;    /* … here; its bytes … */
    size_t chunk_index;   /* (its number in the cursor's result) */
    size_t right_from;    /* … from here … */
    size_t right_to;      /* … to here are verified */
    const uint8_t *piece; /* bytes of the current chunk that are not given out yet */
    size_t piece_len;
    bool failed;
    ash_digest *digest; /* verify: fed as long as reading is sequential from 0 */
    int64_t digested;
    bool ended; /* the end was reached and checked */
};

/* The cursor over the chunks from `position` on, opened and with its first batch. */
int ash__download_open_chunks(ash_download *d, const ash_work *work, ash_error *err);
void ash__download_close_chunks(ash_download *d);
/* The chunk that holds `position`, checked, as the current piece.  *astray: a seek did not lead to
 * it, since chunks are missing or there twice; it has to be searched for. */
int ash__download_load_chunk(ash_download *d, bool *astray, ash_error *err);
/* The next len bytes of the piece are about to be given out. */
int ash__download_verify_piece(ash_download *d, size_t len, ash_error *err);
/* `position` was set anew, outside the current piece. */
void ash__download_seek_chunk(ash_download *d);
/* In parts: to the first chunk that may hold `position`, by looking at chunks' numbers. */
int ash__download_search_chunk(ash_download *d, ash_error *err);
int ash__download_check_no_more(ash_download *d, ash_error *err);

#endif
