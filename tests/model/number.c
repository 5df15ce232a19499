/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include "naive.h"

#include <math.h>
#include <string.h>

/* Numbers of the four types, compared exactly by long multiplication. */

static bool is_zero(const exact *e)
{
    return (e->digits[0] | e->digits[1] | e->digits[2] | e->digits[3]) == 0;
}

static void set_digits(exact *e, uint64_t high, uint64_t low)
{
    e->digits[0] = (uint32_t)low;
    e->digits[1] = (uint32_t)(low >> 32);
    e->digits[2] = (uint32_t)high;
    e->digits[3] = (uint32_t)(high >> 32);
}

static enum number_kind from_double(double d, exact *e)
{
    if (isnan(d))
        return NUMBER_NAN;
    if (isinf(d))
        return d < 0 ? NUMBER_MINUS_INFINITY : NUMBER_INFINITY;
    int exponent;
    double fraction = frexp(fabs(d), &exponent);
    e->negative = signbit(d) != 0;
    set_digits(e, 0, (uint64_t)ldexp(fraction, 53));
    e->two = exponent - 53;
    return NUMBER_FINITE;
}

/* More digits than 34 stand for 0. */
static bool over_34_digits(uint64_t high, uint64_t low)
{
    const uint64_t limit_high = UINT64_C(0x1ed09bead87c0), limit_low = UINT64_C(0x378d8e63ffffffff);
    return high > limit_high || (high == limit_high && low > limit_low);
}

static enum number_kind from_decimal(bson_decimal128_t dec, exact *e)
{
    uint64_t high = dec.high;
    e->negative = high >> 63 != 0;
    if ((high >> 58 & 0x1f) == 0x1f)
        return NUMBER_NAN;
    if ((high >> 58 & 0x1f) == 0x1e)
        return e->negative ? NUMBER_MINUS_INFINITY : NUMBER_INFINITY;
    if ((high >> 61 & 3) == 3) {
        e->ten = (int)(high >> 47 & 0x3fff) - 6176;
        return NUMBER_FINITE;
    }
    e->ten = (int)(high >> 49 & 0x3fff) - 6176;
    high &= UINT64_C(0x1ffffffffffff);
    if (!over_34_digits(high, dec.low))
        set_digits(e, high, dec.low);
    return NUMBER_FINITE;
}

enum number_kind number_exact(const mv *v, exact *out)
{
    memset(out, 0, sizeof *out);
    if (v->type == BSON_TYPE_DOUBLE)
        return from_double(v->d, out);
    if (v->type == BSON_TYPE_DECIMAL128)
        return from_decimal(v->dec, out);
    out->negative = v->i < 0;
    set_digits(out, 0, v->i < 0 ? 0 - (uint64_t)v->i : (uint64_t)v->i);
    return NUMBER_FINITE;
}

/* ---- long numbers ---- */

enum { WORDS = 2200 };
typedef struct longnum {
    uint32_t at[WORDS];
    uint32_t used;
} longnum;

static void times(longnum *n, uint32_t factor)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n->used; i++) {
        carry += (uint64_t)n->at[i] * factor;
        n->at[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        n->at[n->used++] = (uint32_t)carry;
}

static void raise_by(longnum *n, int two, int ten)
{
    for (; ten >= 9; ten -= 9)
        times(n, 1000000000);
    for (; ten > 0; ten--)
        times(n, 10);
    for (; two >= 31; two -= 31)
        times(n, UINT32_C(1) << 31);
    times(n, UINT32_C(1) << two);
}

static void load(longnum *n, const exact *e)
{
    memcpy(n->at, e->digits, sizeof e->digits);
    n->used = 4;
}

static int compare_long(const longnum *a, const longnum *b)
{
    for (uint32_t i = a->used > b->used ? a->used : b->used; i-- > 0;) {
        uint32_t x = i < a->used ? a->at[i] : 0, y = i < b->used ? b->at[i] : 0;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static long double magnitude(const exact *e)
{
    long double digits = 0;
    for (int i = 3; i >= 0; i--)
        digits = digits * 4294967296.0L + e->digits[i];
    return log10l(digits) + e->two * log10l(2) + e->ten;
}

static int compare_positive(const exact *a, const exact *b)
{
    static longnum x, y;
    long double difference = magnitude(a) - magnitude(b);
    if (fabsl(difference) > 0.001L)
        return difference < 0 ? -1 : 1;
    load(&x, a);
    load(&y, b);
    int two = a->two - b->two, ten = a->ten - b->ten;
    raise_by(&x, two > 0 ? two : 0, ten > 0 ? ten : 0);
    raise_by(&y, two < 0 ? -two : 0, ten < 0 ? -ten : 0);
    return compare_long(&x, &y);
}

int naive_number_compare(const mv *a, const mv *b)
{
    exact x, y;
    enum number_kind p = number_exact(a, &x), q = number_exact(b, &y);
    if (p != q || p != NUMBER_FINITE)
        return (p > q) - (p < q);
    if (is_zero(&x) || is_zero(&y)) {
        int left = is_zero(&x) ? 0 : x.negative ? -1 : 1;
        int right = is_zero(&y) ? 0 : y.negative ? -1 : 1;
        return left - right;
    }
    if (x.negative != y.negative)
        return x.negative ? -1 : 1;
    int c = compare_positive(&x, &y);
    return x.negative ? -c : c;
}

bool naive_is_nan(const mv *v)
{
    exact e;
    return mv_is_number(v) && number_exact(v, &e) == NUMBER_NAN;
}

bool naive_whole(const mv *v, int64_t *out)
{
    if (!mv_is_number(v) || v->type == BSON_TYPE_DECIMAL128)
        return false;
    if (v->type != BSON_TYPE_DOUBLE) {
        *out = v->i;
        return true;
    }
    if (!(v->d >= -9223372036854775808.0 && v->d < 9223372036854775808.0) || v->d != trunc(v->d))
        return false;
    *out = (int64_t)v->d;
    return true;
}
