/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CODEC_ZSTD_H
#define ASH_TREE_CODEC_ZSTD_H

/* A content as one zstd frame, whole or as what changed against a prefix.
 *
 * The prefix is any bytes that the reader will have again: an earlier content, or several pieces
 * one after the other.  The frame is a standard one (`zstd -d --patch-from` reads it) and says how
 * long the content is; it has no checksum, for contents have digests.
 *
 * One thread at a time uses a codec; it keeps its tables from one content to the next: up to
 * 36 MB, beside the prefix, the content and the frame, which the caller holds. */

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Prefix and content together; of a longer prefix only the end is of use. */
#define ASH_ZSTD_REACH_BYTES ((size_t)1 << 27)

typedef struct ash_zstd ash_zstd;

typedef struct ash_span {
    const uint8_t *data;
    size_t len;
} ash_span;

/* Where a frame is put: the caller's memory, and how much of it the frame takes. */
typedef struct ash_frame {
    uint8_t *data;
    size_t room;
    size_t len;
} ash_frame;

ash_zstd *ash__zstd_new(void);
void ash__zstd_free(ash_zstd *z);

/* The frame of content, of at most out->room bytes, to out->data.  out->len: its length; 0 when it
 * would not fit, so that room is also what a frame must not exceed to be worth it.  prefix: may be
 * empty; one that ends where the content begins in memory is found through faster.
 * ASH_ENOMEM. */
int ash__zstd_encode(ash_zstd *z, ash_span prefix, ash_span content, ash_frame *out,
                     ash_error *err);

/* The content of a frame to out: exactly len bytes.  Nothing is allocated for what a frame says of
 * itself.  ASH_ECORRUPT for anything but one whole frame of just that length, and then
 * out's bytes are undefined.  A wrong prefix goes unnoticed: the content's digest tells.
 * ASH_ENOMEM. */
int ash__zstd_decode(ash_zstd *z, ash_span prefix, ash_span frame, uint8_t *out, size_t len,
                     ash_error *err);

#endif
