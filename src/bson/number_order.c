/* SPDX-License-Identifier: Apache-2.0 */
/* How the place of a number (number_order.h) is found for each type.  Two doubles decide nearly
 * always; the decimal digits are looked at when both numbers lie between the same two doubles. */
#include "bson/number_order.h"

#include "base/mem.h"
#include "bson/number.h"

#include <math.h>

#define DOUBLE_BITS 53

static ash_number_place place_of_int64(int64_t v)
{
    /* In unsigned arithmetic, since the lowest int64 has no counterpart. */
    uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    uint64_t kept = magnitude;
    if (magnitude >> DOUBLE_BITS != 0) {
        /* Cutting off the bits that no double has room for is rounding towards zero. */
        int surplus = 64 - DOUBLE_BITS - __builtin_clzll(magnitude);
        kept = magnitude >> surplus << surplus;
    }
    ash_number_place p = {(double)kept, kept == magnitude, v < 0};
    if (v < 0)
        p.truncated = -p.truncated;
    return p;
}

static ash_number_place place_of_decimal(ash_decimal d)
{
    if (ash__decimal_is_nan(d))
        return (ash_number_place){NAN, true, false};
    ash_number_place p = {0, true, false};
    if (ash__decimal_is_zero(d))
        return p;
    /* Adding zero turns -0, the truncation of a tiny negative number, into 0. */
    p.truncated = ash__decimal_truncate_to_double(d, &p.exact) + 0.0;
    p.negative = ash__decimal_is_negative(d);
    return p;
}

ash_number_place ash__number_place(ash_value v)
{
    double d;
    switch (v.type) {
    case BSON_TYPE_INT32:
        d = ash__value_int32(v);
        return (ash_number_place){d, true, d < 0};
    case BSON_TYPE_INT64:
        return place_of_int64(ash__value_int64(v));
    case BSON_TYPE_DOUBLE:
        /* -0 becomes 0, which it equals. */
        d = ash__value_double(v) + 0.0;
        return (ash_number_place){d, true, d < 0};
    default:
        ash_assert(v.type == BSON_TYPE_DECIMAL128);
        return place_of_decimal(ash__value_decimal(v));
    }
}

int ash__number_digits(ash_value v, uint8_t digits[ASH_DECIMAL_DIGITS], int *exponent)
{
    return ash__decimal_digits(ash__decimal_of(v), digits, exponent);
}

static int compare_places(ash_value a, ash_value b)
{
    ash_number_place p = ash__number_place(a);
    ash_number_place q = ash__number_place(b);
    /* NaN is below all others and equal to itself. */
    if (isnan(p.truncated) || isnan(q.truncated))
        return !isnan(p.truncated) - !isnan(q.truncated);
    if (p.truncated != q.truncated)
        return p.truncated < q.truncated ? -1 : 1;
    int p_side = p.exact ? 0 : p.negative ? -1 : 1;
    int q_side = q.exact ? 0 : q.negative ? -1 : 1;
    if (p_side != q_side || p_side == 0)
        return p_side - q_side;
    return ash__decimal_compare(ash__decimal_of(a), ash__decimal_of(b));
}

static bool is_integer(ash_value v)
{
    return v.type == BSON_TYPE_INT32 || v.type == BSON_TYPE_INT64;
}

int ash__number_compare(ash_value a, ash_value b)
{
    /* Two integers, the usual case, need no detour by doubles. */
    if (!is_integer(a) || !is_integer(b))
        return compare_places(a, b);
    int64_t m = ash__value_integer(a);
    int64_t n = ash__value_integer(b);
    return (m > n) - (m < n);
}
