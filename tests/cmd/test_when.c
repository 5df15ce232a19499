/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "cmd/kit/when.h"

#include <stdlib.h>
#include <time.h>

/* Times as people type them.  It is 10:20:30.400 UTC on the 25th of November 2026, a Wednesday. */

#define NOW    INT64_C(1795602030400)
#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static void use_zone(const char *zone)
{
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
}

static void expect_time(const char *text, int64_t ms)
{
    int64_t got = -1;
    if (!ash__cmd_parse_time(text, NOW, &got))
        fail_msg("\"%s\" is taken for none", text);
    if (got != ms)
        fail_msg("\"%s\" is %lld, not %lld", text, (long long)got, (long long)ms);
}

static void expect_none(const char *text)
{
    int64_t got = -1;
    if (ash__cmd_parse_time(text, NOW, &got))
        fail_msg("\"%s\" is taken for %lld", text, (long long)got);
    assert_int_equal(got, -1);
}

static void test_cmd_when__so_long_ago(void **state)
{
    (void)state;
    use_zone("UTC");
    expect_time("now", NOW);
    expect_time("NOW", NOW);
    expect_time("2 hours ago", NOW - 2 * HOUR);
    expect_time("2.hours.ago", NOW - 2 * HOUR);
    expect_time("2_hours_ago", NOW - 2 * HOUR);
    expect_time("2 hours", NOW - 2 * HOUR);
    expect_time("2h", NOW - 2 * HOUR);
    expect_time("an hour ago", NOW - HOUR);
    expect_time("a minute ago", NOW - MINUTE);
    expect_time("One day ago", NOW - DAY);
    expect_time("90s", NOW - 90000);
    expect_time("15 min ago", NOW - 15 * MINUTE);
    expect_time("15 mins ago", NOW - 15 * MINUTE);
    expect_time("3d", NOW - 3 * DAY);
    expect_time("3 days ago", NOW - 3 * DAY);
    expect_time("1 day 2 hours ago", NOW - 26 * HOUR);
    expect_time("1d2h", NOW - 26 * HOUR);
    expect_time("2w", NOW - 14 * DAY);
    expect_time("1 month ago", NOW - 31 * DAY);
    expect_time("1 year ago", NOW - 365 * DAY);
    expect_time("last week", NOW - 7 * DAY);
    expect_time("Last Month", NOW - 31 * DAY);
    expect_time("last.year", NOW - 365 * DAY);
    expect_time("0 days ago", NOW);
    expect_time("1.5h", NOW - 90 * MINUTE);
    expect_time("1.5 hours ago", NOW - 90 * MINUTE);
    expect_time("0.25d", NOW - 6 * HOUR);
    expect_time("1.5 weeks 0.5m", NOW - 10 * DAY - 12 * HOUR - 30000);
}

static void test_cmd_when__days(void **state)
{
    int64_t midnight = NOW - (10 * HOUR + 20 * MINUTE + 30400);
    (void)state;
    use_zone("UTC");
    expect_time("today", midnight);
    expect_time("today 09:30", midnight + 9 * HOUR + 30 * MINUTE);
    expect_time("yesterday", NOW - DAY);
    expect_time("yesterday 17:00", midnight - 7 * HOUR);
    expect_time("yesterday 17:00:01.5", midnight - 7 * HOUR + 1500);
    expect_time("09:30", midnight + 9 * HOUR + 30 * MINUTE);
    expect_time("09:30:15", midnight + 9 * HOUR + 30 * MINUTE + 15000);
    expect_time("monday", NOW - 2 * DAY);
    expect_time("Tuesday", NOW - DAY);
    expect_time("wednesday", NOW - 7 * DAY); /* that is today */
    expect_time("thursday 17:00", midnight - 6 * DAY + 17 * HOUR);
    expect_time("sunday", NOW - 3 * DAY);
    use_zone("Asia/Kolkata");
    expect_time("today", midnight - 5 * HOUR - 30 * MINUTE);
    use_zone("America/New_York");
    expect_time("today", midnight + 5 * HOUR);
    expect_time("2026-11-24", midnight - DAY + 5 * HOUR);
    expect_time("2026-07-01", midnight - 147 * DAY + 4 * HOUR); /* in summer */
    /* Days have 25 hours where the clock is set back: the 1st of November. */
    expect_time("4 weeks ago", NOW - 28 * DAY - HOUR);
    expect_time("672 hours ago", NOW - 28 * DAY);
    use_zone("UTC");
}

static void test_cmd_when__dates(void **state)
{
    int64_t day = NOW - (10 * HOUR + 20 * MINUTE + 30400) - DAY;
    (void)state;
    use_zone("UTC");
    expect_time("2026-11-24", day);
    expect_time("2026-11-24 10:00", day + 10 * HOUR);
    expect_time("2026-11-24T10:00", day + 10 * HOUR);
    expect_time("2026-11-24t10:00:00z", day + 10 * HOUR);
    expect_time("2026-11-24T10:00:00Z", day + 10 * HOUR);
    expect_time("2026-11-24T10:00:00.250+01:00", day + 9 * HOUR + 250);
    expect_time("2026-11-24 10:00:00 +0100", day + 9 * HOUR);
    expect_time("2026-11-24 10:00 UTC", day + 10 * HOUR);
    expect_time("2026-11-24T10:00:00-05", day + 15 * HOUR);
    expect_time("@1700000000", INT64_C(1700000000000));
    expect_time("@1700000000.25", INT64_C(1700000000250));
    use_zone("Asia/Kolkata");
    expect_time("2026-11-24T10:00:00Z", day + 10 * HOUR);
    expect_time("2026-11-24 10:00", day + 4 * HOUR + 30 * MINUTE);
    use_zone("UTC");
}

static void test_cmd_when__what_is_none(void **state)
{
    static const char *const none[] = {"",
                                       " ",
                                       "soon",
                                       "ago",
                                       "hours ago",
                                       "2",
                                       "2 ago",
                                       "2 parsecs ago",
                                       "two hours ago",
                                       "2 hours agos",
                                       "2 hours ago ago",
                                       "last",
                                       "last s",
                                       "last lustrum",
                                       "today 25:00",
                                       "today 9:30",
                                       "yesterday 10",
                                       "tomorrow",
                                       "2026",
                                       "2026-11",
                                       "2026-13-01",
                                       "2026-02-30",
                                       "2026-11-24 10",
                                       "2026-11-24 10:60",
                                       "2026-11-24 10:00 PM",
                                       "2026-11-24 10:00 +25:00",
                                       "24.11.2026",
                                       "11/24/2026",
                                       "@",
                                       "@x",
                                       "@1700000000x",
                                       "-3d",
                                       "1.h5",
                                       "1.5",
                                       "1.5 months ago",
                                       "9:30",
                                       "25:00",
                                       "09:30 today",
                                       "mon",
                                       "mondays",
                                       "monday 17",
                                       "2026-11-24 10:00 CET",
                                       "3 d x",
                                       "9999999999 days ago",
                                       "999999999 weeks ago",
                                       "3y",
                                       "100 years ago",
                                       "1969-12-31"};
    (void)state;
    use_zone("UTC");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        expect_none(none[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_when__so_long_ago),
        cmocka_unit_test(test_cmd_when__days),
        cmocka_unit_test(test_cmd_when__dates),
        cmocka_unit_test(test_cmd_when__what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
