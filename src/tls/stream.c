/* SPDX-License-Identifier: Apache-2.0 */
/* TLS as a stream on top of a descriptor.  OpenSSL reads and writes by a BIO of ours, since its own
 * would raise SIGPIPE, and wait where a descriptor was given to us blocking. */
#include "tls/state.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/listen.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

enum {
    RECORD_BYTES = 16 * 1024, /* at most in one of TLS' records */
    RECORDS_A_CALL = 16,
    LOG_EACH_MS = 1000
};

typedef struct tls_state {
    SSL *ssl;
    uint8_t *record; /* what was not taken, as it has to be offered again; or NULL */
    size_t record_len;
    bool broken; /* nothing more may be sent, not even that it is over */
} tls_state;

/* ---- the descriptor, as OpenSSL sees it ---- */

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int descriptor_of(BIO *bio)
{
    return ((const ash_stream *)BIO_get_data(bio))->fd;
}

static int bio_read(BIO *bio, char *data, int room)
{
    ssize_t n = recv(descriptor_of(bio), data, (size_t)room, MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (n < 0 && would_block())
        BIO_set_retry_read(bio);
    return (int)n;
}

static int bio_write(BIO *bio, const char *data, int len)
{
    ssize_t n = send(descriptor_of(bio), data, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    BIO_clear_retry_flags(bio);
    if (n < 0 && would_block())
        BIO_set_retry_write(bio);
    return (int)n;
}

static long bio_control(BIO *bio, int command, long number, void *data)
{
    (void)bio, (void)number, (void)data;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/* Made once, and there until the process ends. */
static BIO_METHOD *bio_method(void)
{
    static BIO_METHOD *_Atomic made;
    BIO_METHOD *method = atomic_load(&made), *none = NULL;
    if (method != NULL)
        return method;
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    if (method == NULL)
        return NULL;
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    if (atomic_compare_exchange_strong(&made, &none, method))
        return method;
    BIO_meth_free(method);
    return none;
}

/* ---- why it ended ---- */

/* Somebody who fails again and again does not fill the log. */
static void log_failure(const ash_stream *s, const char *reason)
{
    static _Atomic int64_t last_ms;
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    char remote[ASH_ADDRESS_TEXT_BYTES] = "a client";
    int64_t now = ash__clock_ms(), last = atomic_load(&last_ms);
    if (now - last < LOG_EACH_MS || !atomic_compare_exchange_strong(&last_ms, &last, now))
        return;
    if (getpeername(s->fd, (struct sockaddr *)&peer, &len) == 0)
        ash__address_text(&peer, len, remote);
    ash__log(ASH_LOG_INFO, "no TLS with %s: %s", remote, reason);
}

/* To who speaks HTTP where it has to be HTTPS. */
static void answer_plainly(const ash_stream *s)
{
    static const char text[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 51\r\n"
        "Connection: close\r\n\r\n"
        "this port speaks TLS: the URL begins with https://\n";
    char dropped[4096];
    /* What is not read would reset the connection, and the text with it. */
    while (recv(s->fd, dropped, sizeof dropped, MSG_DONTWAIT) > 0)
        continue;
    (void)!send(s->fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What a call that moved nothing means. */
static ssize_t outcome_of(ash_stream *s, int result)
{
    tls_state *t = s->state;
    unsigned long code = ERR_peek_last_error();
    bool opening = !SSL_is_init_finished(t->ssl);
    switch (SSL_get_error(t->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return ASH_STREAM_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return ASH_STREAM_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return ASH_STREAM_OVER;
    default:
        break;
    }
    t->broken = true;
    if (opening && code != 0)
        log_failure(s, ash__tls_reason());
    if (opening && ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST)
        answer_plainly(s);
    return ASH_STREAM_OVER;
}

/* ---- the stream ---- */

static ssize_t receive(ash_stream *s, void *data, size_t room)
{
    tls_state *t = s->state;
    if (t->broken)
        return ASH_STREAM_OVER;
    ERR_clear_error();
    int n = SSL_read(t->ssl, data, room < INT_MAX ? (int)room : INT_MAX);
    s->opening = !SSL_is_init_finished(t->ssl);
    return n > 0 ? n : outcome_of(s, n);
}

/* The first of the pieces, as much as one record takes. */
static void gather(tls_state *t, const struct iovec *iov, size_t count)
{
    if (t->record == NULL)
        t->record = ash__alloc(RECORD_BYTES);
    for (size_t i = 0; i < count && t->record_len < RECORD_BYTES; i++) {
        size_t left = RECORD_BYTES - t->record_len;
        size_t n = iov[i].iov_len < left ? iov[i].iov_len : left;
        memcpy(t->record + t->record_len, iov[i].iov_base, n);
        t->record_len += n;
    }
}

static void skip(struct iovec *first, const struct iovec **iov, size_t *count, size_t sent)
{
    while (*count > 0 && sent >= first->iov_len) {
        sent -= first->iov_len;
        (*iov)++;
        if (--*count > 0)
            *first = **iov;
    }
    if (*count > 0) {
        first->iov_base = (char *)first->iov_base + sent;
        first->iov_len -= sent;
    }
}

/* One record: its bytes, or what is wanted first, in which case the same bytes have to come again. */
static ssize_t send_record(ash_stream *s)
{
    tls_state *t = s->state;
    ERR_clear_error();
    int n = SSL_write(t->ssl, t->record, (int)t->record_len);
    s->opening = !SSL_is_init_finished(t->ssl);
    if (n <= 0)
        return outcome_of(s, n);
    t->record_len = 0;
    return n;
}

/* What is offered begins with what was not taken before, since that was not said to be sent: it is
 * in the record already. */
static ssize_t send_pieces(ash_stream *s, const struct iovec *iov, size_t count)
{
    tls_state *t = s->state;
    ssize_t sent = 0;
    struct iovec first = count > 0 ? iov[0] : (struct iovec){NULL, 0};
    if (t->broken)
        return ASH_STREAM_OVER;
    for (int i = 0; i < RECORDS_A_CALL && count > 0; i++) {
        if (t->record_len == 0) {
            gather(t, &first, 1);
            gather(t, iov + 1, count - 1);
        }
        if (t->record_len == 0)
            break;
        ssize_t n = send_record(s);
        if (n < 0)
            return sent > 0 ? sent : n;
        sent += n;
        skip(&first, &iov, &count, (size_t)n);
    }
    return sent;
}

/* Of a record that came whole; the next one is in the descriptor still, since nothing is read ahead.
 * Of half a record nothing can be had, and SSL_has_pending() would tell of it. */
static bool holds(const ash_stream *s)
{
    return SSL_pending(((const tls_state *)s->state)->ssl) > 0;
}

/* That nothing more comes, which tells an end from a cut. */
static void finish(ash_stream *s)
{
    tls_state *t = s->state;
    if (!t->broken && SSL_is_init_finished(t->ssl) && t->record_len == 0) {
        ERR_clear_error();
        SSL_shutdown(t->ssl);
        ERR_clear_error();
    }
}

static void release(ash_stream *s)
{
    tls_state *t = s->state;
    finish(s);
    SSL_free(t->ssl);
    ash__free(t->record);
    ash__free(t);
}

static bool subject(const ash_stream *stream, char *out, size_t room)
{
    out[0] = '\0';
    const SSL *ssl = ((const tls_state *)stream->state)->ssl;
    X509 *shown = SSL_get1_peer_certificate(ssl);
    if (shown == NULL || SSL_get_verify_result(ssl) != X509_V_OK) {
        X509_free(shown);
        return false;
    }
    BIO *text = BIO_new(BIO_s_mem());
    int n = text != NULL &&
                    X509_NAME_print_ex(text, X509_get_subject_name(shown), 0, XN_FLAG_RFC2253) >= 0
                ? BIO_read(text, out, (int)room)
                : 0;
    /* One that does not fit whole could be taken for another. */
    bool whole = n > 0 && (size_t)n < room && memchr(out, '\0', (size_t)n) == NULL;
    out[whole ? n : 0] = '\0';
    BIO_free(text);
    X509_free(shown);
    return whole;
}

static const ash_stream_ops ops = {.receive = receive,
                                   .send = send_pieces,
                                   .holds = holds,
                                   .finish = finish,
                                   .release = release,
                                   .subject = subject};

int ash__tls_wrap(void *tls, ash_stream *stream, ash_error *err)
{
    ash_tls *t = tls;
    ash__mutex_lock(&t->lock);
    SSL *ssl = SSL_new(t->context);
    ash__mutex_unlock(&t->lock);
    BIO_METHOD *method = bio_method();
    BIO *bio = method != NULL ? BIO_new(method) : NULL;
    if (ssl == NULL || bio == NULL) {
        SSL_free(ssl);
        BIO_free(bio);
        return ash__fail(err, ASH_ENOMEM, "no memory for TLS: %s", ash__tls_reason());
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    tls_state *state = ash__new(tls_state);
    state->ssl = ssl;
    stream->ops = &ops;
    stream->state = state;
    stream->is_private = true;
    stream->opening = true;
    return 0;
}
