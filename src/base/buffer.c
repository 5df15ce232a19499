/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ash__buffer_release(ash_buffer *buf)
{
    ash__free(buf->data);
    memset(buf, 0, sizeof *buf);
}

void ash__buffer_clear(ash_buffer *buf)
{
    buf->len = 0;
}

void ash__buffer_reserve(ash_buffer *buf, size_t more_bytes)
{
    /* Half of the range, so that neither the sum nor the doubling below overflows. */
    ash_assert(more_bytes <= SIZE_MAX / 2 - buf->len);
    size_t need = buf->len + more_bytes;
    if (need <= buf->capacity)
        return;
    size_t grown = buf->capacity < 64 ? 64 : buf->capacity * 2;
    buf->capacity = grown > need ? grown : need;
    buf->data = ash__realloc_array(buf->data, buf->capacity, 1);
}

void ash__buffer_append(ash_buffer *buf, const void *data, size_t len_bytes)
{
    /* The data may be NULL then, which memcpy must not get. */
    if (len_bytes == 0)
        return;
    ash__buffer_reserve(buf, len_bytes);
    memcpy(buf->data + buf->len, data, len_bytes);
    buf->len += len_bytes;
}

void ash__buffer_append_byte(ash_buffer *buf, uint8_t byte)
{
    ash__buffer_append(buf, &byte, 1);
}

void ash__buffer_append_text(ash_buffer *buf, const char *text)
{
    ash__buffer_append(buf, text, strlen(text));
}

void ash__buffer_printf(ash_buffer *buf, const char *format, ...)
{
    va_list args;
    ash_assert(format != NULL);
    /* Mostly it fits in what there is. */
    ash__buffer_reserve(buf, 64);
    size_t room = buf->capacity - buf->len;
    va_start(args, format);
    int len = vsnprintf((char *)buf->data + buf->len, room, format, args);
    va_end(args);
    ash_assert(len >= 0);
    /* vsnprintf ends with a NUL, which is written and not counted. */
    if ((size_t)len >= room) {
        ash__buffer_reserve(buf, (size_t)len + 1);
        va_start(args, format);
        vsnprintf((char *)buf->data + buf->len, (size_t)len + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)len;
}

void ash__buffer_append_number(ash_buffer *buf, int64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? UINT64_C(0) - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        digits[--at] = '-';
    ash__buffer_append(buf, digits + at, sizeof digits - at);
}

const char *ash__buffer_text(ash_buffer *buf)
{
    ash__buffer_reserve(buf, 1);
    /* Behind the end: whatever is appended next overwrites it. */
    buf->data[buf->len] = 0;
    return (const char *)buf->data;
}

uint8_t *ash__buffer_detach(ash_buffer *buf)
{
    uint8_t *data = buf->data;
    memset(buf, 0, sizeof *buf);
    return data;
}
