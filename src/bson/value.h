/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_VALUE_H
#define ASH_BSON_VALUE_H

/* BSON as bytes.
 *
 * An ash_doc is a view of one document (or array) and an ash_value a view of one element's value,
 * both pointing into memory that somebody else owns; they are passed by value and never freed.  The
 * bytes are never normalised: -0, NaN payloads, NULs in strings, duplicate and deprecated types
 * stay as they came.
 *
 * Everything here except ash__bson_validate() requires bytes that were validated when they entered
 * the process (from a socket, a file or a caller), so readers carry no checks of their own. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/error.h"
#include <ashlar/doc.h> /* ash_doc {data, len} */

#define ASH_DOC_MAX_BYTES   (16 * 1024 * 1024)
#define ASH_DOC_SLACK_BYTES (16 * 1024) /* what a command may add around a full document */
#define ASH_DOC_MAX_DEPTH   100

typedef struct ash_value {
    uint8_t type;        /* bson_type_t; 0 (BSON_TYPE_EOD) means missing */
    const uint8_t *data; /* the value's bytes, without type and name */
    uint32_t len;
} ash_value;

#define ASH_VALUE_MISSING ((ash_value){0, NULL, 0})

/* Check every length, type, terminator and nesting (depth 1 = no subdocument) of a whole document.
 * UTF-8 is not checked; field names end at their NUL.  ASH_EINVAL (22 InvalidBSON) with the byte
 * offset, or ASH_ETOOBIG. */
int ash__bson_validate(const uint8_t *data, size_t len, int max_depth, ash_error *err);

/* Iterate: for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) … it.name, it.value
 */
typedef struct ash_doc_iter {
    const uint8_t *at;
    const uint8_t *end;
    const char *name; /* NUL-terminated, inside the document */
    uint32_t name_len;
    ash_value value;
    const uint8_t *element; /* where the element starts (its type byte) … */
    uint32_t element_len;   /* … and how long it is, to copy it whole */
} ash_doc_iter;
ash_doc_iter ash__doc_iter(ash_doc doc);
bool ash__doc_iter_next(ash_doc_iter *it);

/* First field of that exact name (no dots), or missing. */
ash_value ash__doc_get(ash_doc doc, const char *name);
ash_value ash__doc_get_n(ash_doc doc, const char *name, size_t name_len);
bool ash__doc_is_empty(ash_doc doc);
uint32_t ash__doc_count(ash_doc doc); /* number of fields */
extern const ash_doc ash__doc_empty;  /* {} */

ash_doc ash__doc_from_bson(const bson_t *b); /* view of b's bytes, until b changes; NULL gives {} */
void ash__doc_to_bson(ash_doc doc,
                      bson_t *out); /* static bson_t over the same bytes; no destroy needed */

/* Values from C, in caller-provided memory (so that constants need no allocation). */
typedef struct ash_value_box {
    uint8_t bytes[24];
    ash_value value; /* points at bytes: valid while the box stays where it is */
} ash_value_box;
ash_value ash__box_int32(ash_value_box *box, int32_t v);
ash_value ash__box_int64(ash_value_box *box, int64_t v);
ash_value ash__box_double(ash_value_box *box, double v);
ash_value ash__box_bool(ash_value_box *box, bool v);
ash_value ash__box_date(ash_value_box *box, int64_t ms);
ash_value ash__box_timestamp(ash_value_box *box, uint64_t v);
ash_value ash__box_oid(ash_value_box *box, const bson_oid_t *oid);
ash_value ash__box_null(ash_value_box *box);
ash_value ash__value_of_doc(ash_doc doc);   /* type document */
ash_value ash__value_of_array(ash_doc doc); /* type array */
ash_value ash__value_of_bson_value(
    const bson_value_t *v, ash_doc *scratch,
    bson_t *holder); /* holder: initialised by the call, destroyed by the caller */
ash_value ash__value_of_iter(const bson_iter_t *it);

static inline bool ash__value_is_missing(ash_value v)
{
    return v.type == 0;
}
bool ash__value_is_number(ash_value v); /* int32, int64, double, Decimal128 */
bool ash__value_is_null(ash_value v);   /* null or undefined; missing is neither */
bool ash__value_is_nan(ash_value v);
bool ash__name_is_reference(const char *name);       /* a DBRef's own: $ref, $id, $db */
bool ash__value_identical(ash_value a, ash_value b); /* same type, same bytes */

/* Contents; the caller has looked at the type. */
ash_doc ash__value_doc(ash_value v); /* document, array, or the scope of code with scope */
const char *
ash__value_string(ash_value v,
                  uint32_t *len); /* string, symbol, code; NUL-terminated, may hold NULs */
const uint8_t *ash__value_binary(ash_value v, uint8_t *subtype, uint32_t *len);
/* What a binary value is meant to hold: the old subtype 2 has a length of its own in front.  NULL:
 * that one contradicts the value's. */
const uint8_t *ash__value_binary_content(ash_value v, uint32_t *len);
const char *ash__value_regex(ash_value v, const char **options);
int32_t ash__value_int32(ash_value v);
int64_t ash__value_int64(ash_value v);   /* int64, date, timestamp: the eight bytes */
int64_t ash__value_integer(ash_value v); /* int32 or int64 */
double ash__value_double(ash_value v);
bool ash__value_bool(ash_value v);
const bson_oid_t *ash__value_oid(ash_value v);

/* Tolerant readers for options and numbers of any type. */
bool ash__value_as_int64(ash_value v, int64_t *out); /* whole numbers in range only */
bool ash__value_as_double(ash_value v, double *out);
/* What a string says; otherwise, of any other type. */
const char *ash__value_utf8(ash_value v, const char *otherwise);
const char *ash__doc_utf8(ash_doc doc, const char *name, const char *otherwise);
bool ash__value_truthy(ash_value v); /* false, null, undefined, missing and 0 are false */

/* MongoDB's alias of a type ("objectId", "bool", "missing"), and the aliases $type takes: minKey
 * gives 255, "number" gives ASH_TYPE_ANY_NUMBER, "missing" is none. */
#define ASH_TYPE_ANY_NUMBER (-2)
const char *ash__type_name(uint8_t type);
bool ash__type_from_alias(const char *alias, int *type);

#endif
