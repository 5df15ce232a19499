/* SPDX-License-Identifier: Apache-2.0 */
/* Streams with TLS, against OpenSSL's own client. */
#include "pki.h"
#include "tls/tls.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE_BYTES = 3000000 };

typedef struct pair {
    pki keys;
    ash_tls *tls;
    ash_stream stream;
    int fd; /* the client's */
    pki_client client;
    pthread_t thread;
    int outcome; /* of what the client did */
    uint8_t *data, *back;
} pair;

static void open_pair(pair *p, ash_tls_clients clients, const char *certificate)
{
    ash_error err = ASH_ERROR_INIT;
    int fds[2], bytes = 8192;
    char server[128], ca[128];
    memset(p, 0, sizeof *p);
    pki_init(&p->keys);
    pki_make(&p->keys, (pki_wish){"ca", NULL, "CN=them", 10, NULL});
    pki_make(&p->keys, (pki_wish){"server", "ca", "CN=server", 10, NULL});
    pki_make(&p->keys, (pki_wish){"client", "ca", "CN=anna,OU=desk,O=office", 10, NULL});
    pki_make(&p->keys, (pki_wish){"over", "ca", "CN=anna,OU=desk,O=office", 0, NULL});
    pki_make(&p->keys, (pki_wish){"stranger", NULL, "CN=anna,OU=desk,O=office", 10, NULL});
    snprintf(server, sizeof server, "%s", pki_path(&p->keys, "server"));
    snprintf(ca, sizeof ca, "%s", pki_path(&p->keys, "ca"));
    ash_tls_options o = {.certificate = server, .ca = ca, .clients = clients};
    assert_int_equal(ash__tls_new(&o, &p->tls, &err), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    p->fd = fds[1];
    ash__stream_init(&p->stream, fds[0]);
    assert_false(p->stream.is_private);
    assert_int_equal(ash__tls_wrap(p->tls, &p->stream, &err), 0);
    assert_true(p->stream.is_private && p->stream.opening);
    pki_client_init(&p->client, &p->keys, p->fd, certificate);
    p->data = ash__alloc(LARGE_BYTES);
    p->back = ash__alloc(LARGE_BYTES);
    for (int i = 0; i < LARGE_BYTES; i++)
        p->data[i] = (uint8_t)(i * 31 ^ i >> 9);
}

static void close_pair(pair *p)
{
    pki_client_release(&p->client);
    close(p->fd);
    ash__tls_free(p->tls);
    pki_release(&p->keys);
    ash__free(p->data);
    ash__free(p->back);
}

static void start(pair *p, void *(*run)(void *pair))
{
    assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
}

static void *connect_alone(void *arg)
{
    pair *p = arg;
    char byte;
    p->outcome =
        SSL_connect(p->client.ssl) == 1 && SSL_read(p->client.ssl, &byte, 1) == 1 && byte == 'x';
    return NULL;
}

/* Does the handshake end well, and a byte arrive? */
static bool meets(pair *p)
{
    char x = 'x';
    struct iovec iov = {&x, 1};
    start(p, connect_alone);
    bool sent = ash__stream_write(&p->stream, &iov, 1, 20000, NULL);
    if (!sent)
        ash__stream_close(&p->stream);
    pthread_join(p->thread, NULL);
    if (sent)
        assert_false(p->stream.opening);
    return sent && p->outcome == 1;
}

/* ---- bytes ---- */

static void *send_and_take(void *arg)
{
    pair *p = arg;
    size_t sent = 0, taken = 0;
    while (sent < LARGE_BYTES) {
        int n = SSL_write(p->client.ssl, p->data + sent, 50000);
        if (n <= 0)
            return NULL;
        sent += (size_t)n;
    }
    while (taken < LARGE_BYTES) {
        int n = SSL_read(p->client.ssl, p->back + taken, LARGE_BYTES - (int)taken);
        if (n <= 0)
            return NULL;
        taken += (size_t)n;
    }
    p->outcome = memcmp(p->data, p->back, LARGE_BYTES) == 0;
    /* The end of all, told. */
    char byte;
    if (SSL_read(p->client.ssl, &byte, 1) > 0 ||
        SSL_get_error(p->client.ssl, 0) != SSL_ERROR_ZERO_RETURN)
        p->outcome = 0;
    return NULL;
}

/* Small buffers below, so that records are taken in pieces; pieces above of all sizes. */
static void test_bytes_arrive(void **state)
{
    pair p;
    struct iovec iov[LARGE_BYTES / 1000];
    size_t got = 0, count = 0, at = 0;
    (void)state;
    open_pair(&p, ASH_TLS_CLIENTS_NONE, NULL);
    uint8_t *came = ash__alloc(LARGE_BYTES);
    start(&p, send_and_take);
    while (got < LARGE_BYTES) {
        size_t n =
            ash__stream_read(&p.stream, came + got, LARGE_BYTES - got, ash__clock_deadline(20000));
        assert_true(n > 0);
        got += n;
    }
    assert_memory_equal(came, p.data, LARGE_BYTES);
    for (size_t step = 1; at < LARGE_BYTES; at += step, count++) {
        step = count % 3 == 0 ? 1 : count % 3 == 1 ? 100 : 40000;
        if (step > LARGE_BYTES - at)
            step = LARGE_BYTES - at;
        iov[count] = (struct iovec){p.data + at, step};
    }
    assert_true(ash__stream_write(&p.stream, iov, count, 20000, NULL));
    ash__stream_finish(&p.stream);
    pthread_join(p.thread, NULL);
    assert_int_equal(p.outcome, 1);
    ash__stream_close(&p.stream);
    ash__free(came);
    close_pair(&p);
}

/* Of a record that came whole, what nobody has read is no event of the descriptor. */
static void test_holds_what_came(void **state)
{
    pair p;
    char text[3];
    (void)state;
    open_pair(&p, ASH_TLS_CLIENTS_NONE, NULL);
    assert_true(meets(&p));
    assert_false(ash__stream_holds(&p.stream));
    assert_int_equal(SSL_write(p.client.ssl, "abc", 3), 3);
    assert_int_equal(ash__stream_read(&p.stream, text, 1, ash__clock_deadline(20000)), 1);
    assert_true(ash__stream_holds(&p.stream));
    assert_true(ash__stream_wait(&p.stream, 0));
    assert_int_equal(ash__stream_read(&p.stream, text + 1, 2, ash__clock_deadline(20000)), 2);
    assert_memory_equal(text, "abc", 3);
    assert_false(ash__stream_holds(&p.stream));
    assert_int_equal(p.stream.ops->receive(&p.stream, text, 1), ASH_STREAM_WANTS_READ);
    ash__stream_close(&p.stream);
    close_pair(&p);
}

/* ---- who does not go on ---- */

static void test_waits_for_nothing(void **state)
{
    pair p;
    char byte;
    char x = 'x';
    struct iovec iov = {&x, 1};
    /* The beginning of a ClientHello that says 512 bytes are to come. */
    static const char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0x3c, 0x03, 0x03};
    (void)state;
    open_pair(&p, ASH_TLS_CLIENTS_NONE, NULL);
    assert_int_equal(p.stream.ops->receive(&p.stream, &byte, 1), ASH_STREAM_WANTS_READ);
    assert_int_equal(send(p.fd, hello, sizeof hello, 0), sizeof hello);
    assert_int_equal(p.stream.ops->receive(&p.stream, &byte, 1), ASH_STREAM_WANTS_READ);
    assert_int_equal(p.stream.ops->send(&p.stream, &iov, 1), ASH_STREAM_WANTS_READ);
    assert_true(p.stream.opening);
    /* What came of it is nothing that could be had. */
    assert_false(ash__stream_holds(&p.stream));
    int64_t before = ash__clock_ms();
    assert_int_equal(ash__stream_read(&p.stream, &byte, 1, ash__clock_deadline(100)), 0);
    assert_true(ash__clock_ms() - before < 5000);
    shutdown(p.fd, SHUT_WR);
    assert_int_equal(p.stream.ops->receive(&p.stream, &byte, 1), ASH_STREAM_OVER);
    assert_int_equal(p.stream.ops->send(&p.stream, &iov, 1), ASH_STREAM_OVER);
    ash__stream_close(&p.stream);
    close_pair(&p);
}

