/* SPDX-License-Identifier: Apache-2.0 */
/* $dateAdd $dateSubtract $dateDiff $dateTrunc. */
#include "query/expr/date.h"

#include <string.h>

enum unit { YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, MILLI };

static const struct {
    const char *name;
    int64_t ms; /* 0: counted in months */
    int64_t months;
} units[] = {
    {"year", 0, 12},        {"quarter", 0, 3},    {"month", 0, 1},
    {"week", 604800000, 0}, {"day", 86400000, 0}, {"hour", 3600000, 0},
    {"minute", 60000, 0},   {"second", 1000, 0},  {"millisecond", 1, 0},
};

static int unit_arg(ash_eval *e, ash_value v, enum unit *out)
{
    uint32_t len;
    if (!ash__is_string(v))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_DATE_UNIT_NOT_STRING,
                                "date operators require 'unit' to be a string, but got %s",
                                ash__type_text(v));
    const char *name = ash__value_string(v, &len);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, name) == 0) {
            *out = (enum unit)i;
            return 0;
        }
    }
    return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                            "unknown time unit value: %.40s", name);
}

/* The day of the month stays, or becomes the last that the month has. */
static bool add_months(int64_t ms, int64_t months, int64_t *out)
{
    ash_civil c = ash__civil_from_ms(ms);
    if (months > 4000000 || months < -4000000)
        return false;
    int64_t index = c.year * 12 + c.month - 1 + months;
    /* Rounded down, for years before 0. */
    c.year = index / 12 - (index % 12 < 0);
    c.month = (int)(index - c.year * 12) + 1;
    int last = ash__month_days(c.year, c.month);
    c.day = c.day < last ? c.day : last;
    return ash__civil_to_ms(&c, out);
}

static const ash_op_param add_params[] = {
    {"startDate", ASH_MONGO_LOCATION_DATE_ADD_MISSING_ARGUMENT},
    {"unit", ASH_MONGO_LOCATION_DATE_ADD_MISSING_ARGUMENT},
    {"amount", ASH_MONGO_LOCATION_DATE_ADD_MISSING_ARGUMENT},
    {"timezone", 0},
    {NULL}};

/* variant: 1 or -1. */
static int eval_date_add(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    enum unit unit = MILLI;
    int64_t ms = 0, amount, change, local, result;
    int32_t offset;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v[0]) || ash__nullish(v[1]) || ash__nullish(v[2]) ||
        (n->args[3] != NULL && ash__nullish(v[3])))
        return 0;
    if (ash__date_arg(e, v[0], &ms) != 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_DATE_ADD_START_NOT_DATE,
                                "%s requires startDate to be convertible to a date", n->op->name);
    rc = unit_arg(e, v[1], &unit);
    if (rc == 0)
        rc = ash__zone_arg(e, v[3], &offset);
    if (rc != 0)
        return rc;
    if (!ash__value_is_number(v[2]) || !ash__value_as_int64(v[2], &amount))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_DATE_ADD_AMOUNT_NOT_INT64,
                                "%s expects integer amount of time units", n->op->name);
    bool ok = !__builtin_mul_overflow(amount, (int64_t)n->op->variant, &amount);
    /* Months are added in local time, where the day of the month is the one that is meant. */
    if (units[unit].months != 0) {
        ok = ok && !__builtin_mul_overflow(amount, units[unit].months, &change) &&
             !__builtin_add_overflow(ms, offset * INT64_C(60000), &local) &&
             add_months(local, change, &result) &&
             !__builtin_sub_overflow(result, offset * INT64_C(60000), &result);
    } else {
        ok = ok && !__builtin_mul_overflow(amount, units[unit].ms, &change) &&
             !__builtin_add_overflow(ms, change, &result);
    }
    if (!ok)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_DATE_ADD_OVERFLOW,
                                "%s overflowed", n->op->name);
    *out = ash__make_date(e->arena, result);
    return 0;
}

/* Number of the unit that holds the moment, counted from a fixed start. */
static int64_t unit_index(enum unit unit, int64_t ms, int week_start)
{
    ash_civil c = ash__civil_from_ms(ms);
    if (units[unit].months != 0)
        return ash__floor_div(c.year * 12 + c.month - 1, units[unit].months);
    if (unit == WEEK)
        return ash__floor_div(ash__floor_div(ms, 86400000) - week_start, 7);
    return ash__floor_div(ms, units[unit].ms);
}

