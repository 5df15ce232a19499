/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CODEC_GEAR_H
#define ASH_TREE_CODEC_GEAR_H

/* The gear hash: for each byte the hash is doubled and a random number of that byte's is added, so
 * that bit n knows of the last n + 1 bytes and of nothing before them. */

#include <stdint.h>

/* 256 random numbers, always the same (splitmix64 of a fixed seed). */
static inline void ash__gear_make(uint64_t gear[256])
{
    uint64_t state = UINT64_C(0x4173686c61722121);
    for (int i = 0; i < 256; i++) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        gear[i] = mixed ^ mixed >> 31;
    }
}

#endif
