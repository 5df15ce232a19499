/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_KEYCODE_H
#define ASH_BSON_KEYCODE_H

/* Order-preserving bytes for BSON values: memcmp of two encodings gives ash__value_compare's
 * answer, equal values give equal bytes (3, 3.0, NumberLong(3), NumberDecimal("3.00") alike), and
 * no encoding is a prefix of another value's.  So the encodings of several values can be put one
 * behind the other to make compound keys.  This is a disk format, and it never changes within a
 * format version.
 *
 * A value is its bracket (enum ash_bracket) as one byte, then:
 *
 *   MinKey, null, MaxKey    nothing (missing and undefined are null)
 *   number                  see below
 *   string, symbol, code    TEXT
 *   object                  each field: bracket of its value, TEXT of its name, its value; then 00
 *   array                   each element's value; then 00
 *   binary                  length (4 bytes, big-endian), subtype, the bytes
 *   ObjectId                its 12 bytes
 *   bool                    00 or 01
 *   date                    8 bytes, big-endian, sign bit inverted
 *   timestamp               8 bytes, big-endian
 *   regex                   TEXT of the pattern, TEXT of the options
 *   DBPointer               size of the BSON value (4 bytes, big-endian), name with its NUL,
 *                           12 bytes
 *   code with scope         TEXT of the code, the scope as an object
 *
 * TEXT is the bytes with 00 written as 01 01 and 01 as 01 02, then 00; under a collation the folded
 * string's bytes, except of code and names.
 *
 * A number's first byte is 30 for NaN (nothing follows), 31 for a negative one, 32 for zero and
 * positive ones.  Of the absolute value follow: the largest double that is not above it, as its
 * eight IEEE bytes, big-endian (the largest finite one for what lies beyond); 00 if that is the
 * number itself, else 01, the power of ten of its first decimal digit plus 16384 (2 bytes,
 * big-endian), its digits without zeros at the end, two a byte (ten times the first plus the
 * second, a missing second is 0) plus one, then 00.  After the first byte all of a negative number
 * is inverted.
 *
 *   {a: 1, "b\1": [-2, "x"]} as a value:
 *   48  30 61 00 32 3f f0 00 00 00 00 00 00 00
 *       50 62 01 02 00 50 31 bf ff ff ff ff ff ff ff ff 40 78 00 00  00
 *   NumberLong("9007199254740993"), 2^53 + 1:
 *   32 43 40 00 00 00 00 00 00 01 40 0f 5b 08 14 5d 37 4b 0a 5e 00
 *
 * In a descending part every byte is inverted.  An index has one more code, 18, for a path that
 * ends in an empty array: below null, above MinKey.  A hashed part holds the XXH3-64 of the value's
 * ascending encoding, as a number (int64). */

#include "base/buffer.h"
#include "bson/compare.h"

/* Append v's encoding; missing and undefined encode as null.  descending: every byte inverted. */
void ash__keycode_append(ash_buffer *out, ash_value v, bool descending, const ash_collation *c);

/* What an index holds for a path that ends in an empty array, and for a hashed part. */
#define ASH_KEYCODE_EMPTY_ARRAY 0x18
void ash__keycode_append_empty_array(ash_buffer *out, bool descending);
void ash__keycode_append_hash(ash_buffer *out, ash_value v, bool descending,
                              const ash_collation *c);

/* Bounds for ranges: start is not above, end is above every encoding of the values of the type's
 * bracket, and neither crosses into another bracket: start <= key < end.  With descending too,
 * start is the lower one. */
void ash__keycode_append_bracket_start(ash_buffer *out, uint8_t type, bool descending);
void ash__keycode_append_bracket_end(ash_buffer *out, uint8_t type, bool descending);

/* Is code, all of it, the ascending encoding of a whole number from 0 to 2^53?  Then *out. */
bool ash__keycode_read_whole(const uint8_t *code, size_t len, int64_t *out);

/* The smallest byte string greater than every string that starts with buf: last byte + 1 with
 * carry; false when buf is all 0xFF. */
bool ash__keycode_successor(ash_buffer *buf);

/* A key of an index with `pattern` for one document. See ash__keys_extract. */
typedef struct ash_key_part {
    char *path; /* the pattern's own */
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

#define ASH_KEY_MAX_PARTS 32

/* Parse {a: 1, "b.c": -1, d: "hashed"}; keeps its own copy of the names. Checks directions and
 * names: ASH_EINVAL (67).  On failure there is nothing to release. */
int ash__key_pattern_parse(const bson_t *key, bool sparse, const ash_collation *collation,
                           ash_key_pattern *out, ash_error *err);
void ash__key_pattern_release(ash_key_pattern *p);

/* All keys of a document under the pattern, each an encoding of all parts, sorted and without
 * duplicates.  Several when a path crosses an array (*multikey).  Two parts through parallel
 * arrays: ASH_EINVAL, 171 CannotIndexParallelArrays. sparse: no key at all when every part is
 * missing.
 *
 * An array at a path's end gives a key for each element (elements that are arrays themselves as
 * they are) and none for itself; an empty one gives ASH_KEYCODE_EMPTY_ARRAY.  On the way, elements
 * that are no documents count as documents without the field: null. Positions ("a.0.b") work as in
 * ash__path_walk, so an array named by its position is a key as a whole; where an element has a
 * field of that very number: ASH_EINVAL (16746).  A hashed part takes no arrays: ASH_EINVAL
 * (16766).  More than ASH_KEYS_MAX_BYTES of keys: ASH_ETOOBIG (201).  After an error the set is
 * empty. */
#define ASH_KEYS_MAX_BYTES (64 * 1024 * 1024)

/* What a key has forgotten of its values: the types that have an encoding in common with others.
 * Others are told by the key.  The numbers are part of the disk format (engine/format/keys.h). */
enum ash_kind {
    ASH_KIND_INT32 = 0x01,
    ASH_KIND_INT64 = 0x02,
    ASH_KIND_DOUBLE = 0x04,
    ASH_KIND_DECIMAL = 0x08,
    ASH_KIND_SYMBOL = 0x10, /* and not a string */
    ASH_KIND_MISSING = 0x20,
    ASH_KIND_NULL = 0x40,
    ASH_KIND_UNDEFINED = 0x80
};
#define ASH_KINDS_UNKNOWN UINT32_MAX /* there may be any */

typedef struct ash_key_set {
    ash_buffer bytes; /* all keys, one behind the other */
    uint32_t *ends;   /* end offset of each key in bytes */
    uint32_t count;
    uint32_t capacity;
    uint32_t kinds; /* ASH_KIND_… of the values in them */
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
