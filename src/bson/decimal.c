/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal128 and the other types, through Intel's library, which gets rounding mode and flags with
 * each call and so shares no state between threads. */
#include "bson/decimal.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "bson/bid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ash_decimal ash__value_decimal(ash_value v)
{
    ash_decimal d;
    d.low = ash__get_le64(v.data);
    d.high = ash__get_le64(v.data + 8);
    return d;
}

ash_value ash__box_decimal(ash_value_box *box, ash_decimal d)
{
    ash__put_le64(box->bytes, d.low);
    ash__put_le64(box->bytes + 8, d.high);
    box->value = (ash_value){BSON_TYPE_DECIMAL128, box->bytes, 16};
    return box->value;
}

bool ash__decimal_is_nan(ash_decimal d)
{
    /* The five bits behind the sign: 11111 is NaN, 11110 infinity (IEEE 754-2008, 3.5.2). */
    return (d.high >> 58 & 0x1f) == 0x1f;
}

bool ash__decimal_is_infinite(ash_decimal d)
{
    return (d.high >> 58 & 0x1f) == 0x1e;
}

bool ash__decimal_is_zero(ash_decimal d)
{
    return bid128_isZero(ash__bid(d)) != 0;
}

bool ash__decimal_is_negative(ash_decimal d)
{
    return d.high >> 63 != 0;
}

ash_decimal ash__decimal_from_int64(int64_t v)
{
    return ash__unbid(bid128_from_int64(v));
}

/* 15 significant digits, as MongoDB converts. */
static ash_decimal from_double(double v)
{
    char text[40];
    unsigned flags = 0;
    if (isnan(v))
        snprintf(text, sizeof text, "NaN");
    else if (isinf(v))
        snprintf(text, sizeof text, v < 0 ? "-Inf" : "Inf");
    else
        /* One digit before the point and 14 behind it; the library's own conversion would give
         * 34. */
        snprintf(text, sizeof text, "%.14e", v);
    return ash__unbid(bid128_from_string(text, BID_ROUNDING_TO_NEAREST, &flags));
}

ash_decimal ash__decimal_of(ash_value v)
{
    if (v.type == BSON_TYPE_DECIMAL128)
        return ash__value_decimal(v);
    if (v.type == BSON_TYPE_DOUBLE)
        return from_double(ash__value_double(v));
    return ash__decimal_from_int64(ash__value_integer(v));
}

ash_decimal ash__decimal_from_double_closely(double v)
{
    unsigned flags = 0;
    return ash__unbid(binary64_to_bid128(v, BID_ROUNDING_TO_NEAREST, &flags));
}

bool ash__decimal_to_int64(ash_decimal d, bool exact, int64_t *out)
{
    unsigned flags = 0;
    /* The functions with an x also tell when they cut something off. */
    *out = bid128_to_int64_xint(ash__bid(d), &flags);
    if (flags & BID_INVALID_EXCEPTION)
        return false;
    return !exact || !(flags & BID_INEXACT_EXCEPTION);
}

double ash__decimal_to_double(ash_decimal d)
{
    unsigned flags = 0;
    return bid128_to_binary64(ash__bid(d), BID_ROUNDING_TO_NEAREST, &flags);
}

double ash__decimal_truncate_to_double(ash_decimal d, bool *exact)
{
    unsigned flags = 0;
    double v = bid128_to_binary64(ash__bid(d), BID_ROUNDING_TO_ZERO, &flags);
    *exact = !(flags & BID_INEXACT_EXCEPTION);
    return v;
}

int ash__decimal_compare(ash_decimal a, ash_decimal b)
{
    unsigned flags = 0;
    ash_assert(!ash__decimal_is_nan(a) && !ash__decimal_is_nan(b));
    if (bid128_quiet_less(ash__bid(a), ash__bid(b), &flags))
        return -1;
    return bid128_quiet_greater(ash__bid(a), ash__bid(b), &flags) ? 1 : 0;
}

int ash__decimal_digits(ash_decimal d, uint8_t digits[ASH_DECIMAL_DIGITS], int *exponent)
{
    char text[64]; /* "+<coefficient>E<exponent>", the coefficient without leading zeros */
    unsigned flags = 0;
    ash_assert(!ash__decimal_is_nan(d) && !ash__decimal_is_infinite(d) && !ash__decimal_is_zero(d));
    bid128_to_string(text, ash__bid(d), &flags);
    int count = 0;
    const char *at = text + 1;
    for (; *at != 'E'; at++) {
        ash_assert(count < ASH_DECIMAL_DIGITS && *at >= '0' && *at <= '9');
        digits[count++] = (uint8_t)(*at - '0');
    }
    *exponent = atoi(at + 1) + count - 1;
    while (count > 1 && digits[count - 1] == 0)
        count--;
    return count;
}
