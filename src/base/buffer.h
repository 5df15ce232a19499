/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_BUFFER_H
#define ASH_BASE_BUFFER_H

/* A growing byte buffer.  Zero-initialised is empty; release when done.  One thread at a time. */

#include <stddef.h>
#include <stdint.h>

typedef struct ash_buffer {
    uint8_t *data;
    size_t len;
    size_t capacity;
} ash_buffer;

#define ASH_BUFFER_INIT                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

void ash__buffer_release(ash_buffer *buf); /* frees; the buffer is empty again */
void ash__buffer_clear(ash_buffer *buf);   /* keeps the memory */
void ash__buffer_reserve(ash_buffer *buf, size_t more_bytes);
void ash__buffer_append(ash_buffer *buf, const void *data, size_t len_bytes);
void ash__buffer_append_byte(ash_buffer *buf, uint8_t byte);
void ash__buffer_append_text(ash_buffer *buf, const char *text); /* without its NUL */
void ash__buffer_append_number(ash_buffer *buf, int64_t number); /* in decimal digits */
void ash__buffer_printf(ash_buffer *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *ash__buffer_text(ash_buffer *buf); /* NUL-terminated view, until the next change */
uint8_t *ash__buffer_detach(ash_buffer *buf);  /* the caller frees; the buffer is empty again */

#endif
