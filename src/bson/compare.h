/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_COMPARE_H
#define ASH_BSON_COMPARE_H

/* MongoDB's order over all values: MinKey < (missing, undefined, null) < numbers < (symbol, string)
 * < object < array < binary < ObjectId < bool < date < timestamp < regex < DBPointer < code < code
 * with scope < MaxKey. Numbers compare exactly across int32, int64, double and Decimal128; NaN is
 * the lowest and equal to NaN; -0 equals 0. Binary: length, subtype, bytes.  Objects: field by
 * field (canonical type, name, value), then the shorter first. */

#include "base/buffer.h"
#include "bson/value.h"

/* How strings compare.  NULL means by bytes.  Borrowed by everything that is given one. */
typedef struct ash_collation {
    bool ignore_case;       /* strength 1 or 2: Unicode simple case folding */
    bool ignore_diacritics; /* strength 1: base letters only */
} ash_collation;

/* Parse {locale, strength, …}.  locale "simple" or strength 3 without other options that change the
 * order: *out is byte order.  What Ashlar cannot honour is ASH_EUNSUPPORTED naming the option. NULL
 * or {} give byte order. */
int ash__collation_parse(const bson_t *spec, ash_collation *out, bool *is_simple, ash_error *err);

/* The string as it sorts under the collation, appended to out (NUL bytes kept). */
void ash__collation_fold(const ash_collation *c, const char *text, uint32_t len, ash_buffer *out);

int ash__value_compare(ash_value a, ash_value b, const ash_collation *c); /* <0, 0, >0 */
int ash__doc_compare(ash_doc a, ash_doc b, const ash_collation *c);
bool ash__value_equal(ash_value a, ash_value b, const ash_collation *c);

/* Position of a type's bracket in the order: equal brackets compare by value ($gt never leaves
 * one). */
int ash__type_bracket(uint8_t type);

/* Equal values hash equally (3, 3.0 and NumberLong(3) alike). */
uint64_t ash__value_hash(ash_value v, const ash_collation *c);

#endif
