/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_BYTES_H
#define ASH_BASE_BYTES_H

/* Integers in byte strings of a stated order, unaligned.  Disk formats and BSON are little-endian;
 * LMDB keys are big-endian, so that they sort as numbers. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* memcmp's order of two byte strings, the shorter first where one starts with the other. */
static inline int ash__compare_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
    size_t shorter = a_len < b_len ? a_len : b_len;
    int order = shorter == 0 ? 0 : memcmp(a, b, shorter);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static inline uint32_t ash__get_le32(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t ash__get_le64(const void *p)
{
    return (uint64_t)ash__get_le32(p) | (uint64_t)ash__get_le32((const uint8_t *)p + 4) << 32;
}

static inline void ash__put_le32(void *p, uint32_t v)
{
    uint8_t *b = p;
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> (8 * i));
}

static inline void ash__put_le64(void *p, uint64_t v)
{
    ash__put_le32(p, (uint32_t)v);
    ash__put_le32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static inline uint32_t ash__get_be32(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static inline uint64_t ash__get_be64(const void *p)
{
    return (uint64_t)ash__get_be32(p) << 32 | ash__get_be32((const uint8_t *)p + 4);
}

static inline void ash__put_be32(void *p, uint32_t v)
{
    uint8_t *b = p;
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline void ash__put_be64(void *p, uint64_t v)
{
    ash__put_be32(p, (uint32_t)(v >> 32));
    ash__put_be32((uint8_t *)p + 4, (uint32_t)v);
}

static inline double ash__get_le_double(const void *p)
{
    uint64_t bits = ash__get_le64(p);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void ash__put_le_double(void *p, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ash__put_le64(p, bits);
}

#endif
