/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is there, or the process ends.  Half-made states for want of some bytes would be code
 * that no test reaches; where a size comes from outside, the caller asks with ash__try_alloc. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Noreturn void ash__assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

/* libbson aligns its bson_t to 128 bytes, and with it every struct that holds one: their sizes are
 * multiples of that. */
static bool may_be_overaligned(size_t size_bytes)
{
    return size_bytes != 0 && size_bytes % 128 == 0 && size_bytes <= 65536;
}

/* glibc keeps small blocks at hand for malloc, and not for calloc. */
static void *alloc_small(size_t size_bytes)
{
    /* Of 0 bytes malloc may give NULL, which would look like a failure. */
    void *p = malloc(size_bytes > 0 ? size_bytes : 1);
    return p != NULL ? memset(p, 0, size_bytes) : NULL;
}

void *ash__alloc(size_t size_bytes)
{
    enum { SMALL = 1024 };
    void *p = NULL;
    if (may_be_overaligned(size_bytes)) {
        p = aligned_alloc(128, size_bytes);
        if (p != NULL)
            memset(p, 0, size_bytes);
    } else {
        p = size_bytes <= SMALL ? alloc_small(size_bytes) : calloc(1, size_bytes);
    }
    ash_assert(p != NULL);
    return p;
}

void *ash__alloc_array(size_t count, size_t item_bytes)
{
    void *p = calloc(count > 0 ? count : 1, item_bytes);
    ash_assert(p != NULL);
    return p;
}

void *ash__realloc_array(void *old, size_t count, size_t item_bytes)
{
    ash_assert(item_bytes > 0 && count <= SIZE_MAX / item_bytes);
    void *p = realloc(old, count > 0 ? count * item_bytes : item_bytes);
    ash_assert(p != NULL);
    return p;
}

void *ash__grow_array(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    ash_assert(count <= *capacity);
    if (count < *capacity)
        return items;
    /* Doubling keeps the copying linear; the constant gets it off zero. */
    *capacity = *capacity * 2 + 16;
    return ash__realloc_array(items, *capacity, item_bytes);
}

size_t ash__first_not_below(const void *items, size_t count, size_t item_bytes, uint64_t key,
                            uint64_t (*number)(const void *item))
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (number((const uint8_t *)items + middle * item_bytes) < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

char *ash__strdup(const char *text)
{
    return ash__strndup(text, strlen(text));
}

char *ash__strndup(const char *text, size_t len_bytes)
{
    char *copy = ash__alloc(len_bytes + 1);
    memcpy(copy, text, len_bytes);
    return copy;
}

void *ash__memdup(const void *data, size_t len_bytes)
{
    void *copy = ash__alloc(len_bytes);
    if (len_bytes > 0)
        memcpy(copy, data, len_bytes);
    return copy;
}

char *ash__sprintf(const char *format, ...)
{
    va_list args;
    ash_assert(format != NULL);
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    ash_assert(len >= 0);
    char *text = ash__alloc((size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

void *ash__try_alloc(size_t size_bytes)
{
    return malloc(size_bytes > 0 ? size_bytes : 1);
}

void *ash__try_resize(void *old, size_t size_bytes)
{
    return realloc(old, size_bytes > 0 ? size_bytes : 1);
}

enum { LARGE_PAGE = 2 << 20 };

void *ash__try_alloc_large(size_t size_bytes)
{
    if (size_bytes < LARGE_PAGE || size_bytes > SIZE_MAX / 2)
        return ash__try_alloc(size_bytes);
    size_t whole = (size_bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *p = aligned_alloc(LARGE_PAGE, whole);
    ash__mem_large(p, whole);
    return p;
}

void ash__mem_large(void *pointer, size_t size_bytes)
{
    enum { PAGE = 4096 };
    /* With the pages at both ends, though a part of them is not ours: of a mapping that has two kinds
     * of pages, realloc() cannot move the pages and copies all bytes. */
    uintptr_t from = (uintptr_t)pointer & ~(uintptr_t)(PAGE - 1);
    uintptr_t to = ((uintptr_t)pointer + size_bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    /* Advice: without it all is as it was, but slower. */
    if (pointer != NULL && size_bytes >= LARGE_PAGE)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void ash__free(void *pointer)
{
    free(pointer);
}
