/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_NUMBER_H
#define ASH_BSON_NUMBER_H

/* Arithmetic on BSON numbers with MongoDB's result types: int32 widens to int64 on overflow; int64
 * overflow is an error for $inc/$mul and widens to double in expressions; a double makes the result
 * a double, a Decimal128 makes it a Decimal128 (34 digits, round half even, by the Intel decimal
 * library).
 *
 * Where a function takes a box, its result is box->value; after an error that is as it was. */

#include "bson/value.h"

int ash__number_compare(ash_value a, ash_value b); /* exact, across types; NaN lowest */

/* Divide gives a double or a Decimal128; mod has the sign of a, and of two integers (a double that
 * is one counts as one on the right) it is an integer. */
enum ash_arith { ASH_ADD, ASH_SUBTRACT, ASH_MULTIPLY, ASH_DIVIDE, ASH_MOD };

/* a op b.  widen: on int64 overflow give a double instead of an error (ASH_EINVAL, code 2).
 * Division or mod by zero: ASH_EINVAL, code 2.  Non-numbers: ASH_EINVAL, code 14. */
int ash__number_arith(enum ash_arith op, ash_value a, ash_value b, bool widen, ash_value_box *box,
                      ash_error *err);

/* ABS, CEIL, FLOOR and NEGATE keep the type of v (int32 widens where it has to; NEGATE of the
 * lowest int64 is a double, its ABS an error, 28680); of the others integers give doubles.
 * Non-numbers: ASH_EINVAL, 28765; out of the function's range: 28714 (sqrt), 28766 (ln), 28761
 * (log10). NaN gives NaN. */
enum ash_unary { ASH_ABS, ASH_CEIL, ASH_FLOOR, ASH_NEGATE, ASH_SQRT, ASH_EXP, ASH_LN, ASH_LOG10 };
int ash__number_unary(enum ash_unary op, ash_value v, ash_value_box *box, ash_error *err);

/* To `place` digits behind the point, -20 to 100 (else 51083), half to even or towards zero.  51080
 * if an integer does not fit any more. */
int ash__number_round(ash_value v, int64_t place, bool truncate, ash_value_box *box,
                      ash_error *err);

/* Integers stay integers where the result fits.  0 to a negative power: 28764. */
int ash__number_pow(ash_value a, ash_value b, ash_value_box *box, ash_error *err);

/* Convert to a type (int32, int64, double, decimal128); what does not fit is ASH_EINVAL, code 241.
 * Truncates toward zero.  A double becomes a Decimal128 of 15 digits, as in all arithmetic. */
int ash__number_convert(ash_value v, uint8_t type, ash_value_box *box, ash_error *err);

#endif
