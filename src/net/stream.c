/* SPDX-License-Identifier: Apache-2.0 */
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

enum { PIECES_A_CALL = 512 };

static bool wait_for(int fd, short events, int64_t timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t deadline = timeout_ms < 0 ? 0 : ash__clock_ms() + timeout_ms;
    for (;;) {
        int wait = timeout_ms < 0 ? -1 : (int)(timeout_ms > INT_MAX ? INT_MAX : timeout_ms);
        int n = poll(&p, 1, wait);
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
        if (timeout_ms >= 0) {
            timeout_ms = deadline - ash__clock_ms();
            if (timeout_ms < 0)
                timeout_ms = 0;
        }
    }
}

bool ash__stream_wait(int fd, int64_t timeout_ms)
{
    return wait_for(fd, POLLIN, timeout_ms);
}

bool ash__stream_hung_up(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int64_t ash__stream_round_trip_us(int fd)
{
#ifdef TCP_INFO
    struct tcp_info info;
    socklen_t len = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
        return info.tcpi_rtt;
#endif
    (void)fd;
    return 0;
}

size_t ash__stream_read(int fd, void *data, size_t room, int64_t deadline_ms)
{
    for (;;) {
        ssize_t n = recv(fd, data, room, MSG_DONTWAIT);
        if (n >= 0)
            return (size_t)n;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return 0;
        int64_t left = deadline_ms == 0 ? -1 : deadline_ms - ash__clock_ms();
        if ((deadline_ms != 0 && left <= 0) || !wait_for(fd, POLLIN, left))
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

/* How much went; 0 when the socket takes nothing now, < 0 when the peer is gone. */
static ssize_t send_some(int fd, struct iovec **iov, size_t *count)
{
    struct msghdr m;
    memset(&m, 0, sizeof m);
    m.msg_iov = *iov;
    m.msg_iovlen = *count < PIECES_A_CALL ? *count : PIECES_A_CALL;
    ssize_t n;
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    skip_sent(iov, count, (size_t)n);
    return n;
}

bool ash__stream_push(int fd, struct iovec **iov, size_t *count)
{
    return *count == 0 || send_some(fd, iov, count) >= 0;
}

bool ash__stream_write(int fd, struct iovec *iov, size_t count, int64_t timeout_ms,
                       _Atomic int64_t *moved_ms)
{
    int64_t moved = ash__clock_ms();
    size_t since = 0;
    while (count > 0) {
        ssize_t n = send_some(fd, &iov, &count);
        if (n < 0)
            return false;
        if (n == 0) {
            int64_t left = moved + timeout_ms - ash__clock_ms();
            if (left <= 0 || !wait_for(fd, POLLOUT, left))
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
