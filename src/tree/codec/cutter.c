/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/codec/cutter.h"

#include "base/mem.h"
#include "tree/codec/gear.h"

enum { NORMALISATION = 2, WARM_UP_BYTES = 64 };

/* The topmost bits, for these depend on the whole window. */
static uint64_t top_bits(int count)
{
    return ~(UINT64_MAX >> count);
}

void ash__cutter_init(ash_cutter *c, size_t min, size_t avg, size_t max)
{
    int log = 0;
    ash_assert(min >= ASH_CUTTER_MIN_BYTES && min < avg && avg < max);
    while (avg >> log > 1)
        log++;
    *c = (ash_cutter){.min = min, .avg = avg, .max = max};
    c->early = top_bits(log + NORMALISATION);
    c->late = top_bits(log > NORMALISATION ? log - NORMALISATION : 1);
    ash__gear_make(c->gear);
}

void ash__cutter_reset(ash_cutter *c)
{
    c->at = 0;
    c->hash = 0;
}

/* Bytes too early for an end, and too early to matter for the hash at the first place where one may
 * be, are passed over. */
static size_t pass(ash_cutter *c, size_t len)
{
    size_t idle = c->min - WARM_UP_BYTES;
    if (c->at >= idle)
        return 0;
    size_t passed = idle - c->at < len ? idle - c->at : len;
    c->at += passed;
    return passed;
}

/* Four bytes at a time while none of them ends the piece, as nearly none does: what they add is summed
 * beside the hash, which would else wait for each of them. */
static size_t scan_by_four(ash_cutter *c, const uint8_t *data, size_t stop, uint64_t mask)
{
    uint64_t hash = c->hash;
    const uint64_t *gear = c->gear;
    size_t i = 0;
    for (; i + 4 <= stop; i += 4) {
        uint64_t one = gear[data[i]], two = (one << 1) + gear[data[i + 1]];
        uint64_t three = (two << 1) + gear[data[i + 2]], four = (three << 1) + gear[data[i + 3]];
        uint64_t next = (hash << 4) + four;
        if ((((hash << 1) + one) & mask) == 0 || (((hash << 2) + two) & mask) == 0 ||
            (((hash << 3) + three) & mask) == 0 || (next & mask) == 0)
            break;
        hash = next;
    }
    c->hash = hash;
    return i;
}

/* Takes in data up to an end or to stop, and says how much that was. */
static size_t scan(ash_cutter *c, const uint8_t *data, size_t stop, uint64_t mask, bool *ends)
{
    size_t i = scan_by_four(c, data, stop, mask);
    uint64_t hash = c->hash;
    const uint64_t *gear = c->gear;
    *ends = false;
    while (i < stop && !*ends) {
        hash = (hash << 1) + gear[data[i++]];
        *ends = (hash & mask) == 0;
    }
    c->hash = hash;
    c->at += i;
    return i;
}

/* How far it is from here to a place in the piece, or to the end of the data. */
static size_t way_to(const ash_cutter *c, size_t place, size_t left)
{
    size_t way = place > c->at ? place - c->at : 0;
    return way < left ? way : left;
}

size_t ash__cutter_feed(ash_cutter *c, const uint8_t *data, size_t len, bool *ends)
{
    size_t done = pass(c, len);
    bool ended = false;
    /* All ones: no hash but zero ends a piece in the warm-up, and even that one is passed over. */
    done += scan(c, data + done, way_to(c, c->min, len - done), UINT64_MAX, &ended);
    ended = false;
    if (!ended && c->at >= c->min)
        done += scan(c, data + done, way_to(c, c->avg, len - done), c->early, &ended);
    if (!ended && c->at >= c->avg)
        done += scan(c, data + done, way_to(c, c->max, len - done), c->late, &ended);
    *ends = ended || c->at == c->max;
    if (*ends)
        ash__cutter_reset(c);
    return done;
}
