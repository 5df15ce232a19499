/* SPDX-License-Identifier: Apache-2.0 */
/* A plain descriptor as a stream, and what all streams have in common: time limits, and what counts
 * as progress. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "net/stream.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECES_A_CALL = 512 }; /* of sendmsg(), which refuses more than IOV_MAX, 1024 on Linux */

/* As poll(), with a time that no signal makes longer or shorter; < 0: forever. */
static bool wait_for_all(struct pollfd *fds, nfds_t count, int64_t timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? 0 : ash__clock_ms() + timeout_ms;
    for (;;) {
        int wait = timeout_ms < 0 ? -1 : (int)(timeout_ms > INT_MAX ? INT_MAX : timeout_ms);
        int n = poll(fds, count, wait);
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
        /* A signal came: what is left of the time, and no more. */
        if (timeout_ms >= 0) {
            timeout_ms = deadline - ash__clock_ms();
            if (timeout_ms < 0)
                timeout_ms = 0;
        }
    }
}

static bool wait_for(int fd, short events, int64_t timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    return wait_for_all(&p, 1, timeout_ms);
}

/* ---- a plain descriptor ---- */

static ssize_t receive_plain(ash_stream *s, void *data, size_t room)
{
    ssize_t n;
    do
        /* By the call, since a descriptor that is taken over may block. */
        n = recv(s->fd, data, room, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? ASH_STREAM_WANTS_READ
                                                              : ASH_STREAM_OVER;
}

static ssize_t send_plain(ash_stream *s, const struct iovec *iov, size_t count)
{
    struct msghdr m;
    memset(&m, 0, sizeof m);
    m.msg_iov = (struct iovec *)(uintptr_t)iov;
    m.msg_iovlen = count < PIECES_A_CALL ? count : PIECES_A_CALL;
    ssize_t n;
    do
        /* A client that is gone is an error here, not SIGPIPE. */
        n = sendmsg(s->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK ? ASH_STREAM_WANTS_WRITE : ASH_STREAM_OVER;
}

static const ash_stream_ops plain = {.receive = receive_plain, .send = send_plain};

void ash__stream_init(ash_stream *s, int fd)
{
    *s = (ash_stream){.ops = &plain, .fd = fd};
}

void ash__stream_close(ash_stream *s)
{
    if (s->ops->release != NULL)
        s->ops->release(s);
    close(s->fd);
}

void ash__stream_shutdown(ash_stream *s, bool both)
{
    shutdown(s->fd, both ? SHUT_RDWR : SHUT_RD);
}

bool ash__stream_holds(const ash_stream *s)
{
    return s->ops->holds != NULL && s->ops->holds(s);
}

void ash__stream_finish(ash_stream *s)
{
    if (s->ops->finish != NULL)
        s->ops->finish(s);
    shutdown(s->fd, SHUT_WR);
}

/* ---- any stream ---- */

bool ash__stream_wait(const ash_stream *s, int64_t timeout_ms)
{
    return ash__stream_holds(s) || wait_for(s->fd, POLLIN, timeout_ms);
}

unsigned ash__stream_wait_any(const ash_stream *s, unsigned wishes, int other_fd,
                              int64_t timeout_ms)
{
    short events = (short)((wishes & ASH_STREAM_READABLE ? POLLIN : 0) |
                           (wishes & ASH_STREAM_WRITABLE ? POLLOUT : 0));
    /* Without a wish an end would end every wait, since poll() always tells of it. */
    struct pollfd p[] = {{.fd = other_fd, .events = POLLIN},
                         {.fd = events != 0 ? s->fd : -1, .events = events}};
    unsigned held = wishes & ASH_STREAM_READABLE && ash__stream_holds(s) ? ASH_STREAM_READABLE : 0;
    if (!wait_for_all(p, 2, held != 0 ? 0 : timeout_ms))
        return held;
    unsigned over = p[1].revents & (POLLERR | POLLHUP | POLLNVAL) ? wishes : 0;
    return held | over | (p[0].revents != 0 ? ASH_STREAM_OTHER : 0) |
           (p[1].revents & POLLIN ? ASH_STREAM_READABLE : 0) |
           (p[1].revents & POLLOUT ? ASH_STREAM_WRITABLE : 0);
}

bool ash__stream_rest(const ash_stream *s, int64_t time_ms)
{
    return !wait_for(s->fd, POLLRDHUP, time_ms);
}

/* Bytes that nobody has read yet hide the end. */
bool ash__stream_hung_up(const ash_stream *s)
{
    char byte;
    return recv(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

bool ash__stream_subject(const ash_stream *s, char out[ASH_STREAM_SUBJECT_BYTES])
{
    return s->ops->subject != NULL && s->ops->subject(s, out, ASH_STREAM_SUBJECT_BYTES);
}

int64_t ash__stream_round_trip_us(const ash_stream *s)
{
#ifdef TCP_INFO
    struct tcp_info info;
    socklen_t len = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        return info.tcpi_rtt;
#endif
    (void)s;
    return 0;
}

/* Until the descriptor is ready for what the stream wants; false when it is too late. */
static bool wait_for_wish(const ash_stream *s, ssize_t wish, int64_t timeout_ms)
{
    return wait_for(s->fd, wish == ASH_STREAM_WANTS_WRITE ? POLLOUT : POLLIN, timeout_ms);
}

size_t ash__stream_read(ash_stream *s, void *data, size_t room, int64_t deadline_ms)
{
    for (;;) {
        ssize_t n = s->ops->receive(s, data, room);
        if (n > 0)
            return (size_t)n;
        if (n == ASH_STREAM_OVER)
            return 0;
        /* Asked only when there is nothing to read: what has come in time counts, however late we
         * look. */
        int64_t left = deadline_ms == 0 ? -1 : deadline_ms - ash__clock_ms();
        if ((deadline_ms != 0 && left <= 0) || !wait_for_wish(s, n, left))
            return 0;
    }
}

static void skip_sent(struct iovec **iov, size_t *count, size_t sent)
{
    while (*count > 0 && sent >= (*iov)->iov_len) {
        sent -= (*iov)->iov_len;
        (*iov)++;
        (*count)--;
    }
    if (sent > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + sent;
        (*iov)->iov_len -= sent;
    }
}

/* As the stream's send; what went is gone from the pieces. */
static ssize_t send_some(ash_stream *s, struct iovec **iov, size_t *count)
{
    ssize_t n = s->ops->send(s, *iov, *count);
    if (n >= 0)
        skip_sent(iov, count, (size_t)n);
    return n;
}

bool ash__stream_push(ash_stream *s, struct iovec **iov, size_t *count)
{
    return *count == 0 || send_some(s, iov, count) != ASH_STREAM_OVER;
}

bool ash__stream_write(ash_stream *s, struct iovec *iov, size_t count, int64_t timeout_ms,
                       _Atomic int64_t *moved_ms)
{
    int64_t moved = ash__clock_ms();
    size_t since = 0;
    while (count > 0) {
        ssize_t n = send_some(s, &iov, &count);
        if (n == ASH_STREAM_OVER)
            return false;
        if (n < 0) {
            /* The limit is from the last progress on, so that a large answer may take long. */
            int64_t left = moved + timeout_ms - ash__clock_ms();
            if (left <= 0 || !wait_for_wish(s, n, left))
                return false;
            continue;
        }
        since += (size_t)n;
        if (since >= ASH_STREAM_STEP_BYTES) {
            since = 0;
            moved = ash__clock_ms();
            if (moved_ms != NULL)
                atomic_store_explicit(moved_ms, moved, memory_order_relaxed);
        }
    }
    return true;
}
