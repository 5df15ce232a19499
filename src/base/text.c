/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it: the shortest form, no halves of surrogate pairs, nothing above
 * U+10FFFF. */
#include "base/text.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What the first byte promises, or 0. */
static size_t promised(uint8_t first)
{
    /* 0xc0 and 0xc1 could only begin overlong forms, 0xf5 and more only go beyond U+10FFFF. */
    return first < 0x80                     ? 1
           : first >= 0xc2 && first <= 0xdf ? 2
           : first >= 0xe0 && first <= 0xef ? 3
           : first >= 0xf0 && first <= 0xf4 ? 4
                                            : 0;
}

static bool goes_on(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t ash__text_char(const char *text, size_t len_bytes)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t size = len_bytes > 0 ? promised(at[0]) : 0;
    if (size > len_bytes)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if (!goes_on(at[i]))
            return 0;
    }
    /* What the second byte decides; that it is a continuation was seen above. */
    bool overlong =
        size > 2 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90));
    bool surrogate = size == 3 && at[0] == 0xed && at[1] >= 0xa0;
    bool too_large = size == 4 && at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : size;
}

size_t ash__text_good(const char *text, size_t len_bytes)
{
    size_t good = 0, step;
    while ((step = ash__text_char(text + good, len_bytes - good)) > 0)
        good += step;
    return good;
}

void ash__text_trim(char *text)
{
    size_t len = strlen(text), at = len;
    /* A character has at most three bytes behind its first. */
    while (at > 0 && len - at < 3 && goes_on((uint8_t)text[at - 1]))
        at--;
    if (at > 0 && promised((uint8_t)text[at - 1]) > len - at + 1)
        text[at - 1] = 0;
}

int ash__text_compare_paths(const char *a, const char *b)
{
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    int left = *a == '/' ? 1 : *a == 0 ? 0 : (unsigned char)*a + 1;
    int right = *b == '/' ? 1 : *b == 0 ? 0 : (unsigned char)*b + 1;
    return left - right;
}

char *ash__text_user(const char *name, const char *db)
{
    return db == NULL || strcmp(db, "admin") == 0 ? ash__strdup(name)
                                                  : ash__sprintf("%s@%s", name, db);
}
