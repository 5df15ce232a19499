/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include "base/mem.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *ash__base64_write(const void *data, size_t len)
{
    const uint8_t *from = data;
    char *out = ash__alloc((len + 2) / 3 * 4 + 1);
    size_t at = 0;
    for (size_t i = 0; i < len; i += 3) {
        size_t rest = len - i;
        uint32_t bits = (uint32_t)from[i] << 16 | (rest > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                        (rest > 2 ? from[i + 2] : 0);
        out[at++] = alphabet[bits >> 18];
        out[at++] = alphabet[bits >> 12 & 63];
        out[at++] = rest > 1 ? alphabet[bits >> 6 & 63] : '=';
        out[at++] = rest > 2 ? alphabet[bits & 63] : '=';
    }
    return out;
}

static int value_of(char c)
{
    if (c == '+')
        return 62;
    if (c == '/')
        return 63;
    const char *found = c != '\0' ? strchr(alphabet, c) : NULL;
    return found != NULL ? (int)(found - alphabet) : -1;
}

static size_t without_padding(const char *text, size_t len)
{
    for (int i = 0; i < 2 && len > 0 && text[len - 1] == '='; i++)
        len--;
    return len;
}

bool ash__base64_read(const char *text, size_t len, uint8_t **out, size_t *out_len)
{
    size_t count = without_padding(text, len), at = 0;
    uint32_t bits = 0;

    if (count % 4 == 1 || (count != len && len % 4 != 0))
        return false;
    uint8_t *data = ash__alloc(count / 4 * 3 + 3);
    for (size_t i = 0; i < count; i++) {
        int value = value_of(text[i]);
        if (value < 0) {
            ash__free(data);
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 0)
            data[at++] = (uint8_t)(bits >> (6 - i % 4 * 2));
    }
    data[at] = 0;
    *out = data;
    *out_len = at;
    return true;
}
