/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_KEYCODE_H
#define ASH_BSON_KEYCODE_H

/* Order-preserving bytes for BSON values: memcmp of two encodings gives ash__value_compare's
 * answer, equal values give equal bytes (3, 3.0, NumberLong(3), NumberDecimal("3.00") alike), and
 * no encoding is a prefix of another value's.  So the encodings of several values can be put one
 * behind the other to make compound keys. This is a disk format: docs/FORMAT.md describes it and it
 * never changes within a format version. */

#include "base/buffer.h"
#include "bson/compare.h"

/* Append v's encoding; missing and undefined encode as null.  descending: every byte inverted. */
void ash__keycode_append(ash_buffer *out, ash_value v, bool descending, const ash_collation *c);

/* Bounds for ranges: bytes below / above every encoding of the values of v's type bracket. */
void ash__keycode_append_bracket_start(ash_buffer *out, uint8_t type, bool descending);
void ash__keycode_append_bracket_end(ash_buffer *out, uint8_t type, bool descending);

/* The smallest byte string greater than every string that starts with buf: last byte + 1 with
 * carry; false when buf is all 0xFF. */
bool ash__keycode_successor(ash_buffer *buf);

/* A key of an index with `pattern` for one document. See ash__keys_extract. */
typedef struct ash_key_part {
    const char *path; /* borrowed from the pattern */
    bool descending;
    bool hashed;
} ash_key_part;

typedef struct ash_key_pattern {
    ash_key_part *parts;
    uint32_t count;
    bool sparse;
    bool is_id; /* {_id: ±1} */
    bool has_collation;
    ash_collation collation;
} ash_key_pattern;

/* Parse {a: 1, "b.c": -1, d: "hashed"}; keeps its own copy of the names. Checks directions and
 * names: ASH_EINVAL (67). */
int ash__key_pattern_parse(const bson_t *key, bool sparse, const ash_collation *collation,
                           ash_key_pattern *out, ash_error *err);
void ash__key_pattern_release(ash_key_pattern *p);

/* All keys of a document under the pattern, each an encoding of all parts, sorted and without
 * duplicates.  Several when a path crosses an array (*multikey).  Two parts through parallel
 * arrays: ASH_EINVAL, 171 CannotIndexParallelArrays. sparse: no key at all when every part is
 * missing.  An empty array indexes as undefined (below null), like MongoDB. */
typedef struct ash_key_set {
    ash_buffer bytes; /* all keys, one behind the other */
    uint32_t *ends;   /* end offset of each key in bytes */
    uint32_t count;
    uint32_t capacity;
    bool multikey;
} ash_key_set;
#define ASH_KEY_SET_INIT                                                                           \
    {                                                                                              \
        .count = 0                                                                                 \
    }
int ash__keys_extract(const ash_key_pattern *p, ash_doc doc, ash_key_set *out,
                      ash_error *err); /* replaces out's contents */
ash_doc ash__key_set_at(const ash_key_set *set,
                        uint32_t i); /* data/len of the i-th key (not BSON) */
void ash__key_set_release(ash_key_set *set);

#endif
