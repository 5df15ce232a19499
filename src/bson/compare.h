/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_COMPARE_H
#define ASH_BSON_COMPARE_H

/* MongoDB's order over all values: MinKey < (missing, undefined, null) < numbers < (symbol, string)
 * < object < array < binary < ObjectId < bool < date < timestamp < regex < DBPointer < code < code
 * with scope < MaxKey. Numbers compare exactly across int32, int64, double and Decimal128; NaN is
 * the lowest and equal to NaN; -0 equals 0. Binary: length, subtype, bytes.  Objects: field by
 * field (bracket, name, value), then the shorter first; arrays the same without names. Strings and
 * symbols follow the collation, wherever they stand; code does not. */

#include "base/buffer.h"
#include "bson/value.h"

/* How strings compare.  NULL means by bytes.  Borrowed by everything that is given one. */
typedef struct ash_collation {
    bool ignore_case;       /* strength 1 or 2: Unicode simple case folding */
    bool ignore_diacritics; /* strength 1: base letters only */
} ash_collation;

/* Parse {locale, strength, …}.  NULL, {} and locale "simple" give byte order (*is_simple).  Other
 * locales are honoured at strength 1 and 2, in the order of the folded code points; what Ashlar
 * cannot honour is ASH_EUNSUPPORTED naming the option, what no server takes ASH_EINVAL (2, 14,
 * 40414, 40415). */
int ash__collation_parse(const bson_t *spec, ash_collation *out, bool *is_simple, ash_error *err);

bool ash__collation_is_simple(const ash_collation *c); /* byte order; NULL too */

/* The string as it sorts under the collation (decomposed, folded, without marks), appended to out.
 * NUL bytes and bytes that are not UTF-8 are kept. */
void ash__collation_fold(const ash_collation *c, const char *text, uint32_t len, ash_buffer *out);

/* memcmp of the two folded strings, the shorter first. */
int ash__collation_compare(const ash_collation *c, const char *a, uint32_t a_len, const char *b,
                           uint32_t b_len);

int ash__value_compare(ash_value a, ash_value b, const ash_collation *c); /* <0, 0, >0 */
int ash__doc_compare(ash_doc a, ash_doc b, const ash_collation *c);
bool ash__value_equal(ash_value a, ash_value b, const ash_collation *c);

/* Position of a type's bracket in the order: equal brackets compare by value ($gt never leaves
 * one).  The numbers are the first bytes of key encodings, so they are part of the disk format. */
enum ash_bracket {
    ASH_BRACKET_MINKEY = 0x10,
    ASH_BRACKET_NULL = 0x20, /* missing, undefined, null */
    ASH_BRACKET_NUMBER = 0x30,
    ASH_BRACKET_STRING = 0x40, /* and symbol */
    ASH_BRACKET_OBJECT = 0x48,
    ASH_BRACKET_ARRAY = 0x50,
    ASH_BRACKET_BINARY = 0x58,
    ASH_BRACKET_OID = 0x60,
    ASH_BRACKET_BOOL = 0x68,
    ASH_BRACKET_DATE = 0x70,
    ASH_BRACKET_TIMESTAMP = 0x78,
    ASH_BRACKET_REGEX = 0x80,
    ASH_BRACKET_DBPOINTER = 0x88,
    ASH_BRACKET_CODE = 0x90,
    ASH_BRACKET_CODE_WITH_SCOPE = 0x98,
    ASH_BRACKET_MAXKEY = 0xf0
};
int ash__type_bracket(uint8_t type);

/* Equal values hash equally (3, 3.0 and NumberLong(3) alike). */
uint64_t ash__value_hash(ash_value v, const ash_collation *c);

#endif
