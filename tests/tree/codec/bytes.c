/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/codec/bytes.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdio.h>

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

uint8_t *bytes_random(uint64_t seed, size_t len)
{
    uint64_t state = seed * 2 + 1;
    uint8_t *data = ash__alloc(len + 8);
    for (size_t i = 0; i < len; i += 8)
        ash__put_le64(data + i, next(&state));
    return data;
}

uint8_t *bytes_text(uint64_t seed, size_t len)
{
    uint64_t state = seed * 2 + 1;
    char *data = ash__alloc(len + 16);
    for (size_t i = 0; i < len;)
        i += (size_t)snprintf(data + i, 16, "word%u ", (unsigned)(next(&state) % 1000));
    return (uint8_t *)data;
}

uint8_t *bytes_changed(const uint8_t *data, size_t len, uint64_t seed, int count)
{
    uint64_t state = seed * 2 + 1;
    uint8_t *changed = ash__memdup(data, len);
    for (int i = 0; i < count; i++)
        ash__put_le64(changed + next(&state) % (len - 8), next(&state));
    return changed;
}
