/* SPDX-License-Identifier: Apache-2.0 */
/* A gear hash of the last 32 bytes is rolled over the text, and looked for among the samples' hashes:
 * shifted by two bits a byte, it has forgotten a byte after 32. */
#include "tree/codec/common.h"

#include "tree/codec/gear.h"

#include <string.h>

enum {
    WINDOW = 32,
    SHIFT = 64 / WINDOW,
    SAMPLES = 96,
    FILTER_BITS = 16, /* a bit for so many of a hash's highest: one in 700 passes it by chance */
    SLOTS = 256       /* of the table behind it */
};

typedef struct samples {
    uint64_t gear[256];
    uint64_t filter[(1 << FILTER_BITS) / 64];
    uint64_t hashes[SLOTS];
    const uint8_t *places[SLOTS]; /* NULL: free */
} samples;

static uint64_t hash_of(const samples *s, const uint8_t *window)
{
    uint64_t h = 0;
    for (int i = 0; i < WINDOW; i++)
        h = (h << SHIFT) + s->gear[window[i]];
    return h;
}

static size_t slot_of(uint64_t hash)
{
    return (size_t)(hash >> 20) % SLOTS;
}

static void add(samples *s, const uint8_t *window)
{
    uint64_t hash = hash_of(s, window);
    uint64_t bit = hash >> (64 - FILTER_BITS);
    size_t at = slot_of(hash);
    s->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    while (s->places[at] != NULL)
        at = (at + 1) % SLOTS;
    s->hashes[at] = hash;
    s->places[at] = window;
}

static bool passes(const samples *s, uint64_t hash)
{
    uint64_t bit = hash >> (64 - FILTER_BITS);
    return (s->filter[bit / 64] >> bit % 64 & 1) != 0;
}

/* The oldest bytes leave little in a hash. */
static bool has(const samples *s, uint64_t hash, const uint8_t *window)
{
    for (size_t at = slot_of(hash); s->places[at] != NULL; at = (at + 1) % SLOTS)
        if (s->hashes[at] == hash && memcmp(s->places[at], window, WINDOW) == 0)
            return true;
    return false;
}

/* Two bytes at a time: what both add is summed beside the hash, which would else wait for each. */
static bool roll(const samples *s, ash_span in)
{
    const uint64_t *gear = s->gear;
    const uint8_t *at = in.data; /* the window that h is of */
    if (in.len < WINDOW)
        return false;
    const uint8_t *last = in.data + (in.len - WINDOW);
    uint64_t h = hash_of(s, at);
    bool found = has(s, h, at);
    while (!found && last - at >= 2) {
        uint64_t one = gear[at[WINDOW]];
        uint64_t two = (one << SHIFT) + gear[at[WINDOW + 1]];
        uint64_t middle = (h << SHIFT) + one;
        h = (h << 2 * SHIFT) + two;
        found =
            (passes(s, middle) && has(s, middle, at + 1)) || (passes(s, h) && has(s, h, at + 2));
        at += 2;
    }
    return found || (at < last && has(s, (h << SHIFT) + gear[at[WINDOW]], at + 1));
}

bool ash__has_common_run(ash_span data, ash_span in)
{
    samples s;
    if (data.len < (size_t)SAMPLES * WINDOW)
        return true;
    memset(&s, 0, sizeof s);
    ash__gear_make(s.gear);
    size_t step = (data.len - WINDOW) / (SAMPLES - 1);
    for (size_t i = 0; i < SAMPLES; i++)
        add(&s, data.data + i * step);
    return roll(&s, in);
}
