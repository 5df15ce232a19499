/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_SEGMENT_LAYOUT_H
#define ASH_SEGMENT_LAYOUT_H

/* Records as bytes, in the two forms of segment/format.h.  Pure: no files, no locks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "segment/format.h"

/* Where what stands in a record. */
typedef struct ash_layout {
    uint32_t piece;  /* bytes a checksum covers; 0: one for the whole payload */
    uint32_t sums;   /* checksums between header and payload; 0 in the plain form */
    uint32_t offset; /* of the payload */
} ash_layout;

/* The form a payload of that length is written in. */
ash_layout ash__layout_for(uint32_t len);
/* A form with pieces of that size; false when a payload of that length cannot have it. */
bool ash__layout_of_pieces(uint32_t len, uint32_t piece, ash_layout *out);
extern const ash_layout ash__layout_plain;

/* A record that is to be written. */
typedef struct ash_record_draft {
    uint32_t coll_id;
    uint64_t sequence;
    const struct iovec *parts; /* the payload in pieces, at least one */
    int count;
} ash_record_draft;

/* Everything in front of the payload of len bytes, `layout.offset` bytes. */
void ash__record_head_make(uint8_t *out, const ash_layout *layout, const ash_record_draft *draft,
                           uint32_t len);

/* Is this the beginning of a record, of either form, with an intact header?  48 bytes are read. */
bool ash__record_head_is_whole(const uint8_t *head);

/* A record whose header was verified.  Views of the caller's memory. */
typedef struct ash_payload {
    const uint8_t *record;
    uint32_t segment, block; /* for messages */
    uint32_t len;
    ash_layout layout;
} ash_payload;

static inline const uint8_t *ash__payload_data(const ash_payload *p)
{
    return p->record + p->layout.offset;
}

static inline uint32_t ash__segment_blocks_for(size_t payload_bytes)
{
    return (uint32_t)((payload_bytes + ASH_RECORD_HEADER_BYTES + ASH_BLOCK_BYTES - 1) /
                      ASH_BLOCK_BYTES);
}

/* Take a record apart whose length is known, so that all its blocks can be read.  Header and table
 * of checksums are verified, the payload is not.  NULL, or what is wrong with it. */
const char *ash__record_open(const uint8_t *record, uint32_t len, ash_payload *out);

/* The same of a record that was taken apart before, and then had that layout.piece: nothing of it
 * is read. */
void ash__record_open_again(const uint8_t *record, uint32_t len, uint32_t piece, ash_payload *out);

/* Are the payload's bytes *from .. *to right?  They are widened to what was looked at. */
bool ash__payload_holds(const ash_payload *p, size_t *from, size_t *to);

/* The checksum at offset 32 as the payload's bytes would have it in that form; *table: its table
 * of checksums, if it has one, is the payload's. */
uint64_t ash__payload_root(const uint8_t *record, uint32_t len, const ash_layout *layout,
                           bool *table);

#endif
