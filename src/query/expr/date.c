/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of dates, $dateToString, $dateToParts, $dateFromParts. */
#include "query/expr/date.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int ash__date_arg(ash_eval *e, ash_value v, int64_t *ms)
{
    if (v.type == BSON_TYPE_DATE_TIME) {
        *ms = ash__value_int64(v);
    } else if (v.type == BSON_TYPE_TIMESTAMP) {
        *ms = (int64_t)((uint64_t)ash__value_int64(v) >> 32) * 1000;
    } else if (v.type == BSON_TYPE_OID) {
        *ms = (int64_t)bson_oid_get_time_t(ash__value_oid(v)) * 1000;
    } else {
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_CANNOT_BECOME_DATE,
                                "can't convert from BSON type %s to Date", ash__type_text(v));
    }
    return 0;
}

int64_t ash__zone_shift(int64_t ms, int32_t offset_minutes)
{
    int64_t moved;
    if (__builtin_add_overflow(ms, offset_minutes * INT64_C(60000), &moved))
        return ms < 0 ? INT64_MIN : INT64_MAX;
    return moved;
}

int ash__zone_arg(ash_eval *e, ash_value v, int32_t *offset_minutes)
{
    uint32_t len;
    *offset_minutes = 0;
    if (ash__value_is_missing(v))
        return 0;
    if (!ash__is_string(v))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_TIME_ZONE_NOT_STRING,
                                "timezone must evaluate to a string, found %s", ash__type_text(v));
    const char *name = ash__value_string(v, &len);
    if (!ash__zone_parse(name, offset_minutes))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_TIME_ZONE,
                                "unrecognized time zone identifier: \"%.60s\"", name);
    return 0;
}

enum part {
    YEAR,
    MONTH,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    MILLI,
    WEEKDAY,
    YEAR_DAY,
    ISO_YEAR,
    ISO_WEEK,
    ISO_WEEKDAY,
    WEEK
};

static int64_t date_part(enum part part, int64_t ms)
{
    ash_civil c = ash__civil_from_ms(ms);
    int64_t iso_year;
    int iso_week;
    ash__iso_week(ms, &iso_year, &iso_week);
    switch (part) {
    case YEAR:
        return c.year;
    case MONTH:
        return c.month;
    case DAY:
        return c.day;
    case HOUR:
        return c.hour;
    case MINUTE:
        return c.minute;
    case SECOND:
        return c.second;
    case MILLI:
        return c.milli;
    case WEEKDAY:
        return ash__day_of_week(ms);
    case YEAR_DAY:
        return ash__day_of_year(&c);
    case ISO_YEAR:
        return iso_year;
    case ISO_WEEK:
        return iso_week;
    case ISO_WEEKDAY:
        return (ash__day_of_week(ms) + 5) % 7 + 1;
    default: /* weeks start on Sunday; days before the first are week 0 */
        return (ash__day_of_year(&c) + 7 - ash__day_of_week(ms)) / 7;
    }
}

static int parse_part(ash_parse *p, ash_value spec, ash_node *n)
{
    static const ash_op_param params[] = {
        {"date", ASH_MONGO_LOCATION_DATE_PART_WITHOUT_DATE}, {"timezone", 0}, {NULL}};
    static const ash_expr_op one = {.min_args = 1, .max_args = 1};
    ash_expr_op named = {.name = n->op->name,
                         .params = params,
                         .object_code = ASH_MONGO_LOCATION_DATE_PART_UNKNOWN_ARGUMENT,
                         .unknown_code = ASH_MONGO_LOCATION_DATE_PART_UNKNOWN_ARGUMENT};
    ash_expr_op listed = one;
    listed.name = n->op->name;
    /* A document whose first field is no operator holds named arguments; any other is an
     * expression. */
    bool is_named = false;
    if (spec.type == BSON_TYPE_DOCUMENT) {
        ash_doc_iter it = ash__doc_iter(ash__value_doc(spec));
        is_named = ash__doc_iter_next(&it) && it.name[0] != '$';
    }
    if (is_named)
        return ash__expr_parse_params(p, &named, spec, n);
    return ash__expr_parse_list(p, &listed, spec, n);
}

