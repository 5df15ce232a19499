/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "unsure.h"

#define DECIMAL_CALL_BY_REFERENCE      0
#define DECIMAL_GLOBAL_ROUNDING        0
#define DECIMAL_GLOBAL_EXCEPTION_FLAGS 0
#include <stddef.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <bid_conf.h>
#include <bid_functions.h>
#pragma GCC diagnostic pop

bool naive_unsure;

static BID_UINT128 as_decimal(const mv *v)
{
    BID_UINT128 x;
    if (v->type == BSON_TYPE_DECIMAL128) {
        x.w[0] = v->dec.low;
        x.w[1] = v->dec.high;
        return x;
    }
    /* How a double becomes a decimal is a matter of rounding that nobody compares here. */
    naive_unsure |= v->type == BSON_TYPE_DOUBLE;
    return bid128_from_int64(v->i);
}

static mv *decimal_result(BID_UINT128 x)
{
    mv *v = mv_new(BSON_TYPE_DECIMAL128);
    v->dec.low = x.w[0];
    v->dec.high = x.w[1];
    return v;
}

static double as_double(const mv *v)
{
    return v->type == BSON_TYPE_DOUBLE ? v->d : (double)v->i;
}

static bool either(const mv *a, const mv *b, bson_type_t type)
{
    return a->type == type || b->type == type;
}

static mv *whole_result(const mv *a, const mv *b, int64_t result)
{
    if (either(a, b, BSON_TYPE_INT64))
        return mv_long(result);
    return mv_int(result);
}

mv *naive_add(const mv *a, const mv *b)
{
    int64_t sum;
    unsigned flags = 0;
    if (either(a, b, BSON_TYPE_DECIMAL128))
        return decimal_result(bid128_add(as_decimal(a), as_decimal(b), 0, &flags));
    if (either(a, b, BSON_TYPE_DOUBLE))
        return mv_double(as_double(a) + as_double(b));
    return __builtin_add_overflow(a->i, b->i, &sum) ? NULL : whole_result(a, b, sum);
}

mv *naive_multiply(const mv *a, const mv *b)
{
    int64_t product;
    unsigned flags = 0;
    if (either(a, b, BSON_TYPE_DECIMAL128))
        return decimal_result(bid128_mul(as_decimal(a), as_decimal(b), 0, &flags));
    if (either(a, b, BSON_TYPE_DOUBLE))
        return mv_double(as_double(a) * as_double(b));
    return __builtin_mul_overflow(a->i, b->i, &product) ? NULL : whole_result(a, b, product);
}
