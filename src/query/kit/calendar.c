/* SPDX-License-Identifier: Apache-2.0 */
/* Dates by arithmetic alone, after Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms":
 * exact for all that 64 bits of milliseconds hold, and without the C library's time zones. */
#include "query/kit/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

int64_t ash__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Since 1970-01-01. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    /* Years start in March here, so that the leap day is the last of its year. */
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = ash__floor_div(y, 400);
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    /* 146097 days are 400 years; 719468 lie between 0000-03-01 and 1970-01-01. */
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void civil_from_days(int64_t days, ash_civil *c)
{
    int64_t z = days + 719468;
    int64_t era = ash__floor_div(z, 146097);
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    c->day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    c->month = (int)(month < 10 ? month + 3 : month - 9);
    c->year = year_of_era + era * 400 + (c->month <= 2);
}

ash_civil ash__civil_from_ms(int64_t ms)
{
    ash_civil c;
    int64_t days = ash__floor_div(ms, DAY_MS);
    int rest = (int)(ms % DAY_MS); /* days * DAY_MS may lie below what 64 bits hold */
    if (rest < 0)
        rest += (int)DAY_MS;
    civil_from_days(days, &c);
    c.milli = rest % 1000;
    c.second = rest / 1000 % 60;
    c.minute = rest / 60000 % 60;
    c.hour = rest / 3600000;
    return c;
}

bool ash__civil_to_ms(const ash_civil *c, int64_t *ms)
{
    int64_t months = c->month - 1;
    int64_t year = c->year + ash__floor_div(months, 12);
    int month = (int)(months - ash__floor_div(months, 12) * 12) + 1;
    /* Milliseconds overflow beyond these years in any case, and the days below never do. */
    if (year > 292000000 || year < -292000000)
        return false;
    int64_t days = days_from_civil(year, month, 1) + c->day - 1;
    int64_t rest =
        ((int64_t)c->hour * 3600 + (int64_t)c->minute * 60 + c->second) * 1000 + c->milli;
    return !__builtin_mul_overflow(days, DAY_MS, ms) && !__builtin_add_overflow(*ms, rest, ms);
}

int ash__month_days(int64_t year, int month)
{
    return (
        int)((month == 12 ? days_from_civil(year + 1, 1, 1) : days_from_civil(year, month + 1, 1)) -
             days_from_civil(year, month, 1));
}

int ash__day_of_year(const ash_civil *c)
{
    return (int)(days_from_civil(c->year, c->month, c->day) - days_from_civil(c->year, 1, 1)) + 1;
}

int ash__day_of_week(int64_t ms)
{
    int64_t days = ash__floor_div(ms, DAY_MS) + 4; /* 1970-01-01 was a Thursday */
    return (int)(days - ash__floor_div(days, 7) * 7) + 1;
}

void ash__iso_week(int64_t ms, int64_t *year, int *week)
{
    /* A week belongs to the year of its Thursday. */
    int weekday = (ash__day_of_week(ms) + 5) % 7; /* Monday 0 */
    int64_t days = ash__floor_div(ms, DAY_MS) + 3 - weekday;
    ash_civil thursday;
    civil_from_days(days, &thursday);
    *year = thursday.year;
    *week = (int)(days - days_from_civil(thursday.year, 1, 1)) / 7 + 1;
}

static bool digits(const char **p, const char *end, int count, int *out)
{
    *out = 0;
    if (end - *p < count)
        return false;
    for (int i = 0; i < count; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

static bool parse_offset(const char **p, const char *end, int32_t *offset)
{
    int hours, minutes = 0;
    int sign = **p == '-' ? -1 : 1;
    if (**p != '+' && **p != '-')
        return false;
    (*p)++;
    if (!digits(p, end, 2, &hours))
        return false;
    if (*p < end && **p == ':')
        (*p)++;
    if (*p < end && !digits(p, end, 2, &minutes))
        return false;
    *offset = sign * (hours * 60 + minutes);
    return minutes < 60;
}

bool ash__zone_parse(const char *text, int32_t *offset_minutes)
{
    const char *p = text;
    *offset_minutes = 0;
    if (strcmp(text, "UTC") == 0 || strcmp(text, "GMT") == 0 || strcmp(text, "Z") == 0)
        return true;
    const char *end = text + strlen(text);
    return p < end && parse_offset(&p, end, offset_minutes) && p == end;
}

/* Behind the date: hh:mm[:ss[.fraction]]. */
static bool parse_time(const char **p, const char *end, ash_civil *c)
{
    if (!digits(p, end, 2, &c->hour) || *p == end || *(*p)++ != ':' ||
        !digits(p, end, 2, &c->minute))
        return false;
    if (*p < end && **p == ':') {
        (*p)++;
        if (!digits(p, end, 2, &c->second))
            return false;
    }
    if (*p < end && **p == '.') {
        int scale = 100;
        (*p)++;
        for (; *p < end && **p >= '0' && **p <= '9'; (*p)++, scale /= 10)
            /* Digits behind the milliseconds are cut off: the scale is 0 by then. */
            c->milli += (**p - '0') * scale;
    }
    return c->hour < 24 && c->minute < 60 && c->second < 60;
}

/* Behind the time: Z, an offset, or nothing. */
static bool parse_zone(const char **p, const char *end, int32_t *offset, bool *has_zone)
{
    *has_zone = *p < end;
    if (*p == end)
        return true;
    if (**p != 'Z' && **p != 'z')
        return parse_offset(p, end, offset);
    (*p)++;
    return true;
}

bool ash__date_parse(const char *text, size_t len, int64_t *ms, bool *has_zone)
{
    const char *p = text;
    const char *end = text + len;
    ash_civil c = {.month = 1, .day = 1};
    int32_t offset = 0;
    int year;
    *has_zone = false;
    if (!digits(&p, end, 4, &year) || p == end || *p++ != '-' || !digits(&p, end, 2, &c.month) ||
        p == end || *p++ != '-' || !digits(&p, end, 2, &c.day))
        return false;
    c.year = year;
    if (c.month < 1 || c.month > 12 || c.day < 1 || c.day > ash__month_days(c.year, c.month))
        return false;
    if (p < end && (*p == 'T' || *p == ' ')) {
        p++;
        if (!parse_time(&p, end, &c) || !parse_zone(&p, end, &offset, has_zone))
            return false;
    }
    /* It may leave its range: ash__civil_to_ms() carries over. */
    c.minute -= offset;
    return p == end && ash__civil_to_ms(&c, ms);
}

void ash__date_text(int64_t ms, char *buf, size_t size_bytes)
{
    ash_civil c = ash__civil_from_ms(ms);
    bool plain = c.year >= 0 && c.year <= 9999;
    snprintf(buf, size_bytes,
             plain ? "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d.%03dZ"
                   : "%+05" PRId64 "-%02d-%02dT%02d:%02d:%02d.%03dZ",
             c.year, c.month, c.day, c.hour, c.minute, c.second, c.milli);
}
