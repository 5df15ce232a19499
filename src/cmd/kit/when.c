/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people type them: dates, and how long ago. */
#include "cmd/kit/when.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Digits, and nothing else, of a certain number; moves *at behind them. */
static bool take_digits(const char **at, int count, int *out)
{
    *out = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool take(const char **at, const char *one_of)
{
    bool good = **at != 0 && strchr(one_of, **at) != NULL;
    *at += good;
    return good;
}

/* ".250": milliseconds, what is finer is cut. */
static bool take_fraction(const char **at, int *ms)
{
    int scale = 100;
    *ms = 0;
    if (!take(at, ".,"))
        return true;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++, scale /= 10)
        *ms += (**at - '0') * scale;
    return true;
}

/* "Z", "UTC", "+01:00", "+0100", "+01", or nothing at the end of the text. */
static bool take_zone(const char **at, bool *is_local, int *offset_s)
{
    int hours, minutes = 0;
    const char *sign = *at;
    *is_local = false;
    *offset_s = 0;
    if (strcasecmp(*at, "UTC") == 0)
        return true;
    if (take(at, "Zz"))
        return **at == 0;
    if (!take(at, "+-")) {
        *is_local = true;
        return **at == 0;
    }
    if (!take_digits(at, 2, &hours))
        return false;
    take(at, ":");
    if (**at != 0 && !take_digits(at, 2, &minutes))
        return false;
    *offset_s = (hours * 60 + minutes) * 60 * (*sign == '-' ? -1 : 1);
    return **at == 0 && hours < 24 && minutes < 60;
}

static bool take_clock(const char **at, struct tm *tm, int *ms)
{
    if (!take_digits(at, 2, &tm->tm_hour) || !take(at, ":") || !take_digits(at, 2, &tm->tm_min))
        return false;
    if (take(at, ":") && (!take_digits(at, 2, &tm->tm_sec) || !take_fraction(at, ms)))
        return false;
    return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 61;
}

/* mktime() and timegm() take any day of a month, and move on to the next one: such dates are
 * mistakes here. */
static bool is_same_day(const struct tm *said, time_t seconds, bool is_local)
{
    struct tm got;
    if ((is_local ? localtime_r(&seconds, &got) : gmtime_r(&seconds, &got)) == NULL)
        return false;
    return got.tm_mday == said->tm_mday && got.tm_mon == said->tm_mon;
}

static bool parse_date(const char *text, int64_t *out_ms)
{
    struct tm tm = {.tm_isdst = -1};
    int ms = 0, offset_s;
    bool is_local;
    const char *at = text;
    if (!take_digits(&at, 4, &tm.tm_year) || !take(&at, "-") || !take_digits(&at, 2, &tm.tm_mon) ||
        !take(&at, "-") || !take_digits(&at, 2, &tm.tm_mday))
        return false;
    if (take(&at, "T ") && !take_clock(&at, &tm, &ms))
        return false;
    take(&at, " "); /* as git has it, before the zone */
    if (!take_zone(&at, &is_local, &offset_s))
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    struct tm said = tm;
    time_t seconds = is_local ? mktime(&tm) : timegm(&tm);
    if (!is_same_day(&said, seconds, is_local))
        return false;
    *out_ms = ((int64_t)seconds - offset_s) * 1000 + ms;
    return *out_ms > 0;
}

/* Days and longer go by the calendar, so that noon stays noon when clocks were changed between. */
static bool go_back(int64_t now_ms, const char *unit, long count, int64_t *out_ms)
{
    static const char *const names[] = {"second", "minute", "hour", "day", "week", "month", "year"};
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm;
    size_t which = 0, len = strlen(unit);
    if (len > 1 && (unit[len - 1] == 's' || unit[len - 1] == 'S'))
        len--;
    while (which < ASH_ARRAY_LEN(names) &&
           (strlen(names[which]) != len || strncasecmp(names[which], unit, len) != 0))
        which++;
    if (which == ASH_ARRAY_LEN(names) || count > 1000000000 || localtime_r(&now, &tm) == NULL)
        return false;
    int *const fields[] = {&tm.tm_sec,  &tm.tm_min, &tm.tm_hour, &tm.tm_mday,
                           &tm.tm_mday, &tm.tm_mon, &tm.tm_year};
    static const int64_t exact_ms[] = {1000, 60000, 3600000};
    if (which < ASH_ARRAY_LEN(exact_ms)) {
        *out_ms = now_ms - count * exact_ms[which];
        return *out_ms > 0;
    }
    *fields[which] -= (int)(which == 4 ? 7 * count : count);
    tm.tm_isdst = -1;
    *out_ms = (int64_t)mktime(&tm) * 1000 + now_ms % 1000;
    return *out_ms > 0;
}

/* "2 hours ago". */
static bool parse_ago(const char *text, int64_t now_ms, int64_t *out_ms)
{
    char unit[16], ago[8];
    int used = 0;
    char *end;
    long count = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || end == text)
        return false;
    if (sscanf(end, " %15[a-zA-Z] %7[a-zA-Z]%n", unit, ago, &used) != 2 || end[used] != 0)
        return false;
    return strcasecmp(ago, "ago") == 0 && go_back(now_ms, unit, count, out_ms);
}

/* "@1764000000.5", as date(1) takes it. */
static bool parse_epoch(const char *text, int64_t *out_ms)
{
    int ms;
    const char *at = text + 1 + strspn(text + 1, "0123456789");
    if (text[0] != '@' || at == text + 1 || at - text > 12 || !take_fraction(&at, &ms) || *at != 0)
        return false;
    *out_ms = strtoll(text + 1, NULL, 10) * 1000 + ms;
    return *out_ms > 0;
}

bool ash__cmd_parse_time(const char *text, int64_t now_ms, int64_t *out_ms)
{
    if (strcasecmp(text, "now") == 0) {
        *out_ms = now_ms;
        return true;
    }
    if (strcasecmp(text, "yesterday") == 0)
        return go_back(now_ms, "day", 1, out_ms);
    return parse_epoch(text, out_ms) || parse_ago(text, now_ms, out_ms) || parse_date(text, out_ms);
}
