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
    if (take(&at, "Tt ") && !take_clock(&at, &tm, &ms))
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

/* ---- so long ago ---- */

enum { CALENDAR_MAX = 1000000 }; /* days, and so on: far before 1970 */

typedef enum unit { SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR, NO_UNIT } unit;

/* As far as the text has letters; moves *at behind them. */
static bool take_word(const char **at, char *word, size_t size)
{
    size_t len = 0;
    while (len < size && ((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z')))
        word[len++] = *(*at)++;
    if (len == 0 || len == size)
        return false;
    word[len] = 0;
    return true;
}

/* Whoever quotes nothing types 2.hours.ago, as to git. */
static void skip_blanks(const char **at)
{
    *at += strspn(*at, " ._");
}

static unit find_unit(const char *word)
{
    static const struct {
        const char *name;
        unit is;
    } names[] = {{"s", SECOND},   {"sec", SECOND},    {"second", SECOND}, {"m", MINUTE},
                 {"min", MINUTE}, {"minute", MINUTE}, {"h", HOUR},        {"hr", HOUR},
                 {"hour", HOUR},  {"d", DAY},         {"day", DAY},       {"w", WEEK},
                 {"wk", WEEK},    {"week", WEEK},     {"mon", MONTH},     {"month", MONTH},
                 {"yr", YEAR},    {"year", YEAR}};
    size_t len = strlen(word);
    bool plural = len > 2 && (word[len - 1] == 's' || word[len - 1] == 'S');
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        if (strlen(names[i].name) == len - plural &&
            strncasecmp(names[i].name, word, len - plural) == 0)
            return names[i].is;
    return NO_UNIT;
}

/* Days and longer go by the calendar, so that noon stays noon when clocks were changed between. */
static bool go_back(int64_t *ms, unit by, int64_t count)
{
    time_t seconds = (time_t)(*ms / 1000);
    int64_t rest = *ms % 1000;
    struct tm tm;
    static const int64_t exact_ms[] = {1000, 60000, 3600000};
    if (by < DAY) {
        *ms -= count * exact_ms[by];
        return *ms > 0;
    }
    if (count > CALENDAR_MAX || localtime_r(&seconds, &tm) == NULL)
        return false;
    int *const fields[] = {
        [DAY] = &tm.tm_mday, [WEEK] = &tm.tm_mday, [MONTH] = &tm.tm_mon, [YEAR] = &tm.tm_year};
    *fields[by] -= (int)(by == WEEK ? 7 * count : count);
    tm.tm_isdst = -1;
    *ms = (int64_t)mktime(&tm) * 1000 + rest;
    return *ms > 0;
}

/* A part of a unit is so many hours, and so on; of months and years nobody knows how many. */
static bool go_back_part(int64_t *ms, unit by, int part)
{
    static const int64_t lengths_ms[] = {1000, 60000, 3600000, 86400000, 604800000};
    if (part == 0)
        return true;
    if ((size_t)by >= ASH_ARRAY_LEN(lengths_ms))
        return false;
    *ms -= lengths_ms[by] * part / 1000;
    return *ms > 0;
}

/* "2", "1.5" (*part: thousandths), "a", "an", "one". */
static bool take_count(const char **at, int64_t *count, int *part)
{
    enum { DIGITS_MAX = 9 };
    char word[8];
    size_t len = strspn(*at, "0123456789");
    *count = len > 0 ? strtoll(*at, NULL, 10) : 1;
    *part = 0;
    *at += len;
    if (len > 0 && **at == '.' && (*at)[1] >= '0' && (*at)[1] <= '9')
        return len <= DIGITS_MAX && take_fraction(at, part);
    if (len > 0)
        return len <= DIGITS_MAX;
    return take_word(at, word, sizeof word) &&
           (strcasecmp(word, "a") == 0 || strcasecmp(word, "an") == 0 ||
            strcasecmp(word, "one") == 0);
}

/* "2 hours ago", "an hour ago", "3d", "1 day 2 hours ago": longest first, as it is typed. */
static bool parse_ago(const char *text, int64_t now_ms, int64_t *out_ms)
{
    const char *at = text;
    char word[12];
    int parts = 0;
    for (*out_ms = now_ms; *at != 0; parts++) {
        int64_t count;
        int part;
        const char *here = at;
        if (parts > 0 && take_word(&here, word, sizeof word) && strcasecmp(word, "ago") == 0)
            return *here == 0;
        if (!take_count(&at, &count, &part))
            return false;
        skip_blanks(&at);
        if (!take_word(&at, word, sizeof word) || find_unit(word) == NO_UNIT ||
            !go_back(out_ms, find_unit(word), count) ||
            !go_back_part(out_ms, find_unit(word), part))
            return false;
        skip_blanks(&at);
    }
    return parts > 0;
}

/* "last week": the same time of day. */
static bool parse_last(const char *text, int64_t now_ms, int64_t *out_ms)
{
    char last[8], word[12];
    const char *at = text;
    *out_ms = now_ms;
    if (!take_word(&at, last, sizeof last) || strcasecmp(last, "last") != 0)
        return false;
    skip_blanks(&at);
    return take_word(&at, word, sizeof word) && *at == 0 && strlen(word) > 2 &&
           find_unit(word) != NO_UNIT && go_back(out_ms, find_unit(word), 1);
}

/* The last day of that name before today, as days ago; 0: it is the name of none. */
static int days_since(const char *name, int64_t now_ms)
{
    static const char *const names[] = {"sunday",   "monday", "tuesday", "wednesday",
                                        "thursday", "friday", "saturday"};
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    if (localtime_r(&seconds, &tm) == NULL)
        return 0;
    for (int i = 0; i < 7; i++)
        if (strcasecmp(name, names[i]) == 0)
            return (tm.tm_wday - i + 6) % 7 + 1;
    return strcasecmp(name, "yesterday") == 0 ? 1 : 0;
}

/* "09:30" and "today 09:30"; "today", its beginning; "yesterday" and "monday", this time of day;
 * "yesterday 17:00", "monday 17:00". */
static bool parse_day(const char *text, int64_t now_ms, int64_t *out_ms)
{
    char word[12] = "today";
    const char *at = text;
    struct tm tm;
    int ms = 0;
    bool alone = *at >= '0' && *at <= '9';
    if (!alone && !take_word(&at, word, sizeof word))
        return false;
    bool today = strcasecmp(word, "today") == 0;
    int days = today ? 0 : days_since(word, now_ms);
    if (!today && days == 0)
        return false;
    *out_ms = now_ms;
    if (!today && !go_back(out_ms, DAY, days))
        return false;
    if (!today && *at == 0)
        return true;
    time_t seconds = (time_t)(*out_ms / 1000);
    if (localtime_r(&seconds, &tm) == NULL)
        return false;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    if (*at != 0 && ((!alone && !take(&at, " ")) || !take_clock(&at, &tm, &ms) || *at != 0))
        return false;
    tm.tm_isdst = -1;
    *out_ms = (int64_t)mktime(&tm) * 1000 + ms;
    return *out_ms > 0;
}

/* ---- all ---- */

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
    int64_t ms = now_ms;
    if (strcasecmp(text, "now") != 0 && !parse_day(text, now_ms, &ms) &&
        !parse_last(text, now_ms, &ms) && !parse_epoch(text, &ms) &&
        !parse_ago(text, now_ms, &ms) && !parse_date(text, &ms))
        return false;
    *out_ms = ms;
    return true;
}
