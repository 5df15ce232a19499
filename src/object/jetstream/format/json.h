/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_FORMAT_JSON_H
#define ASH_OBJECT_JETSTREAM_FORMAT_JSON_H

/* JSON as a NATS server and its clients write it.  Not by libbson: its extended JSON takes keys that
 * begin with '$' for types, and has no room for numbers of 64 bits without a sign.
 *
 * Texts are UTF-8; what is none, or half of a surrogate pair, is read as U+FFFD, as Go does.  Depth
 * is at most ASH_JSON_MAX_DEPTH.  Of two equal keys the last one counts.  One thread at a time. */

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASH_JSON_MAX_DEPTH = 64 };

typedef enum ash_json_type {
    ASH_JSON_NULL,
    ASH_JSON_BOOL,
    ASH_JSON_NUMBER,
    ASH_JSON_TEXT,
    ASH_JSON_ARRAY,
    ASH_JSON_OBJECT
} ash_json_type;

typedef struct ash_json {
    ash_json_type type;
    bool truth;      /* of a BOOL */
    char *text;      /* of a TEXT, and a NUMBER as it was written; with a NUL behind it */
    size_t text_len; /* a TEXT may hold NULs */
    char *key;       /* of an object's member */
    struct ash_json *first, *last; /* of an array's items or an object's members */
    struct ash_json *next;
} ash_json;

/* *out is yours: ash__json_free().  ASH_EINVAL: not one value of JSON and white space around it. */
int ash__json_parse(const char *text, size_t len, ash_json **out, ash_error *err);
void ash__json_free(ash_json *value);

/* A member; NULL where `object` is NULL, no object, or has none of that name. */
const ash_json *ash__json_get(const ash_json *object, const char *key);
/* What a member holds, or `otherwise` where it is missing or of another type. */
const char *ash__json_text(const ash_json *object, const char *key, const char *otherwise);
int64_t ash__json_int(const ash_json *object, const char *key, int64_t otherwise);
uint64_t ash__json_unsigned(const ash_json *object, const char *key, uint64_t otherwise);
bool ash__json_truth(const ash_json *object, const char *key, bool otherwise);
/* Equal as values: numbers by their text, members in any order. */
bool ash__json_equal(const ash_json *a, const ash_json *b);

/* Appends a value as Go's encoding/json would: no white space, '<', '>', '&' escaped. */
void ash__json_put_text(ash_buffer *out, const char *text, size_t len);
void ash__json_put(ash_buffer *out, const ash_json *value);
/* Appends `"key":`, with a comma before it unless it comes first in its object. */
void ash__json_put_key(ash_buffer *out, const char *key);
/* The same with a value; the texts are UTF-8. */
void ash__json_put_text_member(ash_buffer *out, const char *key, const char *text);
void ash__json_put_int_member(ash_buffer *out, const char *key, int64_t value);
void ash__json_put_truth_member(ash_buffer *out, const char *key, bool value);

#endif
