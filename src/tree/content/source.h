/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_SOURCE_H
#define ASH_TREE_CONTENT_SOURCE_H

/* The bytes of one content as a stream with a position, whatever they are made of.
 *
 *   memory     bytes of a document, or a content that was decoded whole
 *   chunks     a download of the bucket
 *   inflate    raw deflate or gzip over another source, as it goes
 *   list       parts one after the other, each opened when it is reached
 *   window     a piece of another source
 *
 * One thread at a time; all sources of a fetch share its cache and its bounds. */

#include "tree/codec/zstd.h"
#include "tree/content/form.h"

/* Contents inside contents, and deltas on deltas. */
#define ASH_SOURCE_LEVELS_MAX 6
#define ASH_DELTA_LEVELS_MAX  64
/* What repeats something comes to no more: a few bytes could claim to be endless. */
#define ASH_REPEATED_MAX ((int64_t)64 * 1024 * 1024 * 1024)

/* What deltas are made of while they are decoded for one another: each gathers its own first, and
 * keeps that as long as it waits for the next. */
#define ASH_GATHERED_BYTES_MAX (4 * ASH_CONTENT_WHOLE_MAX)

/* Bytes that several may hold. */
typedef struct ash_blob {
    uint32_t holders;
    size_t len, room;
    uint8_t data[];
} ash_blob;
ash_blob *ash__blob_new(size_t len, ash_error *err); /* NULL: ASH_ENOMEM */
ash_blob *ash__blob_hold(ash_blob *b);
void ash__blob_release(ash_blob *b);                            /* NULL is fine */
bool ash__blob_is(const ash_blob *b, const ash_content_id *id); /* its bytes give the digest */

/* What may be unpacked and passed over to read a part of a list, besides what comes of it: each of
 * a list's parts could be the last byte of something long. */
#define ASH_WASTE_BYTES_MAX ((int64_t)64 << 30)
#define ASH_WASTE_FACTOR    64

enum { ASH_FETCH_SLOTS = 64, ASH_FETCH_IDLE = 2 };

/* What reading shares from one content to the next. */
typedef struct ash_fetch {
    ash_contents *contents;
    ash_op op;
    ash_zstd *zstd; /* made when it is needed */
    struct {
        ash_content_id id;
        ash_blob *blob;
        uint64_t used;
    } cache[ASH_FETCH_SLOTS]; /* decoded whole: what deltas build on */
    size_t cache_bytes;       /* the most of them; who decodes but one content wants few */
    ash_blob *spare;          /* nobody's: memory for the next */
    uint64_t clock;
    /* Lists that were read last and may be wanted again: a list of parts of a list would read its
     * document for each of them. */
    struct ash_source *idle[ASH_FETCH_IDLE];
    int64_t unpacked, given; /* bytes since ash__fetch_forgive(): that were worked for, that came */
    int reading;             /* reads in reads */
    int level, delta_level;  /* how deep it is just now */
    int decodes;             /* for the content that is decoded now, with all below it */
    int64_t gathered;        /* bytes just now, of ASH_GATHERED_BYTES_MAX */
    /* The content that the first failure is the fault of; len 0: none. */
    ash_content_id blamed;
} ash_fetch;

/* As ash__blob_new(), in the memory of one that was given back. */
ash_blob *ash__fetch_blob(ash_fetch *f, size_t len, ash_error *err);
/* Instead of ash__blob_release(). */
void ash__fetch_recycle(ash_fetch *f, ash_blob *b);
int ash__fetch_init(ash_fetch *f, ash_contents *c, const ash_op *op, ash_error *err);
void ash__fetch_release(ash_fetch *f);
/* Before a new attempt or another content: nothing has failed yet, and nothing was read. */
void ash__fetch_forgive(ash_fetch *f);
/* Somebody may have cancelled it, or it takes more work than any content is worth: ASH_ECORRUPT. */
int ash__fetch_go_on(ash_fetch *f, ash_error *err);

typedef struct ash_source ash_source;
typedef struct ash_source_ops {
    /* *got 0 at the end, and only there. */
    int (*read)(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err);
    int (*seek)(ash_source *s, int64_t position, ash_error *err);
    void (*free)(ash_source *s);
} ash_source_ops;
struct ash_source {
    const ash_source_ops *ops;
    ash_fetch *fetch;
    ash_content_id id; /* of the content that these bytes belong to, for errors; may be len 0 */
    int64_t length;    /* -1: only the end tells */
    int64_t position;
};

/* ASH_ECORRUPT: there is no such content, it cannot be, or is too deep. */
int ash__source_open(ash_fetch *f, const ash_content_id *id, ash_source **out, ash_error *err);
/* The same of a document that was found already. */
int ash__source_open_doc(ash_fetch *f, const bson_t *doc, ash_source **out, ash_error *err);
/* bytes, repeated until len, which whoever asks has bounded; they have to stay. */
ash_source *ash__source_memory(ash_fetch *f, const uint8_t *bytes, size_t count, int64_t len);
int ash__source_read(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err);
/* All len bytes, or ASH_ECORRUPT. */
int ash__source_read_all(ash_source *s, uint8_t *buf, size_t len, ash_error *err);
int ash__source_seek(ash_source *s, int64_t position, ash_error *err);
void ash__source_free(ash_source *s); /* NULL is fine */

/* A content of at most ASH_CONTENT_WHOLE_MAX bytes; what was decoded is remembered for a while. */
int ash__fetch_whole(ash_fetch *f, const ash_content_id *id, ash_blob **out, ash_error *err);
/* Reads it to its end.  ASH_ECORRUPT: it is not what its digest says. */
int ash__fetch_verify(ash_fetch *f, const ash_content_id *id, ash_error *err);
/* Parts, one after the other. */
int ash__fetch_parts(ash_fetch *f, const ash_form_part *parts, size_t count, ash_blob **out,
                     ash_error *err);

/* ---- of one form each ---- */

/* form: on the heap; taken over when this succeeds. */
int ash__source_of_list(ash_fetch *f, ash_form *form, ash_source **out, ash_error *err);
/* The list of that content that was put by, or NULL. */
ash_source *ash__list_take_idle(ash_fetch *f, const ash_content_id *id);
void ash__list_drop_idle(ash_fetch *f);
/* inner: taken over, also when this fails. */
int ash__source_of_inflate(ash_fetch *f, ash_form_kind kind, int64_t size, ash_source *inner,
                           ash_source **out, ash_error *err);
int ash__source_of_zip(ash_fetch *f, const ash_form_part *part, ash_source **out, ash_error *err);
/* One frame, and the parts that it builds on. */
int ash__decode_frame(ash_fetch *f, const ash_form *form, ash_source *frame, ash_blob **out,
                      ash_error *err);

#endif
