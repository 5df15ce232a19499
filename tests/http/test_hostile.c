/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that mean no good: bounded, and others are served meanwhile. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "web.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int setup(void **state)
{
    web *w = ash__new(web);
    ash_http_options o = ASH_HTTP_OPTIONS_INIT;
    o.max_connections = 40;
    o.head_timeout_ms = 500;
    o.move_timeout_ms = 1500;
    o.idle_timeout_ms = 1000;
    o.max_body_bytes = 100000;
    o.threads = 2;
    web_start(w, &o);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    web_stop(*state);
    ash__free(*state);
    return 0;
}

static void expect_served(const web *w)
{
    char *answer = web_ask(w, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_memory_equal(answer, "HTTP/1.1 200", 12);
    ash__free(answer);
}

static void expect_refused(const web *w, const char *text, const char *status)
{
    char *answer = web_ask(w, text);
    if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || strncmp(answer + 9, status, 3) != 0)
        fail_msg("%s\nanswered by\n%s", text, answer);
    /* Nothing that follows is taken for another request. */
    assert_null(strstr(answer + 9, "HTTP/1.1 "));
    assert_non_null(strstr(answer, "\r\nConnection: close\r\n"));
    ash__free(answer);
}

/* Where two readers may see two requests, there is none. */
static void test_smuggling(void **state)
{
    const web *w = *state;
    static const char *const rows[] = {
        "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\nGET /hello "
        "HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nGGET "
        "/hello HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: a\r\nX: y\n\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\n\nGET /hello "
        "HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++)
        expect_refused(w, rows[i], "400");
    expect_served(w);
}

static void test_endless_head(void **state)
{
    const web *w = *state;
    ash_buffer text = ASH_BUFFER_INIT;
    ash__buffer_append_text(&text, "GET /hello HTTP/1.1\r\nHost: a\r\n");
    while (text.len < 200000)
        ash__buffer_append_text(&text, "X-Some: field\r\n");
    expect_refused(w, ash__buffer_text(&text), "431");
    ash__buffer_clear(&text);
    while (text.len < 200000)
        ash__buffer_append_text(&text, "/GET");
    expect_refused(w, ash__buffer_text(&text), "414");
    ash__buffer_release(&text);
    expect_served(w);
}

static void test_large_body(void **state)
{
    const web *w = *state;
    expect_refused(w, "PUT /count HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n", "413");
    ash_buffer text = ASH_BUFFER_INIT;
    ash__buffer_append_text(
        &text, "PUT /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n");
    while (text.len < 0x20000)
        ash__buffer_append_byte(&text, 'x');
    expect_refused(w, ash__buffer_text(&text), "413");
    ash__buffer_release(&text);
}

/* How long until the other side closes. */
static int64_t closed_after(int fd)
{
    int64_t begun = ash__clock_ms();
    char data[100];
    while (recv(fd, data, sizeof data, 0) > 0)
        continue;
    return ash__clock_ms() - begun;
}

static void test_slow_head(void **state)
{
    const web *w = *state;
    int fd = web_connect(w);
    web_send(fd, "GET /hel", 8);
    assert_in_range(closed_after(fd), 300, 60000);
    close(fd);
    fd = web_connect(w);
    assert_in_range(closed_after(fd), 600, 60000); /* says nothing at all */
    close(fd);
}

static void test_slow_body(void **state)
{
    const web *w = *state;
    int released = web_released();
    int fd = web_connect(w);
    static const char head[] = "PUT /count HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n";
    web_send(fd, head, sizeof head - 1);
    /* A byte now and then is no progress. */
    int64_t begun = ash__clock_ms();
    while (ash__clock_ms() - begun < 60000 && web_released() == released) {
        web_send(fd, "x", 1);
        ash__clock_sleep_ms(50);
    }
    assert_int_equal(web_released(), released + 1);
    close(fd);
}

/* Takes nothing of a long answer. */
static void test_slow_reader(void **state)
{
    const web *w = *state;
    int released = web_released();
    int fd = web_connect(w);
    static const char ask[] = "GET /bytes?n=500000000 HTTP/1.1\r\nHost: a\r\n\r\n";
    web_send(fd, ask, sizeof ask - 1);
    for (int i = 0; i < 6000 && web_released() == released; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(web_released(), released + 1);
    close(fd);
}

/* More slow clients than there are threads: they cost none. */
static void test_slow_crowd(void **state)
{
    const web *w = *state;
    int fds[20];
    static const char ask[] = "GET /bytes?n=500000000 HTTP/1.1\r\nHost: a\r\n\r\n";
    for (size_t i = 0; i < ASH_ARRAY_LEN(fds); i++) {
        fds[i] = web_connect(w);
        if (i % 2 == 0)
            web_send(fds[i], ask, sizeof ask - 1);
        else
            web_send(fds[i], "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nx", 53);
    }
    for (int i = 0; i < 50; i++)
        expect_served(w);
    for (size_t i = 0; i < ASH_ARRAY_LEN(fds); i++)
        close(fds[i]);
}

/* More clients than there are places: those that have nothing to say make room. */
static void test_crowd(void **state)
{
    const web *w = *state;
    int fds[60];
    for (size_t i = 0; i < ASH_ARRAY_LEN(fds); i++) {
        fds[i] = web_connect(w);
        if (i == 39)
            ash__clock_sleep_ms(700);
    }
    expect_served(w);
    for (size_t i = 0; i < ASH_ARRAY_LEN(fds); i++)
        close(fds[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smuggling),  cmocka_unit_test(test_endless_head),
        cmocka_unit_test(test_large_body), cmocka_unit_test(test_slow_head),
        cmocka_unit_test(test_slow_body),  cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_slow_crowd), cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
