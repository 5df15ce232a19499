/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "http/date.h"

#include <string.h>

static void test_write(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *http, *iso;
    } rows[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"},
        {784111777999, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"},
        {951782400000, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00Z"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59Z"},
        {INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59Z"},
        {INT64_MIN, "Mon, 01 Jan 0001 00:00:00 GMT", "0001-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        char text[ASH_DATE_BYTES];
        ash__date_http(text, rows[i].ms);
        assert_string_equal(text, rows[i].http);
        ash__date_iso(text, rows[i].ms);
        assert_string_equal(text, rows[i].iso);
    }
}

static void test_parse_http(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777000},
        {"Sun Nov  6 08:49:37 1994", 784111777000},
        {"sun, 06 nov 1994 08:49:37 GMT", 784111777000},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400000},
        {"Thu, 29 Feb 1900 00:00:00 GMT", -1},
        {"Sun, 31 Apr 1994 08:49:37 GMT", -1},
        {"Sun, 06 Foo 1994 08:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 24:00:00 GMT", -1},
        {"Sun, 06 Nov 1994 08:60:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:49:37 CET", -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT and more", -1},
        {"Sun, 06 Nov 1994", -1},
        {"1994-11-06T08:49:37Z", -1},
        {"784111777", -1},
        {"", -1},
        {",", -1},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        int64_t ms = -1;
        bool good = ash__http_date_parse(rows[i].text, &ms);
        if (good != (rows[i].ms >= 0) || (good && ms != rows[i].ms))
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
    }
}

static void test_parse_iso(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } rows[] = {
        {"1994-11-06T08:49:37Z", 784111777000},
        {"1994-11-06T08:49:37.25Z", 784111777250},
        {"1994-11-06T08:49:37.123456Z", 784111777123},
        {"1994-11-06T09:49:37+01:00", 784111777000},
        {"1994-11-06T03:19:37-05:30", 784111777000},
        {"1994-11-06", 784080000000},
        {"1994-02-29", -1},
        {"1994-13-01", -1},
        {"1994-11-06T08:49", -1},
        {"1994-11-06T08:49:37+25:00", -1},
        {"1994-11-06T08:49:37Zulu", -1},
        {"1994-11-06X", -1},
        {"yesterday", -1},
        {"", -1},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        int64_t ms = -1;
        bool good = ash__date_parse_iso(rows[i].text, &ms);
        if (good != (rows[i].ms >= 0) || (good && ms != rows[i].ms))
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
    }
}

/* What is written is read as the same second, on every day of some centuries. */
static void test_there_and_back(void **state)
{
    (void)state;
    for (int64_t ms = -8640000000000; ms < 8640000000000; ms += 86400000LL * 13 + 12345000) {
        char text[ASH_DATE_BYTES];
        int64_t got = 0;
        ash__date_http(text, ms);
        assert_true(ash__http_date_parse(text, &got));
        assert_int_equal(got, ms);
        ash__date_iso(text, ms);
        assert_true(ash__date_parse_iso(text, &got));
        assert_int_equal(got, ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_parse_http),
        cmocka_unit_test(test_parse_iso),
        cmocka_unit_test(test_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
