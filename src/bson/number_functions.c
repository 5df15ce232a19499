/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one number, rounding and powers.  Integers are not turned into doubles as long as
 * the answer is an integer: beyond 2^53 a double would be its neighbour. */
#include "bson/number.h"

#include "base/mem.h"
#include "bson/decimal.h"

#include <math.h>

/* The server's limits for $round and $trunc. */
#define PLACE_MIN (-20)
#define PLACE_MAX 100

static bool is_integer(ash_value v)
{
    return v.type == BSON_TYPE_INT32 || v.type == BSON_TYPE_INT64;
}

static void box_like(ash_value_box *box, ash_value like, int64_t v)
{
    if (like.type == BSON_TYPE_INT32 && v >= INT32_MIN && v <= INT32_MAX)
        ash__box_int32(box, (int32_t)v);
    else
        ash__box_int64(box, v);
}

static int integer_unary(enum ash_unary op, ash_value v, ash_value_box *box, ash_error *err)
{
    int64_t n = ash__value_integer(v);
    if (op == ASH_CEIL || op == ASH_FLOOR || (op == ASH_ABS && n >= 0)) {
        box_like(box, v, n);
    } else if (n != INT64_MIN) {
        box_like(box, v, -n);
    } else if (op == ASH_NEGATE) {
        ash__box_double(box, 0x1p63);
    } else {
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ABS_OF_LOWEST_INT64,
                                "cannot take the absolute value of the lowest 64-bit integer");
    }
    return 0;
}

static double double_unary(enum ash_unary op, double v)
{
    switch (op) {
    case ASH_ABS:
        return fabs(v);
    case ASH_CEIL:
        return ceil(v);
    case ASH_FLOOR:
        return floor(v);
    case ASH_NEGATE:
        return -v;
    case ASH_SQRT:
        return sqrt(v);
    case ASH_EXP:
        return exp(v);
    case ASH_LN:
        return log(v);
    default:
        ash_assert(op == ASH_LOG10);
        return log10(v);
    }
}

static int check_range(enum ash_unary op, ash_value v, ash_error *err)
{
    ash_value_box zero_box;
    int order = ash__number_compare(v, ash__box_int32(&zero_box, 0));
    /* The order has NaN below all numbers, but it is outside no function's domain. */
    if (ash__value_is_nan(v))
        return 0;
    if (op == ASH_SQRT && order < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_SQRT_OF_NEGATIVE,
                                "a square root's argument is not negative");
    if (op == ASH_LN && order <= 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_LN_NOT_POSITIVE,
                                "a logarithm's argument is positive");
    if (op == ASH_LOG10 && order <= 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_LOG10_NOT_POSITIVE,
                                "a logarithm's argument is positive");
    return 0;
}

int ash__number_unary(enum ash_unary op, ash_value v, ash_value_box *box, ash_error *err)
{
    if (!ash__value_is_number(v))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNARY_MATH_NOT_NUMBER,
                                "only numbers are supported, not type %s", ash__type_name(v.type));
    int rc = check_range(op, v, err);
    if (rc != 0)
        return rc;
    bool keeps_type = op == ASH_ABS || op == ASH_CEIL || op == ASH_FLOOR || op == ASH_NEGATE;
    if (is_integer(v) && keeps_type)
        return integer_unary(op, v, box, err);
    if (v.type == BSON_TYPE_DECIMAL128) {
        ash__box_decimal(box, ash__decimal_unary(op, ash__value_decimal(v)));
        return 0;
    }
    double d = is_integer(v) ? (double)ash__value_integer(v) : ash__value_double(v);
    ash__box_double(box, double_unary(op, d));
    return 0;
}

static int round_integer(ash_value v, int place, bool truncate, ash_value_box *box, ash_error *err)
{
    int64_t n;
    if (place >= 0) {
        box_like(box, v, ash__value_integer(v));
        return 0;
    }
    /* By way of decimals: of the powers of ten that are rounded to, 10^19 and 10^20 are no
     * int64. */
    ash_decimal rounded =
        ash__decimal_round(ash__decimal_from_int64(ash__value_integer(v)), place, truncate);
    if (!ash__decimal_to_int64(rounded, true, &n))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ROUND_OUT_OF_RANGE,
                                "the rounded number does not fit a 64-bit integer");
    box_like(box, v, n);
    return 0;
}