/* false when no date is so early. */
static bool unit_start(enum unit unit, int64_t index, int week_start, int64_t *ms)
{
    if (units[unit].months != 0) {
        ash_civil c = {.year = ash__floor_div(index * units[unit].months, 12), .day = 1};
        c.month = (int)(index * units[unit].months - c.year * 12) + 1;
        return ash__civil_to_ms(&c, ms);
    }
    if (unit == WEEK)
        return !__builtin_mul_overflow(index * 7 + week_start, INT64_C(86400000), ms);
    return !__builtin_mul_overflow(index, units[unit].ms, ms);
}

/* Days from 1970-01-01 to the first given weekday; "Sunday" or "sun" in any case. */
static int week_start_arg(ash_eval *e, ash_value v, int fallback, int *out)
{
    static const char *const days[] = {"thursday", "friday",  "saturday", "sunday",
                                       "monday",   "tuesday", "wednesday"};
    uint32_t len;
    *out = fallback;
    if (ash__nullish(v))
        return 0;
    const char *name = ash__is_string(v) ? ash__value_string(v, &len) : "";
    for (int i = 0; i < 7; i++) {
        if (strcasecmp(name, days[i]) == 0 ||
            (strlen(name) == 3 && strncasecmp(name, days[i], 3) == 0)) {
            *out = i;
            return 0;
        }
    }
    return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                            "unknown day of week value: %.40s", name);
}

static const ash_op_param diff_params[] = {
    {"startDate", ASH_MONGO_LOCATION_DATE_DIFF_MISSING_ARGUMENT},
    {"endDate", ASH_MONGO_LOCATION_DATE_DIFF_MISSING_ARGUMENT},
    {"unit", ASH_MONGO_LOCATION_DATE_DIFF_MISSING_ARGUMENT},
    {"timezone", 0},
    {"startOfWeek", 0},
    {NULL}};

/* Is one of the arguments that were given null, or missing? */
static bool has_null(const ash_node *n, const ash_value *v)
{
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->args[i] != NULL && ash__nullish(v[i]))
            return true;
    }
    return false;
}

static int eval_date_diff(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    enum unit unit = MILLI;
    int64_t ms[2];
    int32_t offset;
    int week_start;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (has_null(n, v))
        return 0;
    for (int i = 0; rc == 0 && i < 2; i++)
        rc = ash__date_arg(e, v[i], &ms[i]);
    if (rc == 0)
        rc = unit_arg(e, v[2], &unit);
    if (rc == 0)
        rc = ash__zone_arg(e, v[3], &offset);
    if (rc == 0)
        /* Sunday, three days behind the Thursday that 1970 began with. */
        rc = week_start_arg(e, v[4], 3, &week_start);
    if (rc != 0)
        return rc;
    for (int i = 0; i < 2; i++)
        ms[i] = unit_index(unit, ash__zone_shift(ms[i], offset), week_start);
    if (__builtin_sub_overflow(ms[1], ms[0], &ms[0]))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_OVERFLOW, "$dateDiff overflowed");
    *out = ash__make_int64(e->arena, ms[0]);
    return 0;
}

static const ash_op_param trunc_params[] = {
    {"date", ASH_MONGO_LOCATION_DATE_TRUNC_NOT_OBJECT},
    {"unit", ASH_MONGO_LOCATION_DATE_TRUNC_UNKNOWN_ARGUMENT},
    {"binSize", 0},
    {"timezone", 0},
    {"startOfWeek", 0},
    {NULL}};

