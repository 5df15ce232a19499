/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "http/condition.h"

#include <string.h>

static const char now_date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
static const char before[] = "Sun, 06 Nov 1994 08:49:36 GMT";
static const char after[] = "Sun, 06 Nov 1994 08:49:38 GMT";
enum { NOW_S = 784111777 };
#define NOW_MS (NOW_S * (int64_t)1000 + 123)

/* Names and values in turn, up to NULL. */
typedef struct fields {
    const char *text[9];
} fields;

static void fill(ash_head *head, const fields *f)
{
    memset(head, 0, sizeof *head);
    for (size_t i = 0; f->text[i] != NULL; i += 2)
        head->fields[head->field_count++] = (ash_head_field){f->text[i], f->text[i + 1]};
}

static void expect_status(const fields *f, const char *method, const ash_validators *now,
                          int status)
{
    ash_head head;
    fill(&head, f);
    int got = ash__http_condition_check(&head, method, now);
    if (got != status)
        fail_msg("%s %s: %s: %d and not %d", method, f->text[0], f->text[1], got, status);
}

static void test_entity_tags(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        int get, put, put_absent;
    } rows[] = {
        {"If-Match", "\"a\"", 0, 0, 412},
        {"If-Match", "*", 0, 0, 412},
        {"If-Match", "\"b\"", 412, 412, 412},
        {"If-Match", "\"b\", \"a\"", 0, 0, 412},
        {"If-Match", "\"b\" ,, \"a\",", 0, 0, 412},
        {"If-Match", "W/\"a\"", 412, 412, 412},
        {"If-Match", "\"b,\\\", \"a\"", 0, 0, 412},
        {"If-Match", "\"A\"", 412, 412, 412},
        {"If-Match", "\"a", 412, 412, 412},
        {"If-Match", "", 412, 412, 412},
        {"If-Match", "a", 0, 0, 412}, /* without quotes, as some clients have it */
        {"If-None-Match", "\"a\"", 304, 412, 0},
        {"If-None-Match", "W/\"a\"", 304, 412, 0},
        {"If-None-Match", "\"b\", W/\"a\"", 304, 412, 0},
        {"If-None-Match", "\"b\"", 0, 0, 0},
        {"If-None-Match", "*", 304, 412, 0},
        {"If-None-Match", "*, *", 304, 412, 0},
        {"If-None-Match", "\"b\", *", 304, 412, 0},
        {"If-None-Match", "W/\"b, *\" ,*", 304, 412, 0},
        {"If-None-Match", "\"b, *, \"", 0, 0, 0}, /* within a tag */
        {"If-Match", "\"b\", *", 0, 0, 412},
    };
    static const ash_validators here = {"\"a\"", NOW_MS}, none = {NULL, 0};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        fields f = {{rows[i].name, rows[i].value, NULL}};
        expect_status(&f, "GET", &here, rows[i].get);
        expect_status(&f, "HEAD", &here, rows[i].get);
        expect_status(&f, "PUT", &here, rows[i].put);
        expect_status(&f, "PUT", &none, rows[i].put_absent);
    }
}

static void test_dates(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        int get, put;
    } rows[] = {
        {"If-Modified-Since", now_date, 304, 0},   {"If-Modified-Since", after, 304, 0},
        {"If-Modified-Since", before, 0, 0},       {"If-Modified-Since", "yesterday", 0, 0},
        {"If-Unmodified-Since", now_date, 0, 0},   {"If-Unmodified-Since", after, 0, 0},
        {"If-Unmodified-Since", before, 412, 412}, {"If-Unmodified-Since", "yesterday", 0, 0},
    };
    static const ash_validators here = {"\"a\"", NOW_MS}, timeless = {"\"a\"", 0};
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        fields f = {{rows[i].name, rows[i].value, NULL}};
        expect_status(&f, "GET", &here, rows[i].get);
        expect_status(&f, "PUT", &here, rows[i].put);
        expect_status(&f, "GET", &timeless, 0);
    }
}

/* RFC 9110 §13.2.2: a tag counts, the date beside it does not. */
static void test_order(void **state)
{
    (void)state;
    static const ash_validators here = {"\"a\"", NOW_MS};
    static const struct {
        fields f;
        int get, put;
    } rows[] = {
        {{{"If-Match", "\"a\"", "If-Unmodified-Since", before, NULL}}, 0, 0},
        {{{"If-Match", "\"b\"", "If-Unmodified-Since", after, NULL}}, 412, 412},
        {{{"If-None-Match", "\"b\"", "If-Modified-Since", after, NULL}}, 0, 0},
        {{{"If-None-Match", "\"a\"", "If-Modified-Since", before, NULL}}, 304, 412},
        {{{"If-Match", "\"b\"", "If-None-Match", "\"a\"", NULL}}, 412, 412},
        {{{"If-Match", "\"a\"", "If-None-Match", "\"a\"", NULL}}, 304, 412},
        {{{"If-Match", "\"b\"", "if-match", "\"a\"", NULL}}, 0, 0}, /* one list in two fields */
        {{{"Accept", "*/*", NULL}}, 0, 0},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        expect_status(&rows[i].f, "GET", &here, rows[i].get);
        expect_status(&rows[i].f, "PUT", &here, rows[i].put);
    }
}

