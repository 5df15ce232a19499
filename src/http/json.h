/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_JSON_H
#define ASH_HTTP_JSON_H

/* Writing JSON, and text into HTML, piece by piece. */

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void ash__json_string(ash_buffer *out, const char *text);
/* Members of an object: "key":value, with a comma before it unless the buffer ends in '{' or '['. */
void ash__json_add_text(ash_buffer *out, const char *key, const char *value); /* NULL: null */
void ash__json_add_int(ash_buffer *out, const char *key, int64_t value);
void ash__json_add_bool(ash_buffer *out, const char *key, bool value);
/* A moment as "1994-11-06T08:49:37.123Z"; 0: null. */
void ash__json_add_time(ash_buffer *out, const char *key, int64_t ms);
/* The comma that is due, and "key":. */
void ash__json_key(ash_buffer *out, const char *key);
/* The comma that is due before a value in an array. */
void ash__json_comma(ash_buffer *out);

/* Text with & < > " ' as references, and control characters as U+FFFD. */
void ash__html_text(ash_buffer *out, const char *text);

#endif
