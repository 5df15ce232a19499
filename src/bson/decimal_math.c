/* SPDX-License-Identifier: Apache-2.0 */
/* What bson/number.h asks of Intel's library.  The flags of an operation are read by
 * ash__decimal_round() alone: elsewhere overflow and undefined answers show in the result. */
#include "bson/decimal.h"

#include "base/mem.h"
#include "bson/bid.h"

/* A zero with the exponent -place: what rounding to that place takes as its measure. */
#define EXPONENT_BIAS  6176
#define EXPONENT_SHIFT 49

ash_decimal ash__decimal_arith(enum ash_arith op, ash_decimal a, ash_decimal b)
{
    BID_UINT128 x = ash__bid(a);
    BID_UINT128 y = ash__bid(b);
    unsigned flags = 0;
    switch (op) {
    case ASH_ADD:
        return ash__unbid(bid128_add(x, y, BID_ROUNDING_TO_NEAREST, &flags));
    case ASH_SUBTRACT:
        return ash__unbid(bid128_sub(x, y, BID_ROUNDING_TO_NEAREST, &flags));
    case ASH_MULTIPLY:
        return ash__unbid(bid128_mul(x, y, BID_ROUNDING_TO_NEAREST, &flags));
    case ASH_DIVIDE:
        return ash__unbid(bid128_div(x, y, BID_ROUNDING_TO_NEAREST, &flags));
    default:
        ash_assert(op == ASH_MOD);
        return ash__unbid(bid128_fmod(x, y, &flags));
    }
}

ash_decimal ash__decimal_unary(enum ash_unary op, ash_decimal d)
{
    BID_UINT128 x = ash__bid(d);
    unsigned flags = 0;
    switch (op) {
    case ASH_ABS:
        return ash__unbid(bid128_abs(x));
    case ASH_CEIL:
        return ash__unbid(bid128_round_integral_positive(x, &flags));
    case ASH_FLOOR:
        return ash__unbid(bid128_round_integral_negative(x, &flags));
    case ASH_NEGATE:
        return ash__unbid(bid128_negate(x));
    case ASH_SQRT:
        return ash__unbid(bid128_sqrt(x, BID_ROUNDING_TO_NEAREST, &flags));
    case ASH_EXP:
        return ash__unbid(bid128_exp(x, BID_ROUNDING_TO_NEAREST, &flags));
    case ASH_LN:
        return ash__unbid(bid128_log(x, BID_ROUNDING_TO_NEAREST, &flags));
    default:
        ash_assert(op == ASH_LOG10);
        return ash__unbid(bid128_log10(x, BID_ROUNDING_TO_NEAREST, &flags));
    }
}

ash_decimal ash__decimal_pow(ash_decimal a, ash_decimal b)
{
    unsigned flags = 0;
    return ash__unbid(bid128_pow(ash__bid(a), ash__bid(b), BID_ROUNDING_TO_NEAREST, &flags));
}

ash_decimal ash__decimal_round(ash_decimal d, int place, bool truncate)
{
    unsigned flags = 0;
    ash_assert(place >= -EXPONENT_BIAS && place <= EXPONENT_BIAS);
    ash_decimal measure;
    measure.low = 0;
    measure.high = (uint64_t)(EXPONENT_BIAS - place) << EXPONENT_SHIFT;
    BID_UINT128 rounded =
        bid128_quantize(ash__bid(d), ash__bid(measure),
                        truncate ? BID_ROUNDING_TO_ZERO : BID_ROUNDING_TO_NEAREST, &flags);
    /* Invalid: the result would need more than 34 digits, so there was nothing to round away. */
    return flags & BID_INVALID_EXCEPTION ? d : ash__unbid(rounded);
}
