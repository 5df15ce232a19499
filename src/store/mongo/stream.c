/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's sockets with a stream around them that looks at the limits of the call at hand. */

#include "store/mongo/stream.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/mongo/limits.h"
#include "store/ops.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define DEFAULT_CONNECT_MS 10000
#define BUFFER_BYTES       1024
/* How late a cancel flag is seen. */
#define CANCEL_EVERY_MS 50
#define POLL_MAX        64
/* The driver asks a stream for its type only to know its own; any other number is foreign. */
#define FOREIGN_TYPE 100

struct limited {
    mongoc_stream_t base;
    mongoc_stream_t *socket;
    const ash_mongo_limits *limits;
    bool timed_out;
};

/* ---- time ---- */

static bool is_over(const ash_mongo_limits *l)
{
    return ash__is_cancelled(l->cancel) ||
           (l->deadline_ms != 0 && ash__clock_ms() >= l->deadline_ms);
}

/* The driver's timeout (< 0: none), cut just after the deadline, so that who looks at the clock
 * then finds it passed. */
static int32_t cut(const ash_mongo_limits *l, int32_t timeout_ms)
{
    int64_t left;
    if (l->deadline_ms == 0)
        return timeout_ms;
    left = l->deadline_ms - ash__clock_ms() + 1;
    if (left < 0)
        left = 0;
    return timeout_ms >= 0 && timeout_ms < left ? timeout_ms : (int32_t)BSON_MIN(left, INT32_MAX);
}

static ssize_t give_up(struct limited *s)
{
    s->timed_out = true;
    /* The driver takes it for its own time-out and closes the connection. */
    errno = ETIMEDOUT;
    return -1;
}

/* Until there is something to read, the other end has gone, or time is up. */
static bool wait_for_bytes(struct limited *s, int32_t timeout_ms)
{
    int64_t end = timeout_ms >= 0 ? ash__clock_ms() + timeout_ms : INT64_MAX;
    for (;;) {
        mongoc_stream_poll_t p = {.stream = s->socket, .events = POLLIN};
        int64_t left = end - ash__clock_ms();
        if (left <= 0 || is_over(s->limits))
            return false;
        if (mongoc_stream_poll(&p, 1, (int32_t)BSON_MIN(left, CANCEL_EVERY_MS)) != 0)
            return true;
    }
}

/* ---- the driver's table ---- */

static ssize_t limited_readv(mongoc_stream_t *stream, mongoc_iovec_t *iov, size_t count,
                             size_t min_bytes, int32_t timeout_ms)
{
    struct limited *s = (struct limited *)stream;
    s->timed_out = false;
    /* Only who may be cancelled pays for waking up. */
    if (s->limits->cancel != NULL && !wait_for_bytes(s, cut(s->limits, timeout_ms)))
        return give_up(s);
    if (is_over(s->limits))
        return give_up(s);
    return mongoc_stream_readv(s->socket, iov, count, min_bytes, cut(s->limits, timeout_ms));
}

static ssize_t limited_writev(mongoc_stream_t *stream, mongoc_iovec_t *iov, size_t count,
                              int32_t timeout_ms)
{
    struct limited *s = (struct limited *)stream;
    s->timed_out = false;
    if (is_over(s->limits))
        return give_up(s);
    return mongoc_stream_writev(s->socket, iov, count, cut(s->limits, timeout_ms));
}

static void limited_destroy(mongoc_stream_t *stream)
{
    mongoc_stream_destroy(((struct limited *)stream)->socket);
    ash__free(stream);
}

static void limited_failed(mongoc_stream_t *stream)
{
    mongoc_stream_failed(((struct limited *)stream)->socket);
    ash__free(stream);
}

static int limited_close(mongoc_stream_t *stream)
{
    return mongoc_stream_close(((struct limited *)stream)->socket);
}

static int limited_flush(mongoc_stream_t *stream)
{
    return mongoc_stream_flush(((struct limited *)stream)->socket);
}

static int limited_setsockopt(mongoc_stream_t *stream, int level, int name, void *value,
                              mongoc_socklen_t len)
{
    return mongoc_stream_setsockopt(((struct limited *)stream)->socket, level, name, value, len);
}

