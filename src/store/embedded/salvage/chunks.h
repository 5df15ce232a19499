/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SALVAGE_CHUNKS_H
#define ASH_STORE_EMBEDDED_SALVAGE_CHUNKS_H

#include "store/embedded/salvage/internal.h"

/* All chunks of a bucket that can be told apart, by file and number. */

typedef struct ash_salvage_chunk {
    uint8_t file[16]; /* hash of files_id; equal numbers of different types have the same */
    int64_t n;
    uint32_t bytes; /* of data */
    bool good;      /* record and document are whole */
    bool unclaimed; /* found in a segment only */
    bool owned;     /* its file is known */
    const ash_salvage_record *record;
} ash_salvage_chunk;

typedef struct ash_salvage_chunks {
    ash_salvage_chunk *items; /* by file and n; what the metadata points at first, then the newer */
    size_t count, capacity;
    bool has_unclaimed;
    const ash_salvage_record **unplaced; /* damaged, and do not say which chunk they are */
    size_t unplaced_count, unplaced_capacity;
} ash_salvage_chunks;

void ash__salvage_file_hash(ash_value id, uint8_t out[16]);
/* Read all of them. */
int ash__salvage_chunks_load(ash_salvaging *w, const ash_salvage_coll *chunks,
                             ash_salvage_chunks *out, ash_error *err);
/* Add what only a scan of the segments finds. */
int ash__salvage_chunks_add_unclaimed(ash_salvaging *w, const ash_salvage_coll *chunks,
                                      ash_salvage_chunks *list, ash_error *err);
/* Tell of the damaged ones that belong to no file that is known. */
void ash__salvage_chunks_tell(ash_salvaging *w, const ash_salvage_coll *chunks,
                              const ash_salvage_chunks *list);
/* A damaged one was told of with its file. */
void ash__salvage_chunks_placed(ash_salvage_chunks *list, const ash_salvage_record *r);
void ash__salvage_chunks_release(ash_salvage_chunks *list);

/* The first chunk of the file with a number of at least n, or NULL. */
ash_salvage_chunk *ash__salvage_chunks_from(const ash_salvage_chunks *list, const uint8_t file[16],
                                            int64_t n);
/* The chunk to use as that one of the file, or NULL; *bad: the one that should have been, or NULL.
 */
const ash_salvage_chunk *ash__salvage_chunks_pick(const ash_salvage_chunks *list,
                                                  const uint8_t file[16], int64_t n, uint32_t bytes,
                                                  const ash_salvage_chunk **bad);

#endif
