/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_DECIMAL_H
#define ASH_BSON_DECIMAL_H

/* Decimal128 through Intel's decimal library, for src/bson alone.
 *
 * BSON's Decimal128 is the library's binary integer encoding, so a bson_decimal128_t is its number.
 * Rounding is half to even unless a function says otherwise.  No function keeps state. */

#include "bson/number.h"
#include "bson/value.h"

typedef bson_decimal128_t ash_decimal;

#define ASH_DECIMAL_DIGITS 34

ash_decimal ash__value_decimal(ash_value v);
ash_decimal ash__decimal_of(ash_value v); /* of any number: a double gives 15 digits */
ash_value ash__box_decimal(ash_value_box *box, ash_decimal d);

bool ash__decimal_is_nan(ash_decimal d);
bool ash__decimal_is_infinite(ash_decimal d);
bool ash__decimal_is_zero(ash_decimal d);
bool ash__decimal_is_negative(ash_decimal d); /* the sign bit, also of zeros and NaNs */

ash_decimal ash__decimal_from_int64(int64_t v);

ash_decimal ash__decimal_from_double_closely(double v); /* 34 significant digits */

/* Towards zero.  false if it does not fit, or if `exact` and it is no whole number. */
bool ash__decimal_to_int64(ash_decimal d, bool exact, int64_t *out);
double ash__decimal_to_double(ash_decimal d); /* nearest */

/* The double next to d on the side of zero, or d itself (*exact).  Finite for finite d. */
double ash__decimal_truncate_to_double(ash_decimal d, bool *exact);

int ash__decimal_compare(ash_decimal a, ash_decimal b); /* neither is NaN */

/* The significant digits of |d| as values 0..9, without zeros at either end, and the power of ten
 * of the first one.  Returns their number; d is finite and not zero. */
int ash__decimal_digits(ash_decimal d, uint8_t digits[ASH_DECIMAL_DIGITS], int *exponent);

/* decimal_math.c.  Overflow gives an infinity, what has no result NaN. */
ash_decimal ash__decimal_arith(enum ash_arith op, ash_decimal a, ash_decimal b);
ash_decimal ash__decimal_unary(enum ash_unary op, ash_decimal d);
ash_decimal ash__decimal_pow(ash_decimal a, ash_decimal b);

/* To `place` digits behind the point (negative: before it), half to even or towards zero; unchanged
 * where the result would need more than 34 digits. */
ash_decimal ash__decimal_round(ash_decimal d, int place, bool truncate);

#endif
