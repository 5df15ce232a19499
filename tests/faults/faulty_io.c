/* SPDX-License-Identifier: Apache-2.0 */
#undef _FILE_OFFSET_BITS /* the names that LMDB calls */
#define _GNU_SOURCE
#include "faulty_io.h"

#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

const char *const fault_names[] = {"EIO", "ENOSPC", "short write", "done but EIO",
                                   "done but EIO, and EIO from then on"};

static atomic_int countdown;
static atomic_bool armed, happened, lasting;
static enum fault fault;
static _Thread_local bool inside; /* a call of the table: not to be counted twice */

static bool is_due(void)
{
    if (!inside && atomic_load(&happened) && fault == FAULT_LASTING)
        return atomic_load(&armed);
    if (inside || atomic_load(&countdown) <= 0 || atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    atomic_store(&happened, true);
    return true;
}

/* Is the call to be done although it is reported as failed? */
static bool is_done(void)
{
    if (fault == FAULT_LASTING)
        return !atomic_exchange(&lasting, true);
    return fault == FAULT_UNKNOWN;
}

static int refuse(void)
{
    errno = fault == FAULT_ENOSPC || fault == FAULT_SHORT ? ENOSPC : EIO;
    return -1;
}

#define THROUGH(call) (inside = true, through((call), &inside))

static ssize_t through(ssize_t result, bool *flag)
{
    *flag = false;
    return result;
}

static ssize_t fail_write(int fd, const struct iovec *iov, int count, off_t offset)
{
    struct iovec half = iov[0];
    if (is_done())
        THROUGH(ash__io_system.pwritev(fd, iov, count, offset));
    half.iov_len /= 2;
    if (fault == FAULT_SHORT && half.iov_len > 0) {
        /* What is left to write fails. */
        atomic_store(&countdown, 1);
        return THROUGH(ash__io_system.pwritev(fd, &half, 1, offset));
    }
    return refuse();
}

/* ---- Ashlar's calls ---- */

static ssize_t table_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return is_due() ? fail_write(fd, iov, count, offset)
                    : THROUGH(ash__io_system.pwritev(fd, iov, count, offset));
}

#define TABLE(name, parameters, arguments)                                                         \
    static int table_##name parameters                                                             \
    {                                                                                              \
        bool due = is_due();                                                                       \
        if (due && !is_done())                                                                     \
            return refuse();                                                                       \
        int result = (int)THROUGH(ash__io_system.name arguments);                                  \
        return due ? refuse() : result;                                                            \
    }
TABLE(fdatasync, (int fd), (fd))
TABLE(fsync, (int fd), (fd))
TABLE(ftruncate, (int fd, off_t size), (fd, size))
TABLE(fallocate, (int fd, off_t offset, off_t len), (fd, offset, len))
TABLE(punch, (int fd, off_t offset, off_t len), (fd, offset, len))
TABLE(start_writeback, (int fd, off_t offset, off_t len), (fd, offset, len))
TABLE(await_writeback, (int fd, off_t offset, off_t len), (fd, offset, len))
TABLE(rename, (const char *from, const char *to), (from, to))
TABLE(exchange, (const char *a, const char *b), (a, b))
TABLE(unlink, (const char *path), (path))

static int table_open(const char *path, int flags, mode_t mode)
{
    return is_due() ? refuse() : ash__io_system.open(path, flags, mode);
}

void faulty_io_set(int n, enum fault which)
{
    static ash_io io;
    io = ash__io_system;
    io.open = table_open;
    io.pwritev = table_pwritev;
    io.fdatasync = table_fdatasync;
    io.fsync = table_fsync;
    io.ftruncate = table_ftruncate;
    io.fallocate = table_fallocate;
    io.punch = table_punch;
    io.start_writeback = table_start_writeback;
    io.await_writeback = table_await_writeback;
    io.rename = table_rename;
    io.exchange = table_exchange;
    io.unlink = table_unlink;
    fault = which;
    ash__io_set(&io);
    atomic_store(&happened, false);
    atomic_store(&lasting, false);
    atomic_store(&armed, true);
    atomic_store(&countdown, n);
}

bool faulty_io_clear(void)
{
    atomic_store(&countdown, 0);
    atomic_store(&armed, false);
    ash__io_set(NULL);
    return atomic_load(&happened);
}

/* ---- LMDB's calls: it comes here first, as this is the program ---- */

#define REAL(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *buf, size_t len, off_t offset)
{
    struct iovec iov = {(void *)(uintptr_t)buf, len};
    return is_due() ? fail_write(fd, &iov, 1, offset) : REAL(pwrite)(fd, buf, len, offset);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
    if (!is_due())
        return REAL(writev)(fd, iov, count);
    return fail_write(fd, iov, count, lseek(fd, 0, SEEK_CUR));
}

int fdatasync(int fd)
{
    return is_due() ? refuse() : REAL(fdatasync)(fd);
}
