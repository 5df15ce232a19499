/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_EXPR_DATE_H
#define ASH_QUERY_EXPR_DATE_H

/* What the date operators share: reading their arguments. */

#include "query/kit/calendar.h"
#include "query/expr/node.h"

#define ZONE_NOTE "time zones are UTC and fixed offsets; names are refused (40485)"

int ash__date_arg(ash_eval *e, ash_value v, int64_t *ms); /* 16006 for other types */
/* ms moved by offset_minutes; stops at the ends of the range. */
int64_t ash__zone_shift(int64_t ms, int32_t offset_minutes);
int ash__zone_arg(ash_eval *e, ash_value v, int32_t *offset_minutes); /* missing: UTC */

#endif