static void test_what_is_no_tls(void **state)
{
    static const char *const texts[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                        "\x16\x03\x01\xff\xff\x01",
                                        "garbage that nobody understands"};
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(texts); i++) {
        pair p;
        char byte, answer[200] = "";
        open_pair(&p, ASH_TLS_CLIENTS_NONE, NULL);
        send(p.fd, texts[i], strlen(texts[i]), 0);
        shutdown(p.fd, SHUT_WR);
        assert_int_equal(p.stream.ops->receive(&p.stream, &byte, 1), ASH_STREAM_OVER);
        ash__stream_close(&p.stream);
        ssize_t n = recv(p.fd, answer, sizeof answer - 1, 0);
        if (i == 0)
            assert_true(n > 0 && strstr(answer, "HTTP/1.1 400 ") == answer &&
                        strstr(answer, "https://") != NULL);
        close_pair(&p);
    }
}

/* A peer that is gone is an end, and no signal. */
static void test_gone(void **state)
{
    pair p;
    char x = 'x';
    struct iovec iov = {&x, 1};
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    open_pair(&p, ASH_TLS_CLIENTS_NONE, NULL);
    assert_true(meets(&p));
    close(p.fd);
    p.fd = dup(STDIN_FILENO);
    assert_false(ash__stream_write(&p.stream, &iov, 1, 1000, NULL));
    ash__stream_finish(&p.stream);
    ash__stream_close(&p.stream);
    close_pair(&p);
}

