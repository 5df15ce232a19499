/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/buffer.h"
#include "http/body.h"

#include <string.h>

/* Given in steps of so many bytes: the content, or "!" when it is none, or "…" when it is not over. */
static void read_all(ash_body *b, const char *data, size_t len, size_t step, ash_buffer *out,
                     size_t *left)
{
    size_t at = 0, there = 0;
    ash__buffer_clear(out);
    while (!ash__body_is_over(b)) {
        size_t used, n;
        const char *piece;
        there = there + step < len ? there + step : len;
        if (!ash__body_next(b, data + at, there - at, &used, &piece, &n)) {
            ash__buffer_append_text(out, "!");
            return;
        }
        ash__buffer_append(out, piece, n);
        at += used;
        if (there == len && used == 0)
            break;
    }
    if (!ash__body_is_over(b))
        ash__buffer_append_text(out, "~");
    *left = len - at;
}

static void check(int64_t length, const char *text, const char *expected, size_t expected_left)
{
    ash_buffer out = ASH_BUFFER_INIT;
    for (size_t step = 1; step <= strlen(text); step++) {
        ash_body b;
        size_t left = 0;
        ash__body_init(&b, length);
        read_all(&b, text, strlen(text), step, &out, &left);
        assert_string_equal(ash__buffer_text(&out), expected);
        if (strchr(expected, '!') == NULL)
            assert_int_equal(left, expected_left);
    }
    ash__buffer_release(&out);
}

static void test_length(void **state)
{
    (void)state;
    check(5, "helloGET", "hello", 3);
    check(0, "GET", "", 3);
    check(9, "hello", "hello~", 0);
}

static void test_chunks(void **state)
{
    (void)state;
    check(-1, "5\r\nhello\r\n0\r\n\r\nGET", "hello", 3);
    check(-1, "1\r\nh\r\n04;ext=\"a;b\"\r\nello\r\n000\r\nA: b\r\nC: d\r\n\r\n", "hello", 0);
    check(-1, "A \r\n0123456789\r\n0\r\n\r\n", "0123456789", 0);
    check(-1, "0\r\n\r\n", "", 0);
    check(-1, "5\r\nhel", "hel~", 0);
    check(-1, "5\r\nhello\r\n0\r\n", "hello~", 0);
}

static void test_what_is_none(void **state)
{
    (void)state;
    check(-1, "\r\nhello", "!", 0);
    check(-1, "x\r\n", "!", 0);
    check(-1, "5\nhello", "!", 0);
    check(-1, "5\r\nhelloX", "hello!", 0);
    check(-1, "5\r\nhello\r\n-1\r\n", "hello!", 0);
    check(-1, "0x5\r\nhello", "!", 0);
    check(-1, "1234567890123456\r\n", "!", 0);
    check(-1, "0\r\nA: b\n\r\n", "!", 0);
    /* One length to some, another to others. */
    check(-1, "5 6\r\nhello", "!", 0);
    check(-1, "5 \t;6\r\nhello", "hello~", 0);
}

/* Extensions and trailers are dropped, so they must not go on for ever. */
static void test_endless(void **state)
{
    (void)state;
    char text[10000];
    ash_buffer out = ASH_BUFFER_INIT;
    size_t left = 0;
    ash_body b;
    memset(text, 'x', sizeof text);
    memcpy(text, "5;", 2);
    ash__body_init(&b, -1);
    read_all(&b, text, sizeof text, 100, &out, &left);
    assert_string_equal(ash__buffer_text(&out), "!");
    memcpy(text, "0\r\n", 3);
    ash__body_init(&b, -1);
    read_all(&b, text, sizeof text, 100, &out, &left);
    assert_string_equal(ash__buffer_text(&out), "!");
    ash__buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
