/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two texts: whatever they are, the hunks make the second one of the first. */
#include "fuzz.h"

#include "base/mem.h"
#include "http/site/diff.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const char *at, *end;
} walk;

/* To the next line's beginning, or the end. */
static const char *line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline + 1 : end;
}

static size_t number(walk *w)
{
    size_t value = 0;
    ash_assert(w->at < w->end && *w->at >= '0' && *w->at <= '9');
    for (; w->at < w->end && *w->at >= '0' && *w->at <= '9'; w->at++)
        value = value * 10 + (size_t)(*w->at - '0');
    return value;
}

static void expect_text(walk *w, const char *text)
{
    size_t len = strlen(text);
    ash_assert((size_t)(w->end - w->at) >= len && memcmp(w->at, text, len) == 0);
    w->at += len;
}

/* "FROM" or "FROM,COUNT". */
static void range(walk *w, size_t *from, size_t *count)
{
    *from = number(w);
    *count = 1;
    if (w->at < w->end && *w->at == ',') {
        w->at++;
        *count = number(w);
    }
}

/* One line of the original to the output, or past it. */
static void take(walk *from, size_t *line, ash_buffer *out)
{
    ash_assert(from->at < from->end);
    const char *next = line_end(from->at, from->end);
    if (out != NULL)
        ash__buffer_append(out, from->at, (size_t)(next - from->at));
    from->at = next;
    ++*line;
}

static void apply_line(walk *diff, walk *from, size_t *line, ash_buffer *out)
{
    static const char no_end[] = "\\ No newline at end of file\n";
    char how = *diff->at++;
    const char *text = diff->at, *next = line_end(text, diff->end);
    size_t len = (size_t)(next - text);
    diff->at = next;
    if ((size_t)(diff->end - diff->at) >= strlen(no_end) &&
        memcmp(diff->at, no_end, strlen(no_end)) == 0) {
        len--;
        diff->at += strlen(no_end);
    }
    ash_assert(how == ' ' || how == '-' || how == '+');
    if (how == '+') {
        ash__buffer_append(out, text, len);
        return;
    }
    size_t own = (size_t)(line_end(from->at, from->end) - from->at);
    ash_assert(own == len && memcmp(from->at, text, len) == 0);
    take(from, line, how == ' ' ? out : NULL);
}

static void apply(ash_buffer *hunks, ash_diff_text a, ash_buffer *out)
{
    walk diff = {ash__buffer_text(hunks), ash__buffer_text(hunks) + hunks->len};
    walk from = {a.data, a.data + a.len};
    size_t line = 0;
    while (diff.at < diff.end) {
        size_t from_line, from_count, to_line, to_count;
        expect_text(&diff, "@@ -");
        range(&diff, &from_line, &from_count);
        expect_text(&diff, " +");
        range(&diff, &to_line, &to_count);
        expect_text(&diff, " @@\n");
        size_t begin = from_count > 0 ? from_line - 1 : from_line;
        while (line < begin)
            take(&from, &line, out);
        ash_assert(line == begin);
        while (diff.at < diff.end && *diff.at != '@')
            apply_line(&diff, &from, &line, out);
        ash_assert(line == begin + from_count);
    }
    ash__buffer_append(out, from.at, (size_t)(from.end - from.at));
}

static void check(const char *a, size_t a_len, const char *b, size_t b_len)
{
    ash_buffer hunks = ASH_BUFFER_INIT, made = ASH_BUFFER_INIT;
    /* Of just their sizes, so that a byte too many shows under a sanitizer. */
    char *first = ash__memdup(a, a_len), *second = ash__memdup(b, b_len);
    const ash_diff_text from = {first, a_len}, to = {second, b_len};
    ash_assert(ash__diff_unified(from, to, &hunks));
    ash_assert((hunks.len == 0) == (a_len == b_len && memcmp(a, b, a_len) == 0));
    apply(&hunks, from, &made);
    ash_assert(made.len == b_len && memcmp(made.data, b, b_len) == 0);
    ash__buffer_release(&hunks);
    ash__buffer_release(&made);
    ash__free(first);
    ash__free(second);
}

/* Each byte a line, of few different ones, so that there is much in common. */
static void to_lines(const char *text, size_t len, ash_buffer *out)
{
    for (size_t i = 0; i < len; i++)
        ash__buffer_printf(out, "%d\n", (unsigned char)text[i] % 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_buffer a = ASH_BUFFER_INIT, b = ASH_BUFFER_INIT;
    const char *text = (const char *)data;
    size_t half = size > 0 ? 1 + (size - 1) * data[0] / 255 : 0;
    if (size == 0 || size > 60000)
        return 0;
    check(text + 1, half - 1, text + half, size - half);
    to_lines(text + 1, half - 1, &a);
    to_lines(text + half, size - half, &b);
    check(ash__buffer_text(&a), a.len, ash__buffer_text(&b), b.len);
    ash__buffer_release(&a);
    ash__buffer_release(&b);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