static double round_double(double v, int place, bool truncate)
{
    if (!isfinite(v))
        return v;
    if (place == 0)
        /* Half to even, as the rounding mode is that nobody here changes. */
        return truncate ? trunc(v) : nearbyint(v);
    /* With 34 digits: the 15 of arithmetic would round once before, and twice is wrong now and
     * then. */
    ash_decimal exact = ash__decimal_from_double_closely(v);
    return ash__decimal_to_double(ash__decimal_round(exact, place, truncate));
}

static ash_decimal round_decimal(ash_decimal v, int place, bool truncate)
{
    if (ash__decimal_is_nan(v) || ash__decimal_is_infinite(v))
        return v;
    return ash__decimal_round(v, place, truncate);
}

int ash__number_round(ash_value v, int64_t place, bool truncate, ash_value_box *box, ash_error *err)
{
    if (!ash__value_is_number(v))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ROUND_NOT_NUMBER,
                                "only numbers are rounded, not type %s", ash__type_name(v.type));
    if (place < PLACE_MIN || place > PLACE_MAX)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ROUND_PLACE_OUT_OF_RANGE,
                                "cannot round to place %lld, only %d to %d are supported",
                                (long long)place, PLACE_MIN, PLACE_MAX);
    if (is_integer(v))
        return round_integer(v, (int)place, truncate, box, err);
    if (v.type == BSON_TYPE_DECIMAL128)
        ash__box_decimal(box, round_decimal(ash__value_decimal(v), (int)place, truncate));
    else
        ash__box_double(box, round_double(ash__value_double(v), (int)place, truncate));
    return 0;
}

static bool integer_power(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;
    if (exponent < 0) {
        /* Of any other base it is a fraction. */
        if (base != 1 && base != -1)
            return false;
        exponent &= 1;
    }
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return false;
        exponent >>= 1;
        /* The square behind the last bit is not needed, and may be what overflows. */
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return false;
    }
    *out = result;
    return true;
}

static void power(ash_value a, ash_value b, ash_value_box *box)
{
    int64_t n;
    double x = 0;
    double y = 0;
    if (a.type == BSON_TYPE_DECIMAL128 || b.type == BSON_TYPE_DECIMAL128) {
        ash__box_decimal(box, ash__decimal_pow(ash__decimal_of(a), ash__decimal_of(b)));
        return;
    }
    if (is_integer(a) && is_integer(b) &&
        integer_power(ash__value_integer(a), ash__value_integer(b), &n)) {
        box_like(box, a.type == BSON_TYPE_INT32 ? b : a, n);
        return;
    }
    ash__value_as_double(a, &x);
    ash__value_as_double(b, &y);
    ash__box_double(box, pow(x, y));
}

int ash__number_pow(ash_value a, ash_value b, ash_value_box *box, ash_error *err)
{
    ash_value_box zero_box;
    ash_value zero = ash__box_int32(&zero_box, 0);
    if (!ash__value_is_number(a) || !ash__value_is_number(b))
        return ash__fail_server(err, ASH_EINVAL,
                                ash__value_is_number(a) ? ASH_MONGO_LOCATION_POW_EXPONENT_NOT_NUMBER
                                                        : ASH_MONGO_LOCATION_POW_BASE_NOT_NUMBER,
                                "cannot raise type %s to a power of type %s",
                                ash__type_name(a.type), ash__type_name(b.type));
    if (ash__number_compare(a, zero) == 0 && !ash__value_is_nan(b) &&
        ash__number_compare(b, zero) < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_POW_OF_ZERO_NEGATIVE,
                                "cannot raise 0 to a negative power");
    power(a, b, box);
    return 0;
}
