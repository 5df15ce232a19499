/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_NUMBER_ORDER_H
#define ASH_BSON_NUMBER_ORDER_H

/* Where a number stands among all numbers, whatever its type: the double next to it on the side of
 * zero, and whether that is the number itself. Two numbers with different doubles are ordered by
 * them; with equal doubles an inexact one lies further from zero; two inexact ones (int64 beyond
 * 2^53, Decimal128) are ordered by their decimal digits.  For src/bson alone. */

#include "bson/decimal.h"

typedef struct ash_number_place {
    double truncated; /* never -0; NaN for NaN */
    bool exact;
    bool negative; /* of the number: also where truncated is 0 */
} ash_number_place;

ash_number_place ash__number_place(ash_value v);

/* As ash__decimal_digits, for any number that is no double and not zero. */
int ash__number_digits(ash_value v, uint8_t digits[ASH_DECIMAL_DIGITS], int *exponent);

#endif
