/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the form 10xxxxxx continue a character, all others begin one: so counting ends well on
 * anything, and is right on UTF-8. */
#include "query/kit/utf8.h"

uint32_t ash__utf8_length(const char *text, uint32_t len_bytes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < len_bytes; i++)
        n += ((uint8_t)text[i] & 0xC0) != 0x80;
    return n;
}

uint32_t ash__utf8_offset(const char *text, uint32_t len_bytes, uint32_t n)
{
    for (uint32_t i = 0; i < len_bytes; i++) {
        if (((uint8_t)text[i] & 0xC0) == 0x80)
            continue;
        if (n-- == 0)
            return i;
    }
    return len_bytes;
}

uint32_t ash__utf8_decode(const char *text, uint32_t len_bytes, uint32_t *size)
{
    uint8_t first = (uint8_t)text[0];
    uint32_t extra = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    uint32_t c = extra == 3   ? first & 7u
                 : extra == 2 ? first & 15u
                 : extra == 1 ? first & 31u
                              : first;
    uint32_t i = 1;
    while (i <= extra && i < len_bytes && ((uint8_t)text[i] & 0xC0) == 0x80)
        c = c << 6 | ((uint8_t)text[i++] & 63u);
    *size = i;
    return c;
}