static int eval_part(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value date, zone;
    int64_t ms;
    int32_t offset;
    int rc = ash__eval_arg(n, 0, e, &date);
    if (rc == 0)
        rc = ash__eval_arg(n, 1, e, &zone);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    /* A time zone that evaluates to null makes the result null; one that was not given is UTC. */
    bool has_zone = n->count > 1 && n->args[1] != NULL;
    if (ash__nullish(date) || (has_zone && ash__nullish(zone)))
        return 0;
    rc = ash__date_arg(e, date, &ms);
    if (rc == 0)
        rc = ash__zone_arg(e, zone, &offset);
    if (rc != 0)
        return rc;
    int64_t part = date_part((enum part)n->op->variant, ash__zone_shift(ms, offset));
    *out = n->op->variant == ISO_YEAR ? ash__make_int64(e->arena, part)
                                      : ash__make_int32(e->arena, (int32_t)part);
    return 0;
}

static const struct {
    char letter;
    enum part part;
    int width;
} format_parts[] = {
    {'Y', YEAR, 4},     {'m', MONTH, 2},    {'d', DAY, 2},      {'H', HOUR, 2},
    {'M', MINUTE, 2},   {'S', SECOND, 2},   {'L', MILLI, 3},    {'w', WEEKDAY, 1},
    {'j', YEAR_DAY, 3}, {'G', ISO_YEAR, 4}, {'V', ISO_WEEK, 2}, {'u', ISO_WEEKDAY, 1},
    {'U', WEEK, 2},
};

static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};

static bool format_letter(ash_buffer *buf, char letter, int64_t local_ms, int32_t offset)
{
    int hours = (offset < 0 ? -offset : offset) / 60;
    int minutes = (offset < 0 ? -offset : offset) % 60;
    const char *month = month_names[date_part(MONTH, local_ms) - 1];
    switch (letter) {
    case '%':
        ash__buffer_append_byte(buf, '%');
        return true;
    case 'z':
        ash__buffer_printf(buf, "%c%02d%02d", offset < 0 ? '-' : '+', hours, minutes);
        return true;
    case 'Z':
        ash__buffer_printf(buf, "%d", (int)offset);
        return true;
    case 'b':
        ash__buffer_printf(buf, "%.3s", month);
        return true;
    case 'B':
        ash__buffer_append_text(buf, month);
        return true;
    }
    for (size_t i = 0; i < sizeof format_parts / sizeof *format_parts; i++) {
        if (format_parts[i].letter == letter) {
            ash__buffer_printf(buf, "%0*" PRId64, format_parts[i].width,
                               date_part(format_parts[i].part, local_ms));
            return true;
        }
    }
    return false;
}

static int format_date(ash_eval *e, const char *format, uint32_t len, int64_t ms, int32_t offset,
                       ash_value *out)
{
    ash_buffer buf = ASH_BUFFER_INIT;
    int rc = 0;
    int64_t local = ash__zone_shift(ms, offset);
    for (uint32_t i = 0; rc == 0 && i < len; i++) {
        if (format[i] != '%') {
            ash__buffer_append_byte(&buf, (uint8_t)format[i]);
        } else if (++i == len) {
            rc = ash__fail_server(e->err, ASH_EINVAL,
                                  ASH_MONGO_LOCATION_DATE_FORMAT_UNMATCHED_PERCENT,
                                  "Unmatched '%%' at end of format string");
        } else if (!format_letter(&buf, format[i], local, offset)) {
            rc = ash__fail_server(e->err, ASH_EINVAL,
                                  ASH_MONGO_LOCATION_DATE_FORMAT_UNKNOWN_CHARACTER,
                                  "Invalid format character '%%%c' in format string", format[i]);
        }
        if (rc == 0)
            rc = ash__check_size(e, buf.len);
    }
    if (rc == 0)
        return ash__make_buffer_string(e, &buf, out);
    ash__buffer_release(&buf);
    return rc;
}

static const ash_op_param to_string_params[] = {
    {"date", ASH_MONGO_LOCATION_DATE_TO_STRING_WITHOUT_DATE},
    {"format", 0},
    {"timezone", 0},
    {"onNull", 0},
    {NULL}};