/* ---- what is agreed on ---- */

static void test_nothing_old(void **state)
{
    static const struct {
        int from, to;
        const char *ciphers;
        bool good;
    } rows[] = {
        {0, TLS1_1_VERSION, NULL, false},
        {TLS1_2_VERSION, TLS1_2_VERSION, NULL, true},
        {TLS1_3_VERSION, TLS1_3_VERSION, NULL, true},
        {TLS1_2_VERSION, TLS1_2_VERSION, "AES128-GCM-SHA256", false},      /* no forward secrecy */
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA", false}, /* CBC */
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", true},
        {TLS1_2_VERSION, TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305", true},
    };
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        pair p;
        open_pair(&p, ASH_TLS_CLIENTS_NONE, NULL);
        SSL_set_security_level(p.client.ssl, 0);
        SSL_set_min_proto_version(p.client.ssl, rows[i].from);
        SSL_set_max_proto_version(p.client.ssl, rows[i].to);
        if (rows[i].ciphers != NULL)
            assert_int_equal(SSL_set_cipher_list(p.client.ssl, rows[i].ciphers), 1);
        if (meets(&p) != rows[i].good)
            fail_msg("row %zu", i);
        if (rows[i].good)
            ash__stream_close(&p.stream);
        close_pair(&p);
    }
}

static void test_who_it_is(void **state)
{
    static const struct {
        ash_tls_clients clients;
        const char *certificate;
        bool meets;
        const char *subject;
    } rows[] = {
        {ASH_TLS_CLIENTS_NONE, NULL, true, NULL},
        {ASH_TLS_CLIENTS_NONE, "client", true, NULL}, /* it was not asked */
        {ASH_TLS_CLIENTS_ASK, NULL, true, NULL},
        {ASH_TLS_CLIENTS_ASK, "client", true, "CN=anna,OU=desk,O=office"},
        {ASH_TLS_CLIENTS_ASK, "stranger", false, NULL},
        {ASH_TLS_CLIENTS_ASK, "over", false, NULL},
        {ASH_TLS_CLIENTS_REQUIRE, NULL, false, NULL},
        {ASH_TLS_CLIENTS_REQUIRE, "client", true, "CN=anna,OU=desk,O=office"},
        {ASH_TLS_CLIENTS_REQUIRE, "stranger", false, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(rows); i++) {
        pair p;
        char subject[ASH_STREAM_SUBJECT_BYTES];
        open_pair(&p, rows[i].clients, rows[i].certificate);
        assert_false(ash__stream_subject(&p.stream, subject));
        if (meets(&p) != rows[i].meets)
            fail_msg("row %zu", i);
        if (rows[i].meets) {
            assert_int_equal(ash__stream_subject(&p.stream, subject), rows[i].subject != NULL);
            assert_string_equal(subject, rows[i].subject != NULL ? rows[i].subject : "");
            ash__stream_close(&p.stream);
        }
        close_pair(&p);
    }
}

/* What could be read as another name is escaped, as MongoDB does it. */
static void test_names_that_mislead(void **state)
{
    pair p;
    char subject[ASH_STREAM_SUBJECT_BYTES];
    (void)state;
    open_pair(&p, ASH_TLS_CLIENTS_ASK, NULL);
    pki_client_release(&p.client);
    pki_make(&p.keys, (pki_wish){"odd", "ca", "CN=anna+OU=desk;O=office", 10, NULL});
    pki_client_init(&p.client, &p.keys, p.fd, "odd");
    assert_true(meets(&p));
    assert_true(ash__stream_subject(&p.stream, subject));
    assert_string_equal(subject, "CN=anna\\+OU=desk\\;O=office");
    ash__stream_close(&p.stream);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_arrive),
        cmocka_unit_test(test_holds_what_came),
        cmocka_unit_test(test_waits_for_nothing),
        cmocka_unit_test(test_what_is_no_tls),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_nothing_old),
        cmocka_unit_test(test_who_it_is),
        cmocka_unit_test(test_names_that_mislead),
    };
    signal(SIGPIPE, SIG_IGN); /* of the client, which is OpenSSL's */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
