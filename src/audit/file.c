/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memrchr */
#include "audit/file.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_EACH_MS = 1000, AT_ONCE = 64 * 1024 };

static bool reopen(ash_audit_file *f)
{
    struct stat st;
    int fd = open(f->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return false;
    if (f->fd >= 0)
        close(f->fd);
    f->fd = fd;
    f->plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    f->bytes = f->plain ? (int64_t)st.st_size : 0;
    return true;
}

int ash__audit_file_open(ash_audit_file *f, const char *path, ash_error *err)
{
    f->path = ash__strdup(path);
    f->fd = -1;
    return reopen(f) ? 0 : ash__fail_errno(err, errno, "cannot open the audit log %s", path);
}

void ash__audit_file_close(ash_audit_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    ash__free(f->path);
    f->path = NULL;
}

/* FILE.1 becomes FILE.2, and FILE itself FILE.1. */
static void rotate(ash_audit_file *f)
{
    for (int32_t n = f->keep; n >= 1; n--) {
        char *from = n > 1 ? ash__sprintf("%s.%d", f->path, (int)n - 1) : ash__strdup(f->path);
        char *to = ash__sprintf("%s.%d", f->path, (int)n);
        /* One that is not there is none to keep. */
        (void)rename(from, to);
        ash__free(from);
        ash__free(to);
    }
    reopen(f);
}

/* Somebody moved the file away: what follows goes into a new one. */
static void follow(ash_audit_file *f)
{
    struct stat there, ours;
    int64_t now = ash__clock_ms();
    if (f->fd >= 0 && now - f->looked_ms < LOOK_EACH_MS)
        return;
    f->looked_ms = now;
    if (f->fd < 0 || fstat(f->fd, &ours) != 0 || stat(f->path, &there) != 0 ||
        there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
        reopen(f);
}

/* Bytes up to the end of the last line that ends within so many; of a longer one all of it. */
static size_t whole_lines(const char *lines, size_t len, size_t most)
{
    if (len <= most)
        return len;
    const char *end = memrchr(lines, '\n', most);
    if (end == NULL)
        end = memchr(lines + most, '\n', len - most);
    return end != NULL ? (size_t)(end - lines) + 1 : len;
}

/* All of it, or nothing: a part of a line would run into the next one. */
static bool write_all(ash_audit_file *f, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(f->fd, data + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done == len) {
        f->bytes += (int64_t)len;
        return true;
    }
    int why = errno;
    /* Should that fail, too, the next line begins behind a broken one. */
    if (done > 0 && f->plain && ftruncate(f->fd, (off_t)f->bytes) != 0)
        f->bytes += (int64_t)done;
    errno = why;
    return false;
}

size_t ash__audit_file_write(ash_audit_file *f, const void *lines, size_t len)
{
    size_t done = 0;
    while (done < len) {
        follow(f);
        if (f->fd < 0)
            break;
        size_t n = whole_lines((const char *)lines + done, len - done, AT_ONCE);
        if (f->plain && f->bytes > 0 && f->bytes + (int64_t)n > f->max_bytes)
            rotate(f);
        if (f->fd < 0 || !write_all(f, (const char *)lines + done, n))
            break;
        done += n;
    }
    return done;
}