static int eval_date_to_string(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value date, format, zone;
    int64_t ms;
    int32_t offset;
    uint32_t len = 0;
    int rc = ash__eval_arg(n, 0, e, &date);
    if (rc == 0)
        rc = ash__eval_arg(n, 1, e, &format);
    if (rc == 0)
        rc = ash__eval_arg(n, 2, e, &zone);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(date))
        return n->args[3] != NULL ? ash__eval_arg(n, 3, e, out) : 0;
    bool has_format = n->args[1] != NULL;
    if ((has_format && ash__nullish(format)) || (n->args[2] != NULL && ash__nullish(zone)))
        return 0;
    if (has_format && !ash__is_string(format))
        return ash__fail_server(
            e->err, ASH_EINVAL, ASH_MONGO_LOCATION_DATE_TO_STRING_FORMAT_NOT_STRING,
            "$dateToString requires that 'format' be a string, found: %s", ash__type_text(format));
    rc = ash__date_arg(e, date, &ms);
    if (rc == 0)
        rc = ash__zone_arg(e, zone, &offset);
    if (rc != 0)
        return rc;
    /* A local time must not claim to be UTC. */
    const char *text = n->args[2] != NULL ? "%Y-%m-%dT%H:%M:%S.%L" : "%Y-%m-%dT%H:%M:%S.%LZ";
    if (has_format)
        text = ash__value_string(format, &len);
    else
        len = (uint32_t)strlen(text);
    return format_date(e, text, len, ms, offset, out);
}

static const ash_op_param from_parts_params[] = {
    {"year", ASH_MONGO_LOCATION_DATE_FROM_PARTS_WITHOUT_YEAR},
    {"month", 0},
    {"day", 0},
    {"hour", 0},
    {"minute", 0},
    {"second", 0},
    {"millisecond", 0},
    {"timezone", 0},
    {NULL}};

static int eval_from_parts(const ash_node *n, ash_eval *e, ash_value *out)
{
    int32_t part[7] = {1970, 1, 1, 0, 0, 0, 0};
    int32_t offset;
    int64_t ms;
    ash_value *v;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    for (uint32_t i = 0; i < 7; i++) {
        if (n->args[i] == NULL)
            continue;
        if (ash__nullish(v[i]))
            return 0;
        if (!ash__value_as_int32(v[i], &part[i]) || part[i] < -32768 || part[i] > 32767)
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_DATE_FROM_PARTS_YEAR_OUT_OF_RANGE
                                           : ASH_MONGO_LOCATION_DATE_FROM_PARTS_OUT_OF_RANGE,
                                    "'%s' must evaluate to an integer in range, found %s",
                                    from_parts_params[i].name, ash__type_text(v[i]));
    }
    if (n->args[7] != NULL && ash__nullish(v[7]))
        return 0;
    if (part[0] < 1 || part[0] > 9999)
        return ash__fail_server(e->err, ASH_EINVAL,
                                ASH_MONGO_LOCATION_DATE_FROM_PARTS_YEAR_OUT_OF_RANGE,
                                "'year' must evaluate to an integer in the range 1 to 9999");
    rc = ash__zone_arg(e, v[7], &offset);
    if (rc != 0)
        return rc;
    /* Parts may lie outside of their ranges, as the server allows: ash__civil_to_ms() carries
     * over. */
    ash_civil c = {part[0], part[1], part[2], part[3], part[4] - offset, part[5], part[6]};
    if (!ash__civil_to_ms(&c, &ms))
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_OVERFLOW,
                                "$dateFromParts: date overflow");
    *out = ash__make_date(e->arena, ms);
    return 0;
}

#define PART(name, part)                                                                           \
    {                                                                                              \
        name, 0, 0, eval_part, part, NULL, 0, 0, parse_part, ZONE_NOTE                             \
    }

const ash_expr_op ash__expr_date_ops[] = {
    PART("$year", YEAR),
    PART("$month", MONTH),
    PART("$dayOfMonth", DAY),
    PART("$hour", HOUR),
    PART("$minute", MINUTE),
    PART("$second", SECOND),
    PART("$millisecond", MILLI),
    PART("$dayOfWeek", WEEKDAY),
    PART("$dayOfYear", YEAR_DAY),
    PART("$week", WEEK),
    PART("$isoWeekYear", ISO_YEAR),
    PART("$isoWeek", ISO_WEEK),
    PART("$isoDayOfWeek", ISO_WEEKDAY),
    {"$dateToString", 0, 0, eval_date_to_string, 0, to_string_params,
     ASH_MONGO_LOCATION_DATE_TO_STRING_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_TO_STRING_UNKNOWN_ARGUMENT, NULL, ZONE_NOTE},
    {"$dateFromParts", 0, 0, eval_from_parts, 0, from_parts_params,
     ASH_MONGO_LOCATION_DATE_FROM_PARTS_NOT_OBJECT,
     ASH_MONGO_LOCATION_DATE_FROM_PARTS_UNKNOWN_ARGUMENT, NULL, ZONE_NOTE},
    {NULL},
};
