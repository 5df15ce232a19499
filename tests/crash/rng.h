/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_RNG_H
#define ASH_TESTS_CRASH_RNG_H

/* Random numbers that depend on their seed alone, so that a seed replays a run. */

#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint32_t rng_below(rng *r, uint32_t limit)
{
    return (uint32_t)(rng_next(r) >> 32) % limit;
}

/* One generator for each part of a run. */
static inline rng rng_for(uint64_t seed, uint64_t part)
{
    rng r = {seed * UINT64_C(0xD1342543DE82EF95) + part};
    rng_next(&r);
    return r;
}

#endif
