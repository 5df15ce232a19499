/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CODEC_INFLATE_H
#define ASH_TREE_CODEC_INFLATE_H

/* The two compressions of v7files: raw deflate ("z") and gzip ("gz"). */

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ash_deflate_form {
    ASH_DEFLATE_RAW, /* RFC 1951, with neither header nor checksum */
    ASH_DEFLATE_GZIP /* RFC 1952, one member */
} ash_deflate_form;

/* Append content to out, compressed at level 9.  A gzip header names no time, so that equal
 * contents give equal bytes.  ASH_ENOMEM. */
int ash__deflate(ash_deflate_form form, const void *content, size_t len_bytes, ash_buffer *out,
                 ash_error *err);

typedef struct ash_inflater ash_inflater;

/* Unpacks a content bit by bit.  max_bytes: what may come out of it; v7files does not always say
 * how long a content is, and a short one can unpack to a very long one.  One thread at a time. */
ash_inflater *ash__inflater_new(ash_deflate_form form, uint64_t max_bytes);
void ash__inflater_free(ash_inflater *i);

/* Unpack *in_len bytes at in to out, which has room for *out_len.  Both come back as what was
 * consumed and what was made: call again with the rest of the input, or, without input, for as
 * long as out is filled.  Nothing more comes after an error.
 * ASH_ECORRUPT: not what the form wants, a gzip checksum that does not fit, or bytes behind
 * the end.  ASH_ETOOBIG: more than max_bytes.  ASH_ENOMEM. */
int ash__inflater_feed(ash_inflater *i, const void *in, size_t *in_len, void *out, size_t *out_len,
                       ash_error *err);

/* Was that all?  After the last byte of input: ASH_ECORRUPT if more should have come. */
int ash__inflater_finish(const ash_inflater *i, ash_error *err);

/* The same at once, appended to out. */
int ash__inflate(ash_deflate_form form, const void *packed, size_t len_bytes, uint64_t max_bytes,
                 ash_buffer *out, ash_error *err);

#endif