static mongoc_stream_t *limited_base(mongoc_stream_t *stream)
{
    return ((struct limited *)stream)->socket;
}

static bool limited_check_closed(mongoc_stream_t *stream)
{
    return mongoc_stream_check_closed(((struct limited *)stream)->socket);
}

static ssize_t limited_poll(mongoc_stream_poll_t *streams, size_t count, int32_t timeout_ms)
{
    mongoc_stream_poll_t inner[POLL_MAX];
    ssize_t result;
    /* The driver polls one stream for each server that it looks for. */
    if (count > POLL_MAX) {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        inner[i] = (mongoc_stream_poll_t){.stream = ((struct limited *)streams[i].stream)->socket,
                                          .events = streams[i].events};
    result = mongoc_stream_poll(inner, count, timeout_ms);
    for (size_t i = 0; i < count; i++)
        streams[i].revents = inner[i].revents;
    return result;
}

static bool limited_timed_out(mongoc_stream_t *stream)
{
    const struct limited *s = (const struct limited *)stream;
    return s->timed_out || mongoc_stream_timed_out(s->socket);
}

static bool limited_should_retry(mongoc_stream_t *stream)
{
    return mongoc_stream_should_retry(((struct limited *)stream)->socket);
}

static mongoc_stream_t *wrap(mongoc_stream_t *socket, const ash_mongo_limits *limits)
{
    struct limited *s = ash__new(struct limited);
    s->base = (mongoc_stream_t){
        .type = FOREIGN_TYPE,
        .destroy = limited_destroy,
        .close = limited_close,
        .flush = limited_flush,
        .writev = limited_writev,
        .readv = limited_readv,
        .setsockopt = limited_setsockopt,
        .get_base_stream = limited_base,
        .check_closed = limited_check_closed,
        .poll = limited_poll,
        .failed = limited_failed,
        .timed_out = limited_timed_out,
        .should_retry = limited_should_retry,
    };
    s->socket = socket;
    s->limits = limits;
    return &s->base;
}

/* ---- connecting ---- */

static mongoc_socket_t *connect_to(int family, const struct sockaddr *address, socklen_t len,
                                   int32_t timeout_ms)
{
    mongoc_socket_t *sock = mongoc_socket_new(family, SOCK_STREAM, 0);
    int64_t end_us = bson_get_monotonic_time() + (int64_t)timeout_ms * 1000;

    if (sock != NULL && mongoc_socket_connect(sock, address, (mongoc_socklen_t)len, end_us) != 0) {
        mongoc_socket_destroy(sock);
        sock = NULL;
    }
    return sock;
}

static mongoc_socket_t *connect_unix(const mongoc_host_list_t *host, int32_t timeout_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(host->host) >= sizeof address.sun_path)
        return NULL;
    memcpy(address.sun_path, host->host, strlen(host->host) + 1);
    return connect_to(AF_UNIX, (const struct sockaddr *)&address, sizeof address, timeout_ms);
}

static mongoc_socket_t *connect_inet(const mongoc_host_list_t *host, int32_t timeout_ms)
{
    struct addrinfo hints = {.ai_family = host->family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    mongoc_socket_t *sock = NULL;
    char port[8];

    snprintf(port, sizeof port, "%u", (unsigned)host->port);
    if (getaddrinfo(host->host, port, &hints, &found) != 0)
        return NULL;
    for (struct addrinfo *a = found; a != NULL && sock == NULL; a = a->ai_next)
        sock = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen, timeout_ms);
    freeaddrinfo(found);
    return sock;
}

mongoc_stream_t *ash__mongo_stream_open(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
                                        void *limits, bson_error_t *error)
{
    int32_t timeout_ms =
        cut(limits,
            mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, DEFAULT_CONNECT_MS));
    mongoc_socket_t *sock =
        host->family == AF_UNIX ? connect_unix(host, timeout_ms) : connect_inet(host, timeout_ms);
    if (sock == NULL) {
        bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT,
                       "cannot connect to %s", host->host_and_port);
        return NULL;
    }
    return mongoc_stream_buffered_new(wrap(mongoc_stream_socket_new(sock), limits), BUFFER_BYTES);
}
