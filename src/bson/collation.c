/* SPDX-License-Identifier: Apache-2.0 */
/* Strings are compared by their folded form, in which case or marks are left out: the same form
 * that the keys of an index hold.  ASCII, which needs no Unicode tables, is dealt with apart. */
#include "bson/compare.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>

/* Combining marks wait here until the next base character, so that they come out in canonical
 * order; a longer run than this is put out as it came. */
#define MAX_MARKS 32

typedef struct folder {
    const ash_collation *collation;
    const UNormalizer2 *nfd;
    ash_buffer *out;
    UChar32 marks[MAX_MARKS];
    int mark_count;
} folder;

static void put(folder *f, UChar32 c)
{
    uint8_t bytes[U8_MAX_LENGTH];
    int len = 0;
    U8_APPEND_UNSAFE(bytes, len, c);
    ash__buffer_append(f->out, bytes, (size_t)len);
}

static void flush_marks(folder *f)
{
    for (int i = 0; i < f->mark_count; i++)
        put(f, f->marks[i]);
    f->mark_count = 0;
}

static void put_mark(folder *f, UChar32 c, uint8_t class)
{
    if (f->collation->ignore_diacritics)
        return;
    if (f->mark_count == MAX_MARKS)
        flush_marks(f);
    /* Sorted in by class, behind those of its own class: that is the canonical order. */
    int at = f->mark_count++;
    for (; at > 0 && u_getCombiningClass(f->marks[at - 1]) > class; at--)
        f->marks[at] = f->marks[at - 1];
    f->marks[at] = c;
}

static void put_decomposed(folder *f, UChar32 c)
{
    uint8_t class = u_getCombiningClass(c);
    if (class != 0) {
        put_mark(f, c, class);
        return;
    }
    flush_marks(f);
    put(f, f->collation->ignore_case ? u_foldCase(c, U_FOLD_CASE_DEFAULT) : c);
}

static void put_char(folder *f, UChar32 c)
{
    UChar parts[32];
    UErrorCode status = U_ZERO_ERROR;
    int32_t len = unorm2_getDecomposition(f->nfd, c, parts, ASH_ARRAY_LEN(parts), &status);
    /* Negative: the character is its own decomposition. */
    if (len < 0 || U_FAILURE(status)) {
        put_decomposed(f, c);
        return;
    }
    for (int32_t i = 0; i < len;) {
        UChar32 part;
        U16_NEXT(parts, i, len, part);
        put_decomposed(f, part);
    }
}

/* A byte that is no part of valid UTF-8 stays as it is. */
static void fold_utf8(folder *f, const char *text, uint32_t len)
{
    const uint8_t *bytes = (const uint8_t *)text;
    for (int32_t i = 0; i < (int32_t)len;) {
        int32_t start = i;
        UChar32 c;
        U8_NEXT(bytes, i, (int32_t)len, c);
        if (c >= 0) {
            put_char(f, c);
            continue;
        }
        flush_marks(f);
        ash__buffer_append(f->out, bytes + start, (size_t)(i - start));
    }
    flush_marks(f);
}

static uint8_t fold_ascii(const ash_collation *c, uint8_t byte)
{
    return c->ignore_case && byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 32) : byte;
}

static bool is_ascii(const char *text, uint32_t len)
{
    uint8_t all = 0;
    for (uint32_t i = 0; i < len; i++)
        all |= (uint8_t)text[i];
    return all < 0x80;
}

bool ash__collation_is_simple(const ash_collation *c)
{
    return c == NULL || (!c->ignore_case && !c->ignore_diacritics);
}

void ash__collation_fold(const ash_collation *c, const char *text, uint32_t len, ash_buffer *out)
{
    if (ash__collation_is_simple(c)) {
        ash__buffer_append(out, text, len);
        return;
    }
    if (is_ascii(text, len)) {
        ash__buffer_reserve(out, len);
        for (uint32_t i = 0; i < len; i++)
            out->data[out->len++] = fold_ascii(c, (uint8_t)text[i]);
        return;
    }
    UErrorCode status = U_ZERO_ERROR;
    folder f = {.collation = c, .nfd = unorm2_getNFDInstance(&status), .out = out};
    ash_assert(U_SUCCESS(status));
    fold_utf8(&f, text, len);
}

static int compare_folded(const ash_collation *c, const char *a, uint32_t a_len, const char *b,
                          uint32_t b_len)
{
    ash_buffer x = ASH_BUFFER_INIT;
    ash_buffer y = ASH_BUFFER_INIT;
    ash__collation_fold(c, a, a_len, &x);
    ash__collation_fold(c, b, b_len, &y);
    int order = ash__compare_bytes(x.data, x.len, y.data, y.len);
    ash__buffer_release(&x);
    ash__buffer_release(&y);
    return order;
}

int ash__collation_compare(const ash_collation *c, const char *a, uint32_t a_len, const char *b,
                           uint32_t b_len)
{
    uint32_t shorter = a_len < b_len ? a_len : b_len;
    for (uint32_t i = 0; i < shorter; i++) {
        uint8_t x = (uint8_t)a[i];
        uint8_t y = (uint8_t)b[i];
        /* From the beginning once more: marks behind a character may belong to the ASCII before
         * it. */
        if ((x | y) >= 0x80)
            return compare_folded(c, a, a_len, b, b_len);
        int order = fold_ascii(c, x) - fold_ascii(c, y);
        if (order != 0)
            return order;
    }
    /* What the longer one has left may be marks that do not count. */
    if (!is_ascii(a + shorter, a_len - shorter) || !is_ascii(b + shorter, b_len - shorter))
        return compare_folded(c, a, a_len, b, b_len);
    return (a_len > b_len) - (a_len < b_len);
}
