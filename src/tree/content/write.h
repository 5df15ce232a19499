/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_WRITE_H
#define ASH_TREE_CONTENT_WRITE_H

/* A content on its way in.
 *
 *   add      gathers bytes up to piece_bytes; beyond, blocks.c has pieces.c cut and store them beside
 *            (trees of SHA-1: an upload of the bucket takes everything, as v7files knows no better)
 *   seal     the digest is known; is it there already?  else choose.c finds a form
 *   store    in the caller's transaction: the document, and chunks where they are few */

#include "bucket/hasher.h"
#include "tree/codec/sketch.h"
#include "tree/codec/zstd.h"
#include "tree/content/source.h"

/* Kept within the file's own document up to here: by the seed what is smaller than its SHA-1; what
 * has a content of its own costs some 450 bytes more. */
#define ASH_IN_FILE_SHA1_BYTES   19
#define ASH_IN_FILE_SHA256_BYTES 200
/* Kept within the content's document up to here: with it, still a small record of the engine. */
#define ASH_IN_DOC_BYTES 7168
/* Chunks of so much go with the transaction; more are stored before it. */
#define ASH_IN_COMMIT_BYTES (2 * 1024 * 1024)
#define ASH_CHAIN_MAX       16
/* Pieces stand on several each: what has to be decoded for one grows with the square. */
#define ASH_PIECE_CHAIN_MAX 3

typedef struct ash_pieces ash_pieces;
typedef struct ash_blocks ash_blocks;

/* What a content will be stored as.  What it holds is released with it. */
typedef struct ash_plan {
    const char *store;   /* the field; NULL: raw */
    const uint8_t *data; /* what is kept, `len` bytes: of the writer's bytes or of `packed` */
    size_t len;
    uint8_t *packed;
    ash_form_part *parts; /* delta: the prefix */
    size_t part_count;
    int32_t depth;
    bool is_random; /* no tenth can be saved by compressing it alone (pieces) */
    bool is_piece;  /* of a larger content: has no name, and is looked for by no likeness */
    bool sketched;
    ash_sketch sketch;
} ash_plan;
void ash__plan_release(ash_plan *p);

struct ash_content_writer {
    ash_contents *c;
    ash_content_id before;
    char *filename; /* never NULL */
    char *content_type;
    uint8_t *bytes; /* that came and were not handed on yet; with `blocks` in one of those */
    size_t len, capacity;
    size_t most;    /* len before they are handed on */
    size_t hashed;  /* of len: the hasher has them */
    int64_t length; /* of all that came */
    ash_hasher *hasher;
    ash_upload *upload; /* of the whole, or of what is kept of it; or NULL */
    ash_blocks *blocks; /* or NULL */
    /* With blocks these are their helpers', but for what comes after their end. */
    ash_pieces *pieces; /* or NULL */
    ash_zstd *zstd;
    unsigned random_in_a_row; /* pieces that no tenth could be saved of */
    bool ended, sealed;
    int failed;          /* what a call failed with that may have lost bytes: nothing follows it */
    ash_digests digests; /* once it has ended */
    ash_content_id id;
    bool in_file;           /* the file's document has the bytes */
    bool exists;            /* it is there already, … */
    int64_t exists_date_ms; /* … from then */
    bool damaged;           /* what is there is not what its digest says: the commit replaces it */
    bool has_heirs;         /* it is not there, and is named all the same */
    int64_t upload_date_ms;
    ash_plan plan;
};

/* choose.c: how the writer's bytes are kept, which are here as a whole. */
int ash__choose_form(ash_content_writer *w, const ash_op *op, ash_error *err);
/* base.c: the content to build on, and how deep its own chain is; base->len 0: none. */
int ash__choose_base(ash_content_writer *w, const ash_op *op, ash_content_id *base, int32_t *depth,
                     ash_error *err);
/* A frame of data as the plan's: at most `room` bytes, else the plan stays as it is. */
int ash__plan_frame(ash_content_writer *w, ash_plan *plan, ash_span prefix, ash_span data,
                    size_t room, ash_error *err);
/* No tenth can be saved, as far as a few samples tell. */
bool ash__looks_random(ash_content_writer *w, ash_span data);

/* ---- document.c ---- */

/* The document of a content that is kept as the plan says, without owners. */
void ash__content_document(const ash_content_writer *w, const ash_plan *plan,
                           const ash_content_id *id, int64_t length, bson_t *out);
/* That of one that is a list of others. */
void ash__list_document(const ash_content_writer *w, const ash_form_part *parts, size_t count,
                        const ash_content_id *id, bool is_piece, bson_t *out);

/* Documents to be inserted as one request.  All zero: none. */
typedef struct ash_documents {
    bson_t **docs;
    size_t count, capacity;
    size_t made; /* at least count: those behind are memory for chunks to come */
} ash_documents;
void ash__documents_add(ash_documents *d, bson_t *doc); /* taken over */
void ash__documents_add_chunks(ash_documents *d, const ash_contents *c, const ash_content_id *id,
                               const ash_plan *plan);
int ash__documents_insert(const ash_documents *d, ash_collection *c, const ash_op *op,
                          ash_error *err);
void ash__documents_release(ash_documents *d);
/* Of chunks alone: there are none, and the next ones take their memory, which is touched already. */
void ash__documents_clear(ash_documents *d);

/* ---- blocks.c ---- */

/* The writer's memory is full: it is cut into pieces, beside the caller where there can be a thread,
 * and the writer gets other memory.  An error may be that of what was handed on before. */
int ash__blocks_hand_on(ash_content_writer *w, const ash_op *op, ash_error *err);
/* Waits, and stores what the writer has still. */
int ash__blocks_end(ash_content_writer *w, const ash_op *op, ash_error *err);
void ash__blocks_free(ash_blocks *b); /* waits; NULL is fine */

/* ---- pieces.c ---- */

int ash__pieces_new(ash_content_writer *w, const ash_op *op, ash_error *err);
size_t ash__pieces_longest(const ash_pieces *p);
/* Cuts the pieces that end in data; the *left bytes at its end belong to the next, and are to be the
 * beginning of what is given then.  They are stored beside the caller where there can be a thread: data
 * has to stay as it is until the next call of these three returns, or of ash__pieces_wait().  An error
 * may be that of pieces of calls before.  On any thread, one at a time. */
int ash__pieces_cut(ash_content_writer *w, ash_span data, size_t *left, const ash_op *op,
                    ash_error *err);
/* Until nobody reads what was given, whether it could be stored or not. */
void ash__pieces_wait(ash_pieces *p);
/* All that is left. */
int ash__pieces_end(ash_content_writer *w, ash_span data, const ash_op *op, ash_error *err);
/* The document of the whole, which lists them. */
void ash__pieces_document(const ash_content_writer *w, bson_t *out);
/* What is there under the whole's id: w->damaged, if it is not what came.  A list of the very pieces
 * that came is not read: each of them was compared on its way.  ASH_ECORRUPT: it is damaged, and what
 * came stands on it. */
int ash__pieces_compare(ash_content_writer *w, const bson_t *doc, const ash_op *op, ash_error *err);
/* All are there still. */
int ash__pieces_rely_on(const ash_content_writer *w, const ash_op *op, ash_error *err);
void ash__pieces_free(ash_pieces *p); /* NULL is fine */

#endif