static void test_is_there(void **state)
{
    (void)state;
    static const char *const names[] = {"If-Match", "If-None-Match", "If-Unmodified-Since",
                                        "If-Modified-Since", "If"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        ash_head head;
        fields f = {{names[i], "x", NULL}};
        fill(&head, &f);
        assert_int_equal(ash__condition_is_there(&head), i < 3);
    }
}

/* "0-5 7-9", exclusive ends; "" all, "416". */
static void expect_ranges(const fields *f, int64_t length, const char *wanted)
{
    static const ash_validators here = {"\"a\"", NOW_MS};
    ash_head head;
    ash_range ranges[ASH_MAX_RANGES];
    ash_buffer got = ASH_BUFFER_INIT;
    fill(&head, f);
    int count = ash__ranges(&head, length, &here, ranges);
    for (int i = 0; i < count; i++)
        ash__buffer_printf(&got, "%s%lld-%lld", i > 0 ? " " : "", (long long)ranges[i].start,
                           (long long)ranges[i].end);
    if (count < 0)
        ash__buffer_append_text(&got, "416");
    if (strcmp(ash__buffer_text(&got), wanted) != 0)
        fail_msg("%s of %lld: \"%s\" and not \"%s\"", f->text[1], (long long)length,
                 ash__buffer_text(&got), wanted);
    ash__buffer_release(&got);
}

static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        int64_t length;
        const char *wanted;
    } rows[] = {
        {"bytes=0-0", 10, "0-1"},
        {"bytes=0-9", 10, "0-10"},
        {"bytes=0-99", 10, "0-10"},
        {"bytes=5-", 10, "5-10"},
        {"bytes=-3", 10, "7-10"},
        {"bytes=-30", 10, "0-10"},
        {"BYTES=2-3", 10, "2-4"},
        {"bytes=0-1,4-5", 10, "0-2 4-6"},
        {"bytes= 8-9 , 0-1", 10, "8-10 0-2"},
        {"bytes=0-1,20-30", 10, "0-2"},
        {"bytes=0-5,5-6", 10, ""},
        {"bytes=0-,0-", 10, ""},
        {"bytes=-9,0-1", 10, ""},
        {"bytes=10-", 10, "416"},
        {"bytes=10-20,30-", 10, "416"},
        {"bytes=-0", 10, "416"},
        {"bytes=0-", 0, "416"},
        {"bytes=-1", 0, "416"},
        {"bytes=5-4", 10, ""},
        {"bytes=-", 10, ""},
        {"bytes=", 10, ""},
        {"bytes=a-b", 10, ""},
        {"bytes=1-2;", 10, ""},
        {"bytes=1-2x,4-5", 10, ""},
        {"bytes=--1", 10, ""},
        {"bytes=0-9223372036854775808", 10, ""},
        {"lines=0-1", 10, ""},
        {"0-1", 10, ""},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        fields f = {{"Range", rows[i].value, NULL}};
        expect_ranges(&f, rows[i].length, rows[i].wanted);
    }
    expect_ranges(&(fields){{"Accept", "*/*", NULL}}, 10, "");
}

static void test_many_ranges(void **state)
{
    (void)state;
    for (int count = ASH_MAX_RANGES; count <= ASH_MAX_RANGES + 1; count++) {
        ash_buffer text = ASH_BUFFER_INIT, wanted = ASH_BUFFER_INIT;
        ash__buffer_append_text(&text, "bytes=");
        for (int i = 0; i < count; i++) {
            ash__buffer_printf(&text, "%s%d-%d", i > 0 ? "," : "", 2 * i, 2 * i);
            ash__buffer_printf(&wanted, "%s%d-%d", i > 0 ? " " : "", 2 * i, 2 * i + 1);
        }
        fields f = {{"Range", ash__buffer_text(&text), NULL}};
        expect_ranges(&f, 1000, count <= ASH_MAX_RANGES ? ash__buffer_text(&wanted) : "");
        ash__buffer_release(&text);
        ash__buffer_release(&wanted);
    }
}

static void test_if_range(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool holds;
    } rows[] = {
        {"\"a\"", true}, {"\"b\"", false}, {"W/\"a\"", false}, {now_date, true},
        {before, false}, {after, false},   {"", false},        {"*", false},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        fields f = {{"Range", "bytes=1-2", "If-Range", rows[i].value, NULL}};
        expect_ranges(&f, 10, rows[i].holds ? "1-3" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entity_tags), cmocka_unit_test(test_dates),
        cmocka_unit_test(test_order),       cmocka_unit_test(test_is_there),
        cmocka_unit_test(test_ranges),      cmocka_unit_test(test_many_ranges),
        cmocka_unit_test(test_if_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
