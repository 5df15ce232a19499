/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "http/head.h"

#include <string.h>

typedef struct parsed {
    ash_head head;
    char *data;
    size_t used;
    const char *why;
    int status;
} parsed;

static parsed parse(const char *text, size_t len)
{
    parsed p = {.data = ash__memdup(text, len)};
    p.status = ash__head_parse(p.data, len, &p.head, &p.used, &p.why);
    return p;
}

static int status_of(const char *text)
{
    parsed p = parse(text, strlen(text));
    ash__free(p.data);
    return p.status;
}

static void test_reads_a_request(void **state)
{
    (void)state;
    static const char text[] =
        "\r\nPUT /a%20b?c=d HTTP/1.1\r\nHost: x\r\nIF-match:\t\"1\" \t\r\nEmpty:\r\n"
        "Content-Length: 5\r\n\r\nhello";
    parsed p = parse(text, sizeof text - 1);
    assert_int_equal(p.status, ASH_HEAD_DONE);
    assert_int_equal(p.used, sizeof text - 1 - 5);
    assert_string_equal(p.head.method, "PUT");
    assert_string_equal(p.head.target, "/a%20b?c=d");
    assert_int_equal(p.head.field_count, 4);
    assert_string_equal(ash__head_field(&p.head, "If-Match"), "\"1\"");
    assert_string_equal(ash__head_field(&p.head, "empty"), "");
    assert_null(ash__head_field(&p.head, "If"));
    assert_int_equal(p.head.body_length, 5);
    assert_true(p.head.keep_alive);
    assert_false(p.head.expects_continue);
    ash__free(p.data);
}

static void test_waits_for_the_rest(void **state)
{
    (void)state;
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    for (size_t len = 0; len < sizeof text - 1; len++) {
        parsed p = parse(text, len);
        assert_int_equal(p.status, ASH_HEAD_INCOMPLETE);
        assert_memory_equal(p.data, text, len);
        ash__free(p.data);
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", 400},                       /* no Host */
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400}, /* two */
        {"GET / HTTP/1.0\r\n\r\n", ASH_HEAD_DONE},             /* none needed */
        {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", ASH_HEAD_DONE},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET / HTTP/1.1x\r\nHost: a\r\n\r\n", 400},
        {"GET /\r\nHost: a\r\n\r\n", 400}, /* HTTP/0.9 */
        {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
        {"GET /\t HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GETGETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},      /* white space before ':' */
        {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400}, /* a folded line */
        {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400}, /* LF alone */
        {"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400}, /* CR alone */
        {"GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nNo colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
         ASH_HEAD_DONE},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
        {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
         "chunked\r\n\r\n",
         400},
        {"PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417},
        {"\x16\x03\x01\x02 hello TLS\r\n\r\n", 400},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++)
        if (status_of(rows[i].text) != rows[i].status)
            fail_msg("row %zu: %d, not %d: %s", i, status_of(rows[i].text), rows[i].status,
                     rows[i].text);
}

/* A NUL would end a value for us, and not for others. */
static void test_nul(void **state)
{
    (void)state;
    static const char text[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n";
    parsed p = parse(text, sizeof text - 1);
    assert_int_equal(p.status, 400);
    ash__free(p.data);
}

static int status_of_long(size_t target, size_t fields, size_t value)
{
    ash_buffer text = ASH_BUFFER_INIT;
    ash__buffer_append_text(&text, "GET /");
    for (size_t i = 0; i < target; i++)
        ash__buffer_append_byte(&text, 'x');
    ash__buffer_append_text(&text, " HTTP/1.1\r\nHost: a\r\n");
    for (size_t i = 0; i < fields; i++) {
        ash__buffer_append_text(&text, "X: ");
        for (size_t k = 0; k < value; k++)
            ash__buffer_append_byte(&text, 'y');
        ash__buffer_append_text(&text, "\r\n");
    }
    ash__buffer_append_text(&text, "\r\n");
    int status = status_of(ash__buffer_text(&text));
    ash__buffer_release(&text);
    return status;
}

static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(status_of_long(ASH_HEAD_MAX_TARGET_BYTES - 1, 0, 0), ASH_HEAD_DONE);
    assert_int_equal(status_of_long(ASH_HEAD_MAX_TARGET_BYTES, 0, 0), 414);
    assert_int_equal(status_of_long(1, ASH_HEAD_MAX_FIELDS - 1, 10), ASH_HEAD_DONE);
    assert_int_equal(status_of_long(1, ASH_HEAD_MAX_FIELDS, 10), 431);
    assert_int_equal(status_of_long(1, 1, ASH_HEAD_MAX_BYTES), 431);
}

static void test_what_follows(void **state)
{
    (void)state;
    static const char text[] =
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\nA: 1\r\na: 2\r\n"
        "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n";
    parsed p = parse(text, sizeof text - 1);
    assert_int_equal(p.status, ASH_HEAD_DONE);
    assert_false(p.head.keep_alive);
    assert_int_equal(p.head.body_length, -1);
    assert_true(p.head.expects_continue);
    assert_true(ash__head_has_word(&p.head, "connection", "FOO"));
    assert_false(ash__head_has_word(&p.head, "connection", "fo"));
    char *joined = ash__head_join(&p.head, "A");
    assert_string_equal(joined, "1, 2");
    assert_null(ash__head_join(&p.head, "B"));
    ash__free(joined);
    ash__free(p.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_a_request), cmocka_unit_test(test_waits_for_the_rest),
        cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_nul),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_what_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
