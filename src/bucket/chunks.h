/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_CHUNKS_H
#define ASH_BUCKET_CHUNKS_H

/* Chunk documents: {_id: ObjectId, files_id, n: int32, data: binary 0}. */

#include "bucket/file.h"
#include "bucket/background.h"

/* ---- writing ----
 *
 * A writer holds up to 4 MiB of chunks, each document built in place in one block of memory, so
 * that a byte is copied once between the caller and the store.  Where the store is in this process
 * and no time limit is set, a full block goes to it on a thread of its own while a second one is
 * filled, so that writing goes on beside the digest.  What goes wrong there is told by the next
 * call that hands something over, or settles. */

#define ASH_CHUNKS_HELD_MAX 256

typedef struct ash_chunk_writer {
    ash_bucket *bucket;
    const bson_value_t *files_id; /* the caller's, as long as the writer */
    int32_t chunk_size;
    uint8_t *head; /* a document up to its data, to be copied and patched */
    size_t head_bytes;
    size_t slot_bytes; /* a full chunk's document */
    uint32_t slots;
    uint8_t *block; /* the slots; NULL until the first byte comes */
    uint32_t held;  /* complete chunks in the first slots */
    int32_t fill;   /* bytes in the slot after them */
    int64_t stored; /* chunks that the store acknowledged: numbers 0 .. stored - 1; those under way
                       are not among them */
    uint8_t *other; /* the second block, or NULL */
    bool under_way; /* it is being stored in the background, which uses what follows */
    bool large;     /* blocks are the bucket's kind, and may be stored beside the upload */
    bool alone;     /* nothing is to be stored beside it */
    ash_background *background;
    int64_t deadline_ms;
    uint32_t inserted;
} ash_chunk_writer;

/* The first chunk gets the number 0; files_id stays as long as the writer.  ASH_ETOOBIG when
 * a chunk document would not fit 16 MiB.
 */
int ash__chunk_writer_init(ash_chunk_writer *w, ash_bucket *b, const bson_value_t *files_id,
                           int32_t chunk_size, ash_error *err);
/* Where the next bytes belong and how many fit there (at least one), and: that many were put there.
 */
int ash__chunk_writer_space(ash_chunk_writer *w, uint8_t **at, size_t *room, int64_t deadline_ms,
                            ash_error *err);
void ash__chunk_writer_took(ash_chunk_writer *w, size_t len);
/* Of the bytes put in place so far, the newest that stay there when new ones are put. */
size_t ash__chunk_writer_kept(const ash_chunk_writer *w);
/* Wait for the block that is being stored; `stored` says how far it came. */
int ash__chunk_writer_settle(ash_chunk_writer *w, int64_t deadline_ms, ash_error *err);
/* Hand the complete chunks to the store, and wait; last: the rest, too.  After a failure `stored`
 * says how far it came. */
int ash__chunk_writer_flush(ash_chunk_writer *w, bool last, int64_t deadline_ms, ash_error *err);
/* All of it within a transaction, under that id, which may be run again: the writer takes note of
 * it only by ash__chunk_writer_stored, after the commit.  Meant for small files: few chunks,
 * nothing stored. */
bool ash__chunk_writer_is_small(const ash_chunk_writer *w);
const uint8_t *ash__chunk_writer_rest(const ash_chunk_writer *w); /* the `fill` bytes */
int64_t ash__chunk_writer_waiting(const ash_chunk_writer *w); /* chunks, the last one included */
int ash__chunk_writer_insert_as(ash_chunk_writer *w, const ash_work *work, const bson_value_t *id,
                                ash_error *err);
void ash__chunk_writer_stored(ash_chunk_writer *w);
/* After ASH_EEXISTS, and outside of transactions: the store's own words would be about an index of
 * the chunks; *err tells of the file that has the id. */
void ash__chunk_writer_say_taken(const ash_chunk_writer *w, const bson_value_t *id,
                                 int64_t deadline_ms, ash_error *err);
void ash__chunk_writer_release(ash_chunk_writer *w); /* zero-initialised is fine */

/* Insert one chunk, in a transaction or outside. */
int ash__chunk_insert(const ash_work *work, const bson_value_t *files_id, int64_t n,
                      const void *data, size_t len, ash_error *err);

/* ---- reading ---- */

/* The number and the bytes of a chunk document of `file`: ASH_ECORRUPT when it lacks them. */
int ash__chunk_parse(const ash_file *file, ash_doc doc, int64_t *n, const uint8_t **data,
                     size_t *len, ash_error *err);
/* The same when only the first `have` bytes may be looked at: false when they do not tell, as where
 * the data is not the last field. */
bool ash__chunk_parse_head(ash_doc doc, size_t have, int64_t *n, const uint8_t **data, size_t *len);
/* Is it chunk `expected` and as long as the files document says? */
int ash__chunk_check(const ash_file *file, int64_t expected, int64_t n, size_t len, ash_error *err);
int ash__chunk_missing(const ash_file *file, int64_t n, ash_error *err); /* ASH_ECHUNKMISSING */
int ash__chunk_extra(const ash_file *file, int64_t n, ash_error *err);   /* ASH_ECHUNKEXTRA */

/* ---- removing ---- */

/* All chunks of an id with first <= n < end (end < 0: without an upper bound; both < 0: all). */
int ash__chunks_remove(const ash_work *work, const bson_value_t *files_id, int64_t first,
                       int64_t end, int64_t *removed, ash_error *err);

#endif