static int eval_date_trunc(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    enum unit unit = MILLI;
    int64_t ms, bin = 1;
    int32_t offset;
    int week_start;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (has_null(n, v))
        return 0;
    rc = ash__date_arg(e, v[0], &ms);
    if (rc == 0)
        rc = unit_arg(e, v[1], &unit);
    if (rc == 0)
        rc = ash__zone_arg(e, v[3], &offset);
    if (rc == 0)
        rc = week_start_arg(e, v[4], 3, &week_start);
    if (rc != 0)
        return rc;
    if (n->args[2] != NULL && (!ash__value_as_int64(v[2], &bin) || bin < 1 || bin > 1000000000))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_DATE_TRUNC_BIN_SIZE_ILLEGAL,
                                "$dateTrunc requires 'binSize' to be a positive 64-bit integer");
    /* Bins are counted from 2000-01-01 (weeks: the first week start behind it), in local time. */
    int64_t origin =
        unit_index(unit, INT64_C(946684800000) + (unit == WEEK ? 518400000 : 0), week_start);
    int64_t index = unit_index(unit, ash__zone_shift(ms, offset), week_start);
    if (__builtin_sub_overflow(index, origin, &index) ||
        __builtin_mul_overflow(ash__floor_div(index, bin), bin, &index) ||
        __builtin_add_overflow(index, origin, &index) || !unit_start(unit, index, week_start, &ms))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_OVERFLOW, "$dateTrunc overflowed");
    *out = ash__make_date(e->arena, ash__zone_shift(ms, -offset));
    return 0;
}

static const ash_op_param from_string_params[] = {
    {"dateString", ASH_MONGO_LOCATION_DATE_FROM_STRING_WITHOUT_TEXT},
    {"timezone", 0},
    {"onError", 0},
    {"onNull", 0},
    {NULL}};

/* The moment that the text names; refusals are 241. */
static int parse_moment(ash_eval *e, ash_value v, int32_t offset, int64_t *ms)
{
    uint32_t len = 0;
    bool has_zone;
    const char *text = ash__is_string(v) ? ash__value_string(v, &len) : "";
    if (!ash__date_parse(text, len, ms, &has_zone))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_CONVERSION_FAILURE,
                                "Error parsing date string '%.60s'", text);
    if (has_zone && offset != 0)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_CONVERSION_FAILURE,
                                "$dateFromString takes a time zone in the text or as an argument, "
                                "not both: '%.60s'",
                                text);
    *ms = ash__zone_shift(*ms, -offset);
    return 0;
}

static int eval_from_string(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value text, zone;
    int64_t ms;
    int32_t offset = 0;
    int rc = ash__eval_arg(n, 0, e, &text);
    if (rc == 0)
        rc = ash__eval_arg(n, 1, e, &zone);
    if (rc != 0)
        return rc;
    /* Null only if there is something to parse: onNull comes first. */
    bool no_zone = n->args[1] != NULL && ash__nullish(zone);
    if (!no_zone && (rc = ash__zone_arg(e, zone, &offset)) != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(text))
        return n->args[3] != NULL ? ash__eval_arg(n, 3, e, out) : 0;
    if (no_zone)
        return 0;
    ash_error refused = ASH_ERROR_INIT;
    ash_eval attempt = *e;
    attempt.err = &refused; /* with onError it is no failure of the expression */
    rc = parse_moment(&attempt, text, offset, &ms);
    if (rc != 0 && n->args[2] != NULL)
        return ash__eval_arg(n, 2, e, out);
    if (rc != 0 && e->err != NULL)
        *e->err = refused;
    if (rc == 0)
        *out = ash__make_date(e->arena, ms);
    return rc;
}

const ash_expr_op ash__expr_date_math_ops[] = {
    {"$dateAdd", 0, 0, eval_date_add, 1, add_params, ASH_MONGO_LOCATION_DATE_ADD_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_ADD_UNKNOWN_ARGUMENT, NULL, ZONE_NOTE},
    {"$dateSubtract", 0, 0, eval_date_add, -1, add_params, ASH_MONGO_LOCATION_DATE_ADD_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_ADD_UNKNOWN_ARGUMENT, NULL, ZONE_NOTE},
    {"$dateDiff", 0, 0, eval_date_diff, 0, diff_params, ASH_MONGO_LOCATION_DATE_DIFF_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_DIFF_UNKNOWN_ARGUMENT, NULL, ZONE_NOTE},
    {"$dateTrunc", 0, 0, eval_date_trunc, 0, trunc_params, ASH_MONGO_LOCATION_DATE_TRUNC_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_TRUNC_UNKNOWN_ARGUMENT, NULL, ZONE_NOTE},
    {"$dateFromString", 0, 0, eval_from_string, 0, from_string_params,
     ASH_MONGO_LOCATION_DATE_FROM_STRING_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_FROM_STRING_UNKNOWN_ARGUMENT, NULL,
     "ISO 8601 strings only: the argument 'format' is refused (40541)"},
    {NULL},
};
