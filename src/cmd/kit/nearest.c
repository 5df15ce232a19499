/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 40 }; /* more was not mistyped but pasted */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters left out, added, replaced, or swapped with their neighbour (optimal string alignment). */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t other = a[i - 1] != b[j - 1];
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_len];
}

ash_nearest ash__nearest_to(const char *typed, size_t len)
{
    /* A third of the word may be wrong: more is another word. */
    return (ash_nearest){typed, len, NULL, len < 3 ? 2 : len / 3 + 1};
}

void ash__nearest_try(ash_nearest *s, const char *word)
{
    size_t len = strlen(word);
    if (s->len == 0 || s->len > LONGEST || len > LONGEST)
        return;
    /* What was begun and not finished: at least three letters, or they tell nothing. */
    bool begun = s->len >= 3 && len > s->len && strncmp(word, s->typed, s->len) == 0;
    size_t errors = begun ? 1 : distance(s->typed, s->len, word, len);
    /* Not a word that shares no letter with what was typed. */
    if (errors < s->distance && errors < len) {
        s->best = word;
        s->distance = errors;
    }
}
