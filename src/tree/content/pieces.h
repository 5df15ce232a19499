/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_PIECES_H
#define ASH_TREE_CONTENT_PIECES_H

/* Contents that are too long for memory: pieces, cut off as bytes come, each a content of its own,
 * and a list of them.  Equal pieces are kept once; a new one is a delta against what the version
 * before had at that place.  One that is there is compared with the bytes that came: damage would
 * be acknowledged otherwise, and these bytes heal it.
 *
 * Pieces are stored some at a time, each time in a transaction that nobody else's waits for long, and
 * beside whoever cuts the next:
 *
 *   cutter   cutter, fed, position, cut           ash__pieces_cut(), ash__pieces_end()
 *   storer   everything else but `cut`            store(), from hand_over() to the next await()
 *
 * Until the list is there nothing names them but their age: a piece that was there already is
 * marked as counted on, and all are from time to time.
 *
 * The list has two levels where it is very long: behind FLAT_PIECES it lists groups, which list
 * pieces.  A group's name is the digest of its bytes as anybody's. */

#include "bucket/background.h"
#include "tree/codec/cutter.h"
#include "tree/content/named.h"
#include "tree/content/previous.h"
#include "tree/content/use.h"
#include "tree/content/write.h"

enum { ASH_BATCH_PIECES = 512 };

typedef struct ash_piece {
    ash_content_id id;
    ash_span bytes; /* in a block */
    int64_t position;
    bool exists, planned;
    bool compared, damaged; /* what is there is these bytes; … is not, and is replaced */
    ash_plan plan;
} ash_piece;

typedef struct ash_piece_batch {
    ash_piece pieces[ASH_BATCH_PIECES];
    size_t count, bytes;
} ash_piece_batch;

struct ash_pieces {
    ash_cutter cutter;
    size_t fed;       /* bytes of the piece that has not ended: the cutter has seen them */
    int64_t position; /* of that piece in the content */
    ash_form_part *parts;
    size_t count, capacity;
    ash_id_set known; /* the ids in `distinct` */
    int64_t again;    /* bytes of parts that are named before in the list */
    ash_content_id *distinct;
    size_t distinct_count, distinct_capacity;
    ash_form_part *group; /* GROUP_PIECES, or NULL */
    size_t group_count;
    ash_digest *group_digest;
    int64_t renewed_ms;
    bool in_process;        /* the store is */
    ash_previous *previous; /* NULL: there is none */
    ash_fetch fetch;        /* for what is compared */
    ash_documents chunks;   /* of the batch */
    ash_piece_batch batches[2];
    ash_piece_batch *cut, *stored; /* one is filled while the other is stored */
    ash_background *storer;        /* or NULL: it is done by whoever cuts */
    ash_op op;                     /* the storer's */
};

/* pieces.c, for the storer: the pieces of `stored`, and their places in the list. */
int ash__pieces_store(ash_content_writer *w, const ash_op *op, ash_error *err);
/* When all are stored: the last group of the list. */
int ash__pieces_end_list(ash_content_writer *w, const ash_op *op, ash_error *err);

#endif
