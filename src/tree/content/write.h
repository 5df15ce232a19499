/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_WRITE_H
#define ASH_TREE_CONTENT_WRITE_H

/* A content on its way in.
 *
 *   add      gathers bytes up to piece_bytes; beyond, pieces.c stores what has been cut off (trees
 *            of SHA-1: an upload of the bucket takes everything, as v7files knows no better)
 *   seal     the digest is known; is it there already?  else choose.c finds a form
 *   store    in the caller's transaction: the document, and chunks where they are few */

#include "bucket/hasher.h"
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
#define ASH_CHAIN_MAX       8

typedef struct ash_pieces ash_pieces;

/* What a content will be stored as. */
typedef struct ash_plan {
    const char *store;   /* the field; NULL: raw */
    const uint8_t *data; /* what is kept, `len` bytes: of the writer's bytes or of `packed` */
    size_t len;
    uint8_t *packed;       /* ash__free() */
    ash_content_id *bases; /* that it stands on, each once */
    size_t base_count;
    ash_content_id base; /* delta: all `base_len` bytes of this; len 0: none */
    int64_t base_len;
    int32_t depth;
    uint64_t features[4];
    int feature_count;
} ash_plan;
void ash__plan_release(ash_plan *p);

struct ash_content_writer {
    ash_contents *c;
    ash_content_id before;
    char *filename; /* never NULL */
    char *content_type;
    uint8_t *bytes; /* that came and were not stored yet */
    size_t len, capacity;
    int64_t length; /* of all that came */
    ash_hasher *hasher;
    ash_upload *upload; /* of the whole, or of what is kept of it; or NULL */
    ash_pieces *pieces; /* or NULL */
    ash_zstd *zstd;
    bool ended, sealed;
    ash_digests digests; /* once it has ended */
    ash_content_id id;
    bool in_file;           /* the file's document has the bytes */
    bool exists;            /* it is there already, … */
    int64_t exists_date_ms; /* … from then */
    int64_t upload_date_ms;
    ash_plan plan;
};

/* choose.c: how bytes that are here as a whole are kept. */
int ash__choose_form(ash_content_writer *w, const ash_op *op, ash_error *err);

/* document.c: the document of a content that is kept as w->plan says, without owners. */
void ash__content_document(const ash_content_writer *w, const ash_plan *plan,
                           const ash_content_id *id, int64_t length, bson_t *out);
/* Chunk documents of data, inserted with op. */
int ash__insert_chunks(ash_contents *c, const ash_content_id *id, const uint8_t *data, size_t len,
                       const ash_op *op, ash_error *err);
int ash__insert_documents(ash_collection *c, const bson_t *const *docs, size_t count,
                          const ash_op *op, ash_error *err);

/* pieces.c */
int ash__pieces_new(ash_content_writer *w, ash_error *err);
/* Stores pieces out of w->bytes; what is left there belongs to the next. */
int ash__pieces_cut(ash_content_writer *w, bool all, const ash_op *op, ash_error *err);
/* The document of the whole, which lists them. */
int ash__pieces_document(const ash_content_writer *w, bson_t *out, ash_error *err);
/* All are there still. */
int ash__pieces_rely_on(const ash_content_writer *w, const ash_op *op, ash_error *err);
void ash__pieces_free(ash_pieces *p);

#endif
