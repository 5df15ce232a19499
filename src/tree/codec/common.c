/* SPDX-License-Identifier: Apache-2.0 */
/* Karp and Rabin's search: the hash of a window of bytes is rolled over the text, one byte in and
 * one out, and looked for among the samples' hashes. */
#include "tree/codec/common.h"

#include <string.h>

enum {
    WINDOW = 32,
    SAMPLES = 96,
    FILTER_BITS = 16, /* a bit for so many of a hash's highest: one in 700 passes it by chance */
    SLOTS = 256       /* of the table behind it */
};

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15) /* odd, its bits all over */

typedef struct samples {
    uint64_t filter[(1 << FILTER_BITS) / 64];
    uint64_t slots[SLOTS]; /* 0: free; a hash of 0 is not looked for */
} samples;

static uint64_t hash_of(const uint8_t *window)
{
    uint64_t h = 0;
    for (int i = 0; i < WINDOW; i++)
        h = h * MULTIPLIER + window[i] + 1;
    return h;
}

static size_t slot_of(uint64_t hash)
{
    return (size_t)(hash >> 20) % SLOTS;
}

static void add(samples *s, uint64_t hash)
{
    uint64_t bit = hash >> (64 - FILTER_BITS);
    size_t at = slot_of(hash);
    s->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    while (s->slots[at] != 0 && s->slots[at] != hash)
        at = (at + 1) % SLOTS;
    s->slots[at] = hash;
}

static bool has(const samples *s, uint64_t hash)
{
    uint64_t bit = hash >> (64 - FILTER_BITS);
    if ((s->filter[bit / 64] >> bit % 64 & 1) == 0)
        return false;
    for (size_t at = slot_of(hash); s->slots[at] != 0; at = (at + 1) % SLOTS)
        if (s->slots[at] == hash)
            return true;
    return false;
}

static bool roll(const samples *s, ash_span in)
{
    uint64_t oldest = 1; /* what the byte that leaves counts for */
    uint64_t h;
    if (in.len < WINDOW)
        return false;
    for (int i = 0; i < WINDOW; i++)
        oldest *= MULTIPLIER;
    h = hash_of(in.data);
    for (size_t i = WINDOW; i < in.len; i++) {
        if (has(s, h))
            return true;
        h = h * MULTIPLIER + in.data[i] + 1 - oldest * (in.data[i - WINDOW] + UINT64_C(1));
    }
    return has(s, h);
}

bool ash__has_common_run(ash_span data, ash_span in)
{
    samples s;
    if (data.len < (size_t)SAMPLES * WINDOW)
        return true;
    memset(&s, 0, sizeof s);
    size_t step = (data.len - WINDOW) / (SAMPLES - 1);
    for (size_t i = 0; i < SAMPLES; i++)
        add(&s, hash_of(data.data + i * step));
    return roll(&s, in);
}
