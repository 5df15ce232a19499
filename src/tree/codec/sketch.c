/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/codec/sketch.h"

#include "base/bytes.h"
#include "tree/codec/gear.h"

/* Bits 43 to 47 choose: they know of the last 44 to 48 bytes.  What is below them makes the
 * slot's number and its hash. */
#define CHOSEN (UINT64_C(31) << 43)
#define MIX    UINT64_C(0x9e3779b97f4a7c15)

void ash__sketcher_init(ash_sketcher *s)
{
    ash__gear_make(s->gear);
    s->hash = MIX; /* so that a run of zero bytes at the beginning is not chosen each time */
    for (int i = 0; i < ASH_SKETCH_SLOTS; i++)
        s->sketch.slots[i] = UINT32_MAX;
}

static void take(ash_sketch *sketch, uint64_t hash)
{
    uint64_t mixed = (hash & (CHOSEN - 1)) * MIX;
    mixed = (mixed ^ mixed >> 32) * MIX;
    uint32_t *slot = &sketch->slots[mixed >> 60], value = (uint32_t)(mixed >> 28);
    if (value < *slot)
        *slot = value;
}

/* In blocks: which windows are chosen cannot be foreseen, and a branch for each would be taken wrong
 * too often, so that the first loop has none. */
void ash__sketcher_feed(ash_sketcher *s, const uint8_t *data, size_t len)
{
    enum { BLOCK_BYTES = 1024 };
    uint64_t hash = s->hash, chosen[BLOCK_BYTES];
    for (size_t from = 0; from < len; from += BLOCK_BYTES) {
        size_t count = 0, to = len - from < BLOCK_BYTES ? len : from + BLOCK_BYTES;
        for (size_t i = from; i < to; i++) {
            hash = (hash << 1) + s->gear[data[i]];
            chosen[count] = hash;
            count += (hash & CHOSEN) == 0;
        }
        for (size_t i = 0; i < count; i++)
            take(&s->sketch, chosen[i]);
    }
    s->hash = hash;
}

void ash__sketch_make(const uint8_t *data, size_t len, ash_sketch *out)
{
    ash_sketcher s;
    ash__sketcher_init(&s);
    ash__sketcher_feed(&s, data, len);
    *out = s.sketch;
}

int ash__sketch_alike(const ash_sketch *a, const ash_sketch *b)
{
    int alike = 0;
    for (int i = 0; i < ASH_SKETCH_SLOTS; i++)
        alike += a->slots[i] == b->slots[i] && a->slots[i] != UINT32_MAX;
    return alike;
}

static uint8_t shorten(uint32_t slot)
{
    return slot == UINT32_MAX ? 0 : (uint8_t)(1 + slot % 255);
}

void ash__sketch_shorten(const ash_sketch *s, ash_short_sketch *out)
{
    for (int i = 0; i < ASH_SKETCH_SLOTS; i++)
        out->slots[i] = shorten(s->slots[i]);
}

bool ash__sketch_read(const uint8_t *bytes, size_t len, ash_short_sketch *out)
{
    if (len != ASH_SKETCH_SLOTS && len != ASH_SKETCH_OLD_BYTES)
        return false;
    for (int i = 0; i < ASH_SKETCH_SLOTS; i++)
        out->slots[i] = len == ASH_SKETCH_SLOTS ? bytes[i] : shorten(ash__get_le32(bytes + 4 * i));
    return true;
}

int ash__sketch_alike_short(const ash_short_sketch *a, const ash_short_sketch *b)
{
    int alike = 0;
    for (int i = 0; i < ASH_SKETCH_SLOTS; i++)
        alike += a->slots[i] == b->slots[i] && a->slots[i] != 0;
    return alike;
}

int ash__sketch_features(const ash_sketch *s, int32_t out[ASH_SKETCH_FEATURES])
{
    enum { EACH = ASH_SKETCH_SLOTS / ASH_SKETCH_FEATURES };
    int count = 0;
    for (int f = 0; f < ASH_SKETCH_FEATURES; f++) {
        uint64_t mixed = (uint64_t)f + 1;
        int filled = 0;
        for (int i = f * EACH; i < (f + 1) * EACH; i++) {
            mixed = (mixed ^ s->slots[i]) * MIX;
            mixed ^= mixed >> 29;
            filled += s->slots[i] != UINT32_MAX;
        }
        if (filled == EACH)
            out[count++] = (int32_t)((uint32_t)f << 29 | (uint32_t)(mixed >> 35));
    }
    return count;
}
