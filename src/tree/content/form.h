/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_FORM_H
#define ASH_TREE_CONTENT_FORM_H

/* A content's document as a struct, whichever generation wrote it.  Pure: no store.
 *
 * Everything in such a document may be a lie.  What is found here is only that it can be meant:
 * types, signs, sums that do not overflow, lists of bounded length and depth. */

#include "tree/content/contents.h"

typedef enum ash_form_kind {
    ASH_FORM_RAW,
    ASH_FORM_DEFLATE,
    ASH_FORM_GZIP,
    ASH_FORM_ZSTD,
    ASH_FORM_DELTA, /* zstd, and the parts are its prefix */
    ASH_FORM_CAT,   /* the parts, one after the other */
    ASH_FORM_ZIP    /* the only part is an entry of an archive */
} ash_form_kind;

/* A piece of something else. */
typedef struct ash_form_part {
    ash_content_id id;    /* len 0: the bytes stand here */
    const uint8_t *bytes; /* in the document */
    uint32_t bytes_len;
    int64_t off, len; /* what of it, repeated where it has less than off + len */
    bool zipped;      /* an entry of a zip archive: bytes from `off` to `end` of it, */
    int64_t end;      /* … `len` when unpacked */
} ash_form_part;

#define ASH_FORM_PARTS_MAX 262144
/* Lists in lists, in one document. */
#define ASH_FORM_NESTED_MAX 8
/* Some documents that name one another many times come to any length: so far they are read. */
#define ASH_CONTENT_BYTES_MAX ((int64_t)16 << 40)
/* What a list names again, and what is in an archive.  Images of disks are nearly all of one piece,
 * which is why this is so much. */
#define ASH_AGAIN_BYTES_MAX ((int64_t)1 << 40)

typedef struct ash_form {
    bson_t *doc; /* own copy, which the pointers go into */
    ash_content_id id;
    ash_form_kind kind;
    bool inside;       /* the bytes are here, not in chunks */
    const uint8_t *in; /* with inside */
    uint32_t in_len;
    int64_t stored;         /* bytes that are kept for it, in chunks or inside */
    int64_t size;           /* of the content; -1: nobody says */
    int64_t upload_date_ms; /* with stored, tells a content from one that came after it */
    int32_t depth;          /* deltas to be undone; 0 */
    ash_form_part *parts;
    size_t part_count;
} ash_form;

/* doc is copied.  ASH_ECORRUPT naming the content and the field; ASH_EUNSUPPORTED: bytes that are
 * kept elsewhere (v7files' experiment with S3).  Release in any case. */
int ash__form_read(const bson_t *doc, ash_form *out, ash_error *err);
void ash__form_release(ash_form *f);

#endif
