/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const ash_http_record sample = {.remote = "127.0.0.1:4000",
                                       .method = "GET",
                                       .target = "/a",
                                       .id = "x-1",
                                       .agent = "curl/8",
                                       .protocol = "HTTP/1.1",
                                       .status = 200,
                                       .received_bytes = 1,
                                       .sent_bytes = 2,
                                       .begun_ms = 784111777123,
                                       .took_us = 3};

static void expect(ash_http_log_format format, const ash_http_record *r, const char *line)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__http_log_line(&out, format, r);
    assert_string_equal(ash__buffer_text(&out), line);
    ash__buffer_release(&out);
}

static void test_lines(void **state)
{
    (void)state;
    expect(
        ASH_HTTP_LOG_COMBINED, &sample,
        "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 200 2 \"-\" \"curl/8\"\n");
    expect(ASH_HTTP_LOG_JSON, &sample,
           "{\"time\":\"1994-11-06T08:49:37.123Z\",\"id\":\"x-1\",\"remote\":\"127.0.0.1:4000\","
           "\"method\":\"GET\","
           "\"target\":\"/a\",\"protocol\":\"HTTP/"
           "1.1\",\"status\":200,\"received\":1,\"sent\":2,\"microseconds\":3,"
           "\"agent\":\"curl/8\"}\n");
}

static void test_who_asked(void **state)
{
    (void)state;
    ash_http_record r = sample;
    r.user = "ann b\n";
    r.db = "admin";
    expect(
        ASH_HTTP_LOG_COMBINED, &r,
        "127.0.0.1 - ann\\x20b\\x0a [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 200 2 \"-\" "
        "\"curl/8\"\n");
    r.user = "ann";
    r.db = "files";
    expect(ASH_HTTP_LOG_COMBINED, &r,
           "127.0.0.1 - ann@files [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 200 2 \"-\" "
           "\"curl/8\"\n");
    ash_buffer out = ASH_BUFFER_INIT;
    ash__http_log_line(&out, ASH_HTTP_LOG_JSON, &r);
    assert_non_null(strstr(ash__buffer_text(&out), "\"user\":\"ann\",\"db\":\"files\""));
    ash__buffer_release(&out);
}

static void expect_shown(const char *text, const char *shown)
{
    char *got = ash__http_without_secrets(text);
    assert_string_equal(got, shown);
    ash__free(got);
}

/* A link that was cut, or mistyped, is nearly one. */
static void test_what_is_nearly_a_link_is_shortened(void **state)
{
    (void)state;
    /* 39 digits of 40, and 31 of 32. */
    expect_shown("/.ashlar/share/0123456789abcdef0123456789abcdef0123456/a",
                 "/.ashlar/share/012345.../a");
    expect_shown("/.ashlar/uploads/0123456789abcdef0123456789abcde", "/.ashlar/uploads/012345...");
    expect_shown("/0123456789abcdef0123456789abcde/a", "/012345.../a");
    expect_shown("/.ashlar/share/0123456789abcdefx123456789abcdef01234567?a=b",
                 "/.ashlar/share/012345...?a=b");
    expect_shown("/.ashlar/share/0123456789abcdef%0a0123456789abcdef01234567 b",
                 "/.ashlar/share/012345... b");
    expect_shown("/%2E%61shlar/share/0123456789abcdef-0123456789abcdef/a/bcdefghi",
                 "/%2Eashlar/share/012345.../a/bcdefghi");
    /* What is no secret stays: ids of documents, and short names. */
    expect_shown("/.ashlar/buckets/fs/0123456789abcdef01234567",
                 "/.ashlar/buckets/fs/0123456789abcdef01234567");
    expect_shown("/.ashlar/share/", "/.ashlar/share/");
    expect_shown("/.ashlar/share/ab/cdefghijk", "/.ashlar/share/ab/cdefghijk");
}

/* A share's link is a secret, wherever it stands. */
static void test_links_are_shortened(void **state)
{
    (void)state;
    ash_http_record r = sample;
    r.target = "/.ashlar/share/0123456789abcdef0123456789abcdef01234567/a?x=1";
    r.referer = "http://h/.ashlar/share/0123456789ABCDEF0123456789abcdef01234567";
    expect(ASH_HTTP_LOG_COMBINED, &r,
           "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /.ashlar/share/012345.../a?x=1 "
           "HTTP/1.1\" 200 2 \"http://h/.ashlar/share/012345...\" \"curl/8\"\n");
    ash_buffer out = ASH_BUFFER_INIT;
    ash__http_log_line(&out, ASH_HTTP_LOG_JSON, &r);
    assert_null(strstr(ash__buffer_text(&out), "0123456"));
    ash__buffer_release(&out);
    /* In any spelling, and in every field; of uploads, too. */
    r.target = "/.ashlar/uploads/0123456789abcdef0123%34567%61bcdef01234567";
    r.referer = NULL;
    r.agent = "see /.ashlar/share/0123456789abcdef0123456789abcdef01234567";
    expect(ASH_HTTP_LOG_COMBINED, &r,
           "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /.ashlar/uploads/012345... "
           "HTTP/1.1\" 200 2 \"-\" \"see /.ashlar/share/012345...\"\n");
    r.agent = sample.agent;
    /* Fewer digits are names. */
    r.target = "/0123456789abcdef01234567";
    r.referer = NULL;
    expect(ASH_HTTP_LOG_COMBINED, &r,
           "127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET "
           "/0123456789abcdef01234567 HTTP/1.1\" 200 2 \"-\" \"curl/8\"\n");
}

/* What a client sends cannot make a line of its own, nor speak to a terminal. */
static void test_what_clients_send(void **state)
{
    (void)state;
    ash_http_record r = sample;
    r.remote = "[::1]:4000";
    r.target = "/\" 200 1\x1b[31m";
    r.agent = "a\\b\xff";
    r.status = 0;
    r.sent_bytes = 0;
    expect(ASH_HTTP_LOG_COMBINED, &r,
           "::1 - - [06/Nov/1994:08:49:37 +0000] \"GET /\\x22 200 1\\x1b[31m HTTP/1.1\" 499 - "
           "\"-\" \"a\\x5cb\\xff\"\n");
}

static long size_of(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    fclose(f);
    return n;
}

static void test_rotation(void **state)
{
    (void)state;
    char path[] = "/tmp/ashlar-log-XXXXXX", old[64];
    ash_http_log *log = NULL;
    ash_error err = ASH_ERROR_INIT;
    close(mkstemp(path));
    snprintf(old, sizeof old, "%s.1", path);
    assert_ok(ash__http_log_open(path, ASH_HTTP_LOG_COMBINED, &log, &err), &err);
    ash__http_log_write(log, &sample);
    long one = size_of(path);
    assert_int_equal(rename(path, old), 0);
    ash__clock_sleep_ms(1100);
    ash__http_log_write(log, &sample);
    assert_int_equal(size_of(path), one);
    assert_int_equal(size_of(old), one);
    ash__http_log_close(log);
    unlink(path);
    unlink(old);
    assert_int_not_equal(ash__http_log_open("/no/such/folder/log", ASH_HTTP_LOG_JSON, &log, &err),
                         0);
    assert_non_null(strstr(err.text, "/no/such/folder/log"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_who_asked),
        cmocka_unit_test(test_links_are_shortened),
        cmocka_unit_test(test_what_is_nearly_a_link_is_shortened),
        cmocka_unit_test(test_what_clients_send),
        cmocka_unit_test(test_rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
