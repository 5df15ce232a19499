/* SPDX-License-Identifier: Apache-2.0 */
/* BSON's strings are UTF-8, and error messages quote what anybody has sent.  Which bytes are a
 * character is RFC 3629's table. */
#include "wire/text.h"

#include "base/mem.h"

#include <string.h>

/* How many bytes the character at p has; 0 when it is none.  p ends in a zero byte. */
static size_t char_bytes(const uint8_t *p)
{
    size_t more = p[0] < 0x80 ? 0 : p[0] < 0xC2 ? 4 : p[0] < 0xE0 ? 1 : p[0] < 0xF0 ? 2 : 3;
    if (more == 4 || p[0] > 0xF4)
        return 0;
    for (size_t i = 1; i <= more; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    /* Longer than need be, half of a pair, beyond the last character. */
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return more + 1;
}

void ash__wire_text(ash_builder *b, const char *name, const char *text)
{
    char *copy = ash__strdup(text);
    for (uint8_t *p = (uint8_t *)copy; *p != 0;) {
        size_t bytes = char_bytes(p);
        if (bytes == 0)
            *p = '?';
        p += bytes == 0 ? 1 : bytes;
    }
    ash__builder_text(b, name, copy);
    ash__free(copy);
}
