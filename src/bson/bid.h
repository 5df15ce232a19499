/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_BID_H
#define ASH_BSON_BID_H

/* Intel's decimal library as libbidgcc000 was built: arguments by value, rounding mode and status
 * flags as arguments. Only decimal*.c include this. */

#define DECIMAL_CALL_BY_REFERENCE      0
#define DECIMAL_GLOBAL_ROUNDING        0
#define DECIMAL_GLOBAL_EXCEPTION_FLAGS 0

#include <stddef.h> /* bid_functions.h uses wchar_t */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <bid_conf.h>
#include <bid_functions.h>
#pragma GCC diagnostic pop

#include "bson/decimal.h"

static inline BID_UINT128 ash__bid(ash_decimal d)
{
    BID_UINT128 x;
    x.w[0] = d.low;
    x.w[1] = d.high;
    return x;
}

static inline ash_decimal ash__unbid(BID_UINT128 x)
{
    ash_decimal d;
    d.low = x.w[0];
    d.high = x.w[1];
    return d;
}

#endif
