/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CODEC_SKETCH_H
#define ASH_TREE_CODEC_SKETCH_H

/* What a content is like, in 64 bytes, or 16 where it is kept: which earlier content would make a
 * short delta?
 *
 * About one in 32 windows of 48 bytes is looked at, chosen by what is in it.  Each falls into one
 * of 16 slots by its hash, and the least hash of each slot is kept (min-hash by one permutation):
 * of two contents that share a part p of all their windows, about 16 p slots are equal.
 *
 * The four features are four slots each, taken together: an index on them finds contents that
 * share most windows (p = 0.9: 98 % are found, 0.7: 67 %, 0.5: 23 %), and the slots tell which of
 * the found is nearest.  A content too short to fill its slots has fewer features or none. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASH_SKETCH_SLOTS = 16, ASH_SKETCH_FEATURES = 4, ASH_SKETCH_OLD_BYTES = 64 };

typedef struct ash_sketch {
    uint32_t slots[ASH_SKETCH_SLOTS]; /* UINT32_MAX: nothing fell into it */
} ash_sketch;

/* Of a content that comes in parts. One thread at a time. */
typedef struct ash_sketcher {
    uint64_t gear[256];
    uint64_t hash;
    ash_sketch sketch;
} ash_sketcher;

void ash__sketcher_init(ash_sketcher *s);
void ash__sketcher_feed(ash_sketcher *s, const uint8_t *data, size_t len);

void ash__sketch_make(const uint8_t *data, size_t len, ash_sketch *out);

/* How many slots of the two are filled and equal: 0 to 16. */
int ash__sketch_alike(const ash_sketch *a, const ash_sketch *b);

/* As it is kept, a byte a slot (0: nothing fell into it), so that one of 255 slots that differ seems
 * equal. */
typedef struct ash_short_sketch {
    uint8_t slots[ASH_SKETCH_SLOTS];
} ash_short_sketch;
void ash__sketch_shorten(const ash_sketch *s, ash_short_sketch *out);
/* Of 16 bytes, or of 64: earlier versions kept all of the slots, little endian.  false: neither. */
bool ash__sketch_read(const uint8_t *bytes, size_t len, ash_short_sketch *out);
int ash__sketch_alike_short(const ash_short_sketch *a, const ash_short_sketch *b);

/* Its features, for an index; returns how many there are.  Feature i of one content is only ever
 * equal to feature i of another: the number is in its two highest bits, and none is negative. */
int ash__sketch_features(const ash_sketch *s, int32_t out[ASH_SKETCH_FEATURES]);

#endif
