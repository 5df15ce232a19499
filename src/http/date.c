/* SPDX-License-Identifier: Apache-2.0 */
#include "http/date.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

typedef struct moment {
    int year, month /* 1 … 12 */, day, hour, minute, second, weekday /* 0: Sunday */;
} moment;

/* What the calendar has; outside of the years 1 to 9999 the nearest moment in them.  Not by
 * gmtime_r(), which takes a lock of the process's for each.  Days are counted in eras of 400 years
 * that begin on 1 March, as leap days end a year then. */
static void split(int64_t ms, moment *out)
{
    int64_t s = ms / 1000 - (ms % 1000 < 0);
    if (s < -62135596800)
        s = -62135596800;
    if (s > 253402300799)
        s = 253402300799;
    int64_t days_since_0 = (s + INT64_C(719468) * 86400) / 86400; /* 0000-03-01; never negative */
    int in_day = (int)((s + INT64_C(719468) * 86400) % 86400);
    int era = (int)(days_since_0 / 146097), day = (int)(days_since_0 % 146097);
    int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int in_year = day - (365 * year + year / 4 - year / 100);
    int month = (5 * in_year + 2) / 153; /* 0: March */
    out->day = in_year - (153 * month + 2) / 5 + 1;
    out->month = month < 10 ? month + 3 : month - 9;
    out->year = era * 400 + year + (out->month <= 2);
    out->hour = in_day / 3600;
    out->minute = in_day / 60 % 60;
    out->second = in_day % 60;
    out->weekday = (int)((days_since_0 + 3) % 7); /* that day was a Wednesday */
}

static void put_two(char *out, int number, char behind)
{
    out[0] = (char)('0' + number / 10 % 10);
    out[1] = (char)('0' + number % 10);
    out[2] = behind;
}

void ash__date_http(char out[ASH_DATE_BYTES], int64_t ms)
{
    moment m;
    split(ms, &m);
    /* Not by strftime(), which speaks the user's language; nor by snprintf(): a listing has
     * thousands. */
    memcpy(out, days[m.weekday], 3);
    memcpy(out + 3, ", ", 2);
    put_two(out + 5, m.day, ' ');
    memcpy(out + 8, months[m.month - 1], 3);
    out[11] = ' ';
    put_two(out + 12, m.year / 100, ' ');
    put_two(out + 14, m.year % 100, ' ');
    put_two(out + 17, m.hour, ':');
    put_two(out + 20, m.minute, ':');
    put_two(out + 23, m.second, ' ');
    memcpy(out + 26, "GMT", 4);
}

void ash__date_iso(char out[ASH_DATE_BYTES], int64_t ms)
{
    moment m;
    split(ms, &m);
    put_two(out, m.year / 100, ' ');
    put_two(out + 2, m.year % 100, '-');
    put_two(out + 5, m.month, '-');
    put_two(out + 8, m.day, 'T');
    put_two(out + 11, m.hour, ':');
    put_two(out + 14, m.minute, ':');
    put_two(out + 17, m.second, 'Z');
    out[20] = '\0';
}

/* ---- reading ---- */

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* false: no calendar has it. */
static bool join(const moment *m, int64_t *ms)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    if (m->year < 1 || m->year > 9999 || m->month < 1 || m->month > 12 || m->hour < 0 ||
        m->hour > 23 || m->minute < 0 || m->minute > 59 || m->second < 0 || m->second > 60)
        return false;
    int in_month = before[m->month] - before[m->month - 1] + (m->month == 2 && is_leap(m->year));
    if (m->day < 1 || m->day > in_month)
        return false;
    int64_t y = m->year - 1;
    int64_t n = y * 365 + y / 4 - y / 100 + y / 400 + before[m->month - 1] +
                (m->month > 2 && is_leap(m->year)) + m->day - 1 - 719162;
    *ms = (((n * 24 + m->hour) * 60 + m->minute) * 60 + m->second) * 1000;
    return true;
}

static int month_of(const char *name)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(months); i++)
        if (strcasecmp(name, months[i]) == 0)
            return (int)i + 1;
    return 0;
}

bool ash__http_date_parse(const char *text, int64_t *ms)
{
    char month[4];
    int day, year, hour, minute, second, end = -1;
    const char *comma = strchr(text, ',');
    if (strlen(text) > 40)
        return false;
    if (comma != NULL &&
        sscanf(comma, ", %2d %3s %4d %2d:%2d:%2d GMT%n", &day, month, &year, &hour, &minute,
               &second, &end) == 6 &&
        end > 0 && comma[end] == '\0')
        return join(&(moment){year, month_of(month), day, hour, minute, second}, ms);
    end = -1;
    if (comma != NULL &&
        sscanf(comma, ", %2d-%3s-%2d %2d:%2d:%2d GMT%n", &day, month, &year, &hour, &minute,
               &second, &end) == 6 &&
        end > 0 && comma[end] == '\0')
        return join(
            &(moment){year + (year < 70 ? 2000 : 1900), month_of(month), day, hour, minute, second},
            ms);
    end = -1;
    if (sscanf(text, "%*3s %3s %2d %2d:%2d:%2d %4d%n", month, &day, &hour, &minute, &second, &year,
               &end) == 6 &&
        end > 0 && text[end] == '\0')
        return join(&(moment){year, month_of(month), day, hour, minute, second}, ms);
    return false;
}

/* "Z", "+01:00", or nothing: how far before UTC, in minutes. */
static bool parse_offset(const char *text, int *minutes)
{
    int hour, minute, end = -1;
    *minutes = 0;
    if (text[0] == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
        return true;
    if ((text[0] != '+' && text[0] != '-') ||
        sscanf(text + 1, "%2d:%2d%n", &hour, &minute, &end) != 2 || text[1 + end] != '\0')
        return false;
    *minutes = (text[0] == '-' ? -1 : 1) * (hour * 60 + minute);
    return hour <= 23 && minute <= 59;
}

bool ash__date_parse_iso(const char *text, int64_t *ms)
{
    int year, month, day, hour = 0, minute = 0, second = 0, end = -1, offset = 0, fraction = 0;
    if (strlen(text) > 40 || sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3)
        return false;
    text += end;
    if (text[0] == 'T' || text[0] == 't' || text[0] == ' ') {
        end = -1;
        if (sscanf(text + 1, "%2d:%2d:%2d%n", &hour, &minute, &second, &end) != 3)
            return false;
        text += 1 + end;
        if (text[0] == '.') {
            int scale = 100;
            for (text++; *text >= '0' && *text <= '9'; text++, scale /= 10)
                fraction += (*text - '0') * scale;
        }
        if (!parse_offset(text, &offset))
            return false;
    } else if (text[0] != '\0') {
        return false;
    }
    if (!join(&(moment){year, month, day, hour, minute, second}, ms))
        return false;
    *ms += fraction - (int64_t)offset * 60000;
    return true;
}
