/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in the wider kind of the two operands.  Decimals are computed by Intel's library
 * (decimal_math.c); of integers, overflow is left to the compiler to find. */
#include "bson/number.h"

#include "base/mem.h"
#include "bson/decimal.h"

#include <math.h>

/* Each gives way to those behind it. */
enum number_kind { KIND_INT32, KIND_INT64, KIND_DOUBLE, KIND_DECIMAL };

static const char *const operations[] = {"addition", "subtraction", "multiplication", "division",
                                         "remainder"};

static enum number_kind kind_of(ash_value v)
{
    switch (v.type) {
    case BSON_TYPE_INT32:
        return KIND_INT32;
    case BSON_TYPE_INT64:
        return KIND_INT64;
    case BSON_TYPE_DOUBLE:
        return KIND_DOUBLE;
    default:
        ash_assert(v.type == BSON_TYPE_DECIMAL128);
        return KIND_DECIMAL;
    }
}

static double double_of(ash_value v)
{
    double d = 0;
    bool ok = ash__value_as_double(v, &d);
    ash_assert(ok);
    return d;
}

/* int32 as long as the operands are and the result fits. */
static void box_integer(ash_value_box *box, enum number_kind widest, int64_t v)
{
    if (widest == KIND_INT32 && v >= INT32_MIN && v <= INT32_MAX)
        ash__box_int32(box, (int32_t)v);
    else
        ash__box_int64(box, v);
}

static bool integer_overflows(enum ash_arith op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case ASH_ADD:
        return __builtin_add_overflow(a, b, out);
    case ASH_SUBTRACT:
        return __builtin_sub_overflow(a, b, out);
    case ASH_MULTIPLY:
        return __builtin_mul_overflow(a, b, out);
    default:
        ash_assert(op == ASH_MOD);
        *out = b == -1 ? 0 : a % b; /* the lowest int64 by -1 traps */
        return false;
    }
}

static double double_arith(enum ash_arith op, double a, double b)
{
    switch (op) {
    case ASH_ADD:
        return a + b;
    case ASH_SUBTRACT:
        return a - b;
    case ASH_MULTIPLY:
        return a * b;
    case ASH_DIVIDE:
        return a / b;
    default:
        ash_assert(op == ASH_MOD);
        return fmod(a, b);
    }
}

/* Of all numbers only zeros are false, whatever their type and sign. */
static bool is_zero(ash_value v)
{
    return !ash__value_truthy(v);
}

/* A whole double on the right of mod counts as an int32, since the shell writes all numbers so. */
static enum number_kind right_kind(enum ash_arith op, ash_value v)
{
    if (op == ASH_MOD && v.type == BSON_TYPE_DOUBLE) {
        double d = ash__value_double(v);
        if (d == trunc(d) && d >= INT32_MIN && d <= INT32_MAX)
            return KIND_INT32;
    }
    return kind_of(v);
}

/* Two whole numbers, and the wider of their kinds. */
typedef struct integers {
    int64_t left, right;
    enum number_kind widest;
} integers;

static integers integers_of(ash_value a, ash_value b, enum number_kind widest)
{
    return (integers){
        ash__value_integer(a),
        b.type == BSON_TYPE_DOUBLE ? (int64_t)ash__value_double(b) : ash__value_integer(b), widest};
}

static int integer_arith(enum ash_arith op, integers x, bool widen, ash_value_box *box,
                         ash_error *err)
{
    int64_t result;
    if (!integer_overflows(op, x.left, x.right, &result)) {
        box_integer(box, x.widest, result);
        return 0;
    }
    if (!widen)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "%s of %lld and %lld does not fit a 64-bit integer", operations[op],
                                (long long)x.left, (long long)x.right);
    ash__box_double(box, double_arith(op, (double)x.left, (double)x.right));
    return 0;
}

static int check_operands(enum ash_arith op, ash_value a, ash_value b, ash_error *err)
{
    if (!ash__value_is_number(a) || !ash__value_is_number(b))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "%s of types %s and %s is not possible", operations[op],
                                ash__type_name(a.type), ash__type_name(b.type));
    if ((op == ASH_DIVIDE || op == ASH_MOD) && is_zero(b))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "cannot divide by zero");
    return 0;
}

int ash__number_arith(enum ash_arith op, ash_value a, ash_value b, bool widen, ash_value_box *box,
                      ash_error *err)
{
    int rc = check_operands(op, a, b, err);
    if (rc != 0)
        return rc;
    enum number_kind left = kind_of(a);
    enum number_kind right = right_kind(op, b);
    enum number_kind widest = left > right ? left : right;
    if (widest == KIND_DECIMAL) {
        ash__box_decimal(box, ash__decimal_arith(op, ash__decimal_of(a), ash__decimal_of(b)));
        return 0;
    }
    /* Two integers divide as doubles, too: MongoDB knows no integer division. */
    if (widest == KIND_DOUBLE || op == ASH_DIVIDE) {
        ash__box_double(box, double_arith(op, double_of(a), double_of(b)));
        return 0;
    }
    return integer_arith(op, integers_of(a, b, widest), widen, box, err);
}

static bool read_integer(ash_value v, int64_t *out)
{
    if (v.type == BSON_TYPE_DOUBLE) {
        double d = ash__value_double(v);
        /* So written, NaN fails too. */
        if (!(d >= -0x1p63 && d < 0x1p63))
            return false;
        *out = (int64_t)d;
        return true;
    }
    if (v.type == BSON_TYPE_DECIMAL128)
        return ash__decimal_to_int64(ash__value_decimal(v), false, out);
    *out = ash__value_integer(v);
    return true;
}

static int does_not_fit(uint8_t type, ash_error *err)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CONVERSION_FAILURE,
                            "conversion would overflow type %s", ash__type_name(type));
}

static int convert_to_integer(ash_value v, uint8_t type, ash_value_box *box, ash_error *err)
{
    int64_t n;
    if (!read_integer(v, &n))
        return does_not_fit(type, err);
    if (type == BSON_TYPE_INT32) {
        if (n < INT32_MIN || n > INT32_MAX)
            return does_not_fit(type, err);
        ash__box_int32(box, (int32_t)n);
    } else {
        ash__box_int64(box, n);
    }
    return 0;
}

static int convert_to_double(ash_value v, ash_value_box *box, ash_error *err)
{
    double d = double_of(v);
    /* A decimal that was finite has overflowed. */
    if (isinf(d) && v.type == BSON_TYPE_DECIMAL128 &&
        !ash__decimal_is_infinite(ash__value_decimal(v)))
        return does_not_fit(BSON_TYPE_DOUBLE, err);
    ash__box_double(box, d);
    return 0;
}

int ash__number_convert(ash_value v, uint8_t type, ash_value_box *box, ash_error *err)
{
    if (!ash__value_is_number(v))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CONVERSION_FAILURE,
                                "cannot convert type %s to %s", ash__type_name(v.type),
                                ash__type_name(type));
    switch (type) {
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
        return convert_to_integer(v, type, box, err);
    case BSON_TYPE_DOUBLE:
        return convert_to_double(v, box, err);
    default:
        ash_assert(type == BSON_TYPE_DECIMAL128);
        ash__box_decimal(box, ash__decimal_of(v));
        return 0;
    }
}
