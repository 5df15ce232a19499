/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers on real sockets. */
#include "check.h"

#include "base/clock.h"
#include "base/mem.h"
#include "web.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int setup(void **state)
{
    web *w = ash__new(web);
    web_start(w, NULL);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    web_stop(*state);
    ash__free(*state);
    return 0;
}

static const char *body_of(const char *answer)
{
    const char *at = strstr(answer, "\r\n\r\n");
    return at != NULL ? at + 4 : "";
}

static int times(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

static void expect(const web *w, const char *request, const char *start, const char *body)
{
    char *answer = web_ask(w, request);
    if (strncmp(answer, start, strlen(start)) != 0 || strcmp(body_of(answer), body) != 0)
        fail_msg("%s\nanswered by\n%s", request, answer);
    ash__free(answer);
}

#define CLOSE "Host: a\r\nConnection: close\r\n"

static void test_answers(void **state)
{
    const web *w = *state;
    expect(w, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 OK\r\nDate: ", "hello\n");
    expect(w, "HEAD /hello HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 OK\r\n", "");
    expect(w, "GET /none HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 204 No Content\r\n", "");
    expect(w, "OPTIONS * HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 404 ", "nothing is called * here\n");
    expect(w, "GET /hello HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "hello\n");
    expect(w, "GET /chunks?n=3 HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 OK\r\n",
           "3\r\nbbb\r\n0\r\n\r\n");
    expect(w, "GET /chunks?n=3 HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "bbb");
    expect(w, "GET /nothing HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 404 Not Found\r\n",
           "nothing is called /nothing here\n");
    expect(w, "GET /.. HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 400 Bad Request\r\n",
           "a name is \".\" or \"..\", or has a '/' in it\n");
}

static void test_bodies(void **state)
{
    const web *w = *state;
    expect(w, "PUT /echo HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 200",
           "hello");
    expect(w,
           "PUT /echo HTTP/1.1\r\n" CLOSE
           "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
           "HTTP/1.1 200", "hello");
    expect(w, "PUT /echo HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200", "");
    expect(w, "PUT /unwelcome HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 403",
           "not any more\n");
    /* Nobody wants the body, and the next request is found behind it. */
    char *answer = web_ask(w, "PUT /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
                              "GET /none HTTP/1.1\r\n" CLOSE "\r\n");
    assert_memory_equal(answer, "HTTP/1.1 409", 12);
    assert_non_null(strstr(answer, "\r\n\r\nno\nHTTP/1.1 204 No Content\r\n"));
    ash__free(answer);
}

static void test_keeps_the_connection(void **state)
{
    const web *w = *state;
    int fd = web_connect(w);
    static const char one[] = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";
    for (int i = 0; i < 3; i++) {
        web_send(fd, one, sizeof one - 1);
        char *answer = web_read_until(fd, "hello\n");
        assert_string_equal(body_of(answer), "hello\n");
        assert_null(strstr(answer, "Connection: close"));
        ash__free(answer);
    }
    close(fd);
}

/* Several in one piece, and one in as many pieces as it has bytes. */
static void test_pieces(void **state)
{
    const web *w = *state;
    static const char three[] =
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nPUT /echo HTTP/1.1\r\nHost: a\r\n"
        "Content-Length: 3\r\n\r\nabc\r\nGET /hello HTTP/1.1\r\n" CLOSE "\r\n";
    char *answer = web_ask(w, three);
    assert_int_equal(times(answer, "HTTP/1.1 200 OK"), 3);
    assert_int_equal(times(answer, "\r\n\r\nabcHTTP"), 1);
    ash__free(answer);
    int fd = web_connect(w);
    for (size_t i = 0; i < sizeof three - 1; i++) {
        web_send(fd, three + i, 1);
        if (i % 16 == 0)
            ash__clock_sleep_ms(1);
    }
    answer = web_read(fd, 30000, NULL);
    assert_int_equal(times(answer, "HTTP/1.1 200 OK"), 3);
    ash__free(answer);
    close(fd);
}

static void test_continue(void **state)
{
    const web *w = *state;
    int fd = web_connect(w);
    static const char head[] =
        "PUT /echo HTTP/1.1\r\n" CLOSE "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    web_send(fd, head, sizeof head - 1);
    char *answer = web_read_until(fd, "\r\n\r\n");
    assert_string_equal(answer, "HTTP/1.1 100 Continue\r\n\r\n");
    ash__free(answer);
    web_send(fd, "ok", 2);
    answer = web_read(fd, 30000, NULL);
    assert_string_equal(body_of(answer), "ok");
    ash__free(answer);
    close(fd);
    /* A refusal comes instead of it, and then nothing can follow. */
    fd = web_connect(w);
    static const char refused[] =
        "PUT /refuse HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    web_send(fd, refused, sizeof refused - 1);
    answer = web_read(fd, 30000, NULL);
    assert_memory_equal(answer, "HTTP/1.1 409", 12);
    ash__free(answer);
    close(fd);
}

/* More than sockets hold, to a client that begins to read late. */
static void test_large(void **state)
{
    const web *w = *state;
    size_t len;
    int fd = web_connect(w);
    static const char ask[] = "GET /bytes?n=50000000 HTTP/1.1\r\n" CLOSE "\r\n";
    web_send(fd, ask, sizeof ask - 1);
    ash__clock_sleep_ms(100);
    char *answer = web_read(fd, 30000, &len);
    assert_int_equal(len - (size_t)(body_of(answer) - answer), 50000000);
    ash__free(answer);
    close(fd);
    fd = web_connect(w);
    static const char put[] = "PUT /count HTTP/1.1\r\n" CLOSE "Content-Length: 50000000\r\n\r\n";
    web_send(fd, put, sizeof put - 1);
    char *data = ash__alloc(50000000);
    web_send(fd, data, 50000000);
    answer = web_read(fd, 30000, NULL);
    assert_string_equal(body_of(answer), "50000000\n");
    ash__free(answer);
    ash__free(data);
    close(fd);
}

/* All of a body that nobody wants is sent before the answer is read. */
static void test_refused_late(void **state)
{
    const web *w = *state;
    int fd = web_connect(w);
    static const char put[] = "PUT /refuse HTTP/1.1\r\n" CLOSE "Content-Length: 20000000\r\n\r\n";
    char *data = ash__alloc(20000000);
    web_send(fd, put, sizeof put - 1);
    web_send(fd, data, 20000000);
    char *answer = web_read(fd, 30000, NULL);
    assert_memory_equal(answer, "HTTP/1.1 409", 12);
    ash__free(answer);
    ash__free(data);
    close(fd);
}

/* What is not whole does not look as if it were. */
static void test_cut(void **state)
{
    const web *w = *state;
    char *answer = web_ask(w, "GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_non_null(strstr(answer, "4\r\nsome\r\n"));
    assert_null(strstr(answer, "\r\n0\r\n"));
    ash__free(answer);
    answer = web_ask(w, "GET /short HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_non_null(strstr(answer, "Content-Length: 100\r\n"));
    assert_string_equal(body_of(answer), "short");
    ash__free(answer);
}

static void test_later(void **state)
{
    const web *w = *state;
    int fd = web_connect(w);
    static const char ask[] = "GET /later HTTP/1.1\r\n" CLOSE "\r\n";
    web_send(fd, ask, sizeof ask - 1);
    char *answer = web_read_until(fd, "one\r\n");
    assert_string_equal(body_of(answer), "3\r\none\r\n");
    ash__free(answer);
    web_wake();
    answer = web_read(fd, 30000, NULL);
    assert_string_equal(answer, "3\r\ntwo\r\n0\r\n\r\n");
    ash__free(answer);
    close(fd);
}

/* Its client goes while there is nothing to say. */
static void test_later_gone(void **state)
{
    const web *w = *state;
    int fd = web_connect(w);
    static const char ask[] = "GET /later HTTP/1.1\r\nHost: a\r\n\r\n";
    web_send(fd, ask, sizeof ask - 1);
    ash__free(web_read_until(fd, "one\r\n"));
    int before = web_released();
    close(fd);
    for (int i = 0; i < 500 && web_released() == before; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(web_released(), before + 1);
}

static void test_no_other_field(void **state)
{
    const web *w = *state;
    char *answer = web_ask(w, "GET /break HTTP/1.1\r\n" CLOSE "\r\n");
    assert_non_null(strstr(answer, "X-Test: aSet-Cookie: b\r\n"));
    ash__free(answer);
}

static void test_ids(void **state)
{
    const web *w = *state;
    char *answer = web_ask(w, "GET /none HTTP/1.1\r\nX-Request-Id: proxy-1.a\r\n" CLOSE "\r\n");
    assert_non_null(strstr(answer, "\r\nX-Request-Id: proxy-1.a\r\n"));
    ash__free(answer);
    answer = web_ask(w, "GET /none HTTP/1.1\r\nX-Request-Id: a b\r\n" CLOSE "\r\n");
    assert_null(strstr(answer, "a b"));
    assert_non_null(strstr(answer, "\r\nX-Request-Id: "));
    ash__free(answer);
}

/* ---- many ---- */

static void *many(void *arg)
{
    const web *w = arg;
    long failed = 0;
    for (int i = 0; i < 50; i++) {
        char *answer = web_ask(w, "PUT /echo HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\nhello");
        failed += strcmp(body_of(answer), "hello") != 0;
        ash__free(answer);
    }
    return (void *)failed;
}

static void test_many(void **state)
{
    web *w = *state;
    pthread_t threads[8];
    for (size_t i = 0; i < ASH_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many, w), 0);
    for (size_t i = 0; i < ASH_ARRAY_LEN(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    const ash_http_counts *counts = ash__http_server_counts(w->server);
    /* Counted as the last byte goes, which a client may see first. */
    for (int i = 0; i < 200 && atomic_load(&counts->requests[2]) < 400; i++)
        ash__clock_sleep_ms(10);
    assert_true(atomic_load(&counts->requests[2]) >= 400);
}

/* What is being answered when a stop comes is answered to its end. */
static void *stop_later(void *arg)
{
    ash__clock_sleep_ms(100);
    ash__http_server_stop(arg);
    return NULL;
}

static void test_stop(void **state)
{
    (void)state;
    web w;
    pthread_t stopper;
    size_t len;
    ash_http_options o = ASH_HTTP_OPTIONS_INIT;
    o.stop_timeout_ms = 20000;
    web_start(&w, &o);
    int idle = web_connect(&w), fd = web_connect(&w);
    static const char ask[] = "GET /bytes?n=30000000 HTTP/1.1\r\n" CLOSE "\r\n";
    web_send(fd, ask, sizeof ask - 1);
    ash__clock_sleep_ms(50);
    assert_int_equal(pthread_create(&stopper, NULL, stop_later, w.server), 0);
    ash__clock_sleep_ms(300);
    char *answer = web_read(fd, 30000, &len);
    assert_int_equal(len - (size_t)(body_of(answer) - answer), 30000000);
    ash__free(answer);
    pthread_join(stopper, NULL);
    close(fd);
    close(idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_keeps_the_connection),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_continue),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_refused_late),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_later_gone),
        cmocka_unit_test(test_no_other_field),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
