/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_CALENDAR_H
#define ASH_QUERY_KIT_CALENDAR_H

/* The proleptic Gregorian calendar, for any date that fits 64 bits of milliseconds.  Pure: no time
 * zone database; zones are fixed offsets. */

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

typedef struct ash_civil {
    int64_t year;
    int month;  /* 1..12 */
    int day;    /* 1..31 */
    int hour;   /* 0..23 */
    int minute; /* 0..59 */
    int second; /* 0..59 */
    int milli;  /* 0..999 */
} ash_civil;

int64_t ash__floor_div(int64_t a, int64_t b); /* rounds down; b > 0 */

ash_civil ash__civil_from_ms(int64_t ms);
/* Fields outside their ranges carry over; false when the result does not fit. */
bool ash__civil_to_ms(const ash_civil *c, int64_t *ms);

int ash__month_days(int64_t year, int month);
int ash__day_of_year(const ash_civil *c);                 /* 1..366 */
int ash__day_of_week(int64_t ms);                         /* 1 = Sunday .. 7 = Saturday */
void ash__iso_week(int64_t ms, int64_t *year, int *week); /* ISO 8601 week date */

/* "UTC", "GMT", "Z", "+05:30", "-0800", "+02"; false for anything else. */
bool ash__zone_parse(const char *text, int32_t *offset_minutes);

/* 2024-02-29T12:00:00.000Z, also date alone, without fraction, with offset; whether it says its
 * zone.
 */
bool ash__date_parse(const char *text, size_t len, int64_t *ms, bool *has_zone);
/* The same form; years outside 0..9999 with a sign.  Needs 48 bytes. */
void ash__date_text(int64_t ms, char *buf, size_t size_bytes);

#endif
