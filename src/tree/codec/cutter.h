/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CODEC_CUTTER_H
#define ASH_TREE_CODEC_CUTTER_H

/* Pieces of a content whose ends depend on the bytes around them and not on their place: bytes
 * inserted somewhere change the pieces there, and the ones behind come out as before.
 *
 * A rolling hash of the last 64 bytes decides (gear, with FastCDC's normalised chunking: an end is
 * less likely before the average length than after it).  Where pieces end is part of what is
 * stored only in so far as equal pieces are kept once; a changed hash loses that and nothing else.
 * One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASH_CUTTER_MIN_BYTES = 64 };

typedef struct ash_cutter {
    size_t min, avg, max; /* lengths of a piece, in bytes */
    uint64_t early, late; /* the hash's bits that are zero at an end, before and after avg */
    uint64_t gear[256];
    uint64_t hash;
    size_t at; /* how much of the piece has been fed */
} ash_cutter;

/* ASH_CUTTER_MIN_BYTES <= min < avg < max, or it is a bug; with min = avg / 4 and
 * max = 4 avg pieces of random bytes are 1.1 avg long on average. */
void ash__cutter_init(ash_cutter *c, size_t min, size_t avg, size_t max);

/* How many of the next len bytes belong to the present piece.  *ends: it ends there, and what
 * follows begins the next.  The last piece of a content ends without saying so: then
 * ash__cutter_reset. */
size_t ash__cutter_feed(ash_cutter *c, const uint8_t *data, size_t len, bool *ends);

/* The next byte begins a content. */
void ash__cutter_reset(ash_cutter *c);

#endif
