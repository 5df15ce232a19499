/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

enum { CALL_BYTES = 8 }; /* of eventfd; any number does for a pipe */

int ash__nats_wake_init(ash_nats_wake *w, ash_error *err)
{
    atomic_init(&w->called, false);
#ifdef __linux__
    /* One descriptor a client instead of two. */
    w->read_fd = w->write_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->read_fd < 0)
        return ash__fail_errno(err, errno, "cannot serve a client");
#else
    int fds[2];
    if (pipe(fds) != 0)
        return ash__fail_errno(err, errno, "cannot serve a client");
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    w->read_fd = fds[0];
    w->write_fd = fds[1];
#endif
    return 0;
}

void ash__nats_wake_release(ash_nats_wake *w)
{
    if (w->write_fd != w->read_fd)
        close(w->write_fd);
    close(w->read_fd);
}

void ash__nats_wake_call(ash_nats_wake *w)
{
    uint64_t one = 1;
    if (atomic_exchange(&w->called, true))
        return;
    ssize_t n = write(w->write_fd, &one, CALL_BYTES);
    (void)n; /* what cannot take more is readable already */
}

void ash__nats_wake_clear(ash_nats_wake *w)
{
    uint64_t calls;
    /* First read, then forget: a call in between is not written, but it is not forgotten either,
     * since whoever clears looks afterwards at what was to be told. */
    ssize_t n = read(w->read_fd, &calls, CALL_BYTES);
    (void)n;
    atomic_store(&w->called, false);
}
