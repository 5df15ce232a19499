/* SPDX-License-Identifier: Apache-2.0 */
#undef _FILE_OFFSET_BITS /* both names of each call are defined here */
#define _GNU_SOURCE
#include "journal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* A module to be preloaded (LD_PRELOAD): keeps a journal of all changes below a folder.
 *
 * It stands between the process and the C library, so that it sees the writes of every library
 * alike; LMDB changes its file by lseek with writev and by pwrite, and its meta pages by pwrite on
 * a second descriptor opened with O_DSYNC.  Nothing here knows about LMDB or segments.
 *
 * A change and its entry are one step under one lock, so that the journal's order is the order in
 * which the kernel had the changes.  Syncs run outside the lock, with an entry before and one
 * after: what others write meanwhile may or may not be covered. */

enum { FDS = 4096 };

enum fd_kind { FD_OTHER = 0, FD_FILE, FD_FOLDER, FD_ACKS };

typedef struct fd_state {
    enum fd_kind kind;
    bool dsync;
    uint64_t inode;
    char *path; /* of a folder */
} fd_state;

static fd_state fds[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *journal;
static uint64_t entries;
static const char *root, *acks;
static size_t root_len;

#define REAL(name) (__extension__(__typeof__(&name)) real(#name))

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(JOURNAL_ENV_FILE);
    root = getenv(JOURNAL_ENV_ROOT);
    acks = getenv(JOURNAL_ENV_ACKS);
    if (path == NULL || root == NULL)
        return;
    root_len = strlen(root);
    journal = fopen(path, "we");
}

__attribute__((destructor)) static void end(void)
{
    if (journal != NULL)
        fclose(journal);
    journal = NULL;
}

/* Path below the root, "" for the root itself; NULL for other paths. */
static const char *below(const char *path)
{
    if (journal == NULL || path == NULL || strncmp(path, root, root_len) != 0)
        return NULL;
    return path[root_len] == '/' ? path + root_len + 1 : path[root_len] == 0 ? "" : NULL;
}

/* The lock is held. */
static uint64_t log_parts(journal_entry e, const struct iovec *iov, int count)
{
    size_t left = e.len;
    fwrite(&e, sizeof e, 1, journal);
    for (int i = 0; i < count && left > 0; i++) {
        size_t take = iov[i].iov_len < left ? iov[i].iov_len : left;
        fwrite(iov[i].iov_base, 1, take, journal);
        left -= take;
    }
    return entries++;
}

static uint64_t log_entry(enum journal_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
    return log_parts((journal_entry){kind, 0, a, b, c}, NULL, 0);
}

static uint64_t log_text(enum journal_kind kind, uint64_t a, const char *text, size_t len)
{
    struct iovec iov = {(void *)(uintptr_t)text, len};
    return log_parts((journal_entry){kind, (uint32_t)len, a, 0, 0}, &iov, 1);
}

static fd_state state_of(int fd)
{
    return fd >= 0 && fd < FDS && journal != NULL ? fds[fd] : (fd_state){0};
}

/* ---- names ---- */

static void remember(int fd, const char *path, int flags, bool created)
{
    struct stat st;
    const char *name = below(path);
    if (fd >= FDS || fstat(fd, &st) != 0)
        return;
    fd_state *s = &fds[fd];
    *s = (fd_state){.kind = FD_FILE, .dsync = (flags & O_DSYNC) != 0, .inode = st.st_ino};
    if (S_ISDIR(st.st_mode)) {
        s->kind = FD_FOLDER;
        s->path = strdup(name);
    } else if (created) {
        log_text(JOURNAL_CREATE, st.st_ino, name, strlen(name));
    } else if ((flags & O_TRUNC) != 0) {
        log_entry(JOURNAL_SIZE, st.st_ino, 0, 0);
    }
}

static int open_recorded(const char *path, int flags, mode_t mode)
{
    struct stat st;
    bool ours = below(path) != NULL;
    bool is_acks = journal != NULL && acks != NULL && path != NULL && strcmp(path, acks) == 0;
    if (!ours && !is_acks)
        return REAL(open64)(path, flags, mode);
    pthread_mutex_lock(&lock);
    bool created = (flags & O_CREAT) != 0 && stat(path, &st) != 0;
    int fd = REAL(open64)(path, flags, mode);
    int reason = errno;
    if (fd >= 0 && ours)
        remember(fd, path, flags, created);
    else if (fd >= 0 && fd < FDS)
        fds[fd].kind = FD_ACKS;
    pthread_mutex_unlock(&lock);
    errno = reason;
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_recorded(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_recorded(path, flags, mode);
}

int close(int fd)
{
    if (fd >= 0 && fd < FDS && journal != NULL) {
        pthread_mutex_lock(&lock);
        free(fds[fd].path);
        fds[fd] = (fd_state){0};
        pthread_mutex_unlock(&lock);
    }
    return REAL(close)(fd);
}

int mkdir(const char *path, mode_t mode)
{
    const char *name = below(path);
    if (name == NULL)
        return REAL(mkdir)(path, mode);
    pthread_mutex_lock(&lock);
    int result = REAL(mkdir)(path, mode);
    if (result == 0)
        log_text(JOURNAL_MKDIR, 0, name, strlen(name));
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to)
{
    const char *a = below(from), *b = below(to);
    if (a == NULL || b == NULL)
        return REAL(rename)(from, to);
    struct iovec iov[2] = {{(void *)(uintptr_t)a, strlen(a) + 1},
                           {(void *)(uintptr_t)b, strlen(b)}};
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (result == 0)
        log_parts(
            (journal_entry){JOURNAL_RENAME, (uint32_t)(iov[0].iov_len + iov[1].iov_len), 0, 0, 0},
            iov, 2);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path)
{
    const char *name = below(path);
    if (name == NULL)
        return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    int result = REAL(unlink)(path);
    if (result == 0)
        log_text(JOURNAL_UNLINK, 0, name, strlen(name));
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- bytes ---- */

static ssize_t write_now(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return offset >= 0 ? REAL(pwritev64)(fd, iov, count, offset) : REAL(writev)(fd, iov, count);
}

static size_t total(const struct iovec *iov, int count)
{
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += iov[i].iov_len;
    return len;
}

/* A write to a descriptor with O_DSYNC may reach the disk in part until it returns. */
static ssize_t write_dsync(int fd, uint64_t inode, const struct iovec *iov, int count,
                           off64_t offset)
{
    uint32_t len = (uint32_t)total(iov, count);
    pthread_mutex_lock(&lock);
    uint64_t number =
        log_parts((journal_entry){JOURNAL_WRITE, len, inode, (uint64_t)offset, 0}, iov, count);
    pthread_mutex_unlock(&lock);
    ssize_t put = REAL(pwritev64)(fd, iov, count, offset);
    int reason = errno;
    pthread_mutex_lock(&lock);
    if (put == (ssize_t)len)
        log_entry(JOURNAL_WRITTEN, inode, 0, number);
    pthread_mutex_unlock(&lock);
    errno = reason;
    return put;
}

/* offset < 0: at the descriptor's own position. */
static ssize_t write_recorded(int fd, const struct iovec *iov, int count, off64_t offset)
{
    fd_state s = state_of(fd);
    if (s.kind != FD_FILE && s.kind != FD_ACKS)
        return write_now(fd, iov, count, offset);
    if (s.dsync && offset >= 0)
        return write_dsync(fd, s.inode, iov, count, offset);
    pthread_mutex_lock(&lock);
    off64_t at = offset >= 0 ? offset : lseek64(fd, 0, SEEK_CUR);
    ssize_t put = write_now(fd, iov, count, offset);
    int reason = errno;
    journal_entry e = {JOURNAL_WRITE, (uint32_t)put, s.inode, (uint64_t)at, 0};
    if (s.kind == FD_ACKS)
        e.kind = JOURNAL_ACK;
    if (put > 0)
        log_parts(e, iov, count);
    pthread_mutex_unlock(&lock);
    errno = reason;
    return put;
}

static ssize_t write_one(int fd, const void *buf, size_t len, off64_t offset)
{
    struct iovec iov = {(void *)(uintptr_t)buf, len};
    return write_recorded(fd, &iov, 1, offset);
}

ssize_t write(int fd, const void *buf, size_t len)
{
    return write_one(fd, buf, len, -1);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t offset)
{
    return write_one(fd, buf, len, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t offset)
{
    return write_one(fd, buf, len, offset);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
    return write_recorded(fd, iov, count, -1);
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    return write_recorded(fd, iov, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t offset)
{
    return write_recorded(fd, iov, count, offset);
}

/* ---- sizes ---- */

static int logged(int result, int fd, enum journal_kind kind, off64_t b, off64_t c)
{
    fd_state s = state_of(fd);
    if (result == 0 && s.kind == FD_FILE)
        log_entry(kind, s.inode, (uint64_t)b, (uint64_t)c);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate64(int fd, off64_t size)
{
    pthread_mutex_lock(&lock);
    return logged(REAL(ftruncate64)(fd, size), fd, JOURNAL_SIZE, size, 0);
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t len)
{
    pthread_mutex_lock(&lock);
    int result = REAL(fallocate64)(fd, mode, offset, len);
    if ((mode & FALLOC_FL_PUNCH_HOLE) != 0)
        return logged(result, fd, JOURNAL_PUNCH, offset, len);
    return logged(result, fd, JOURNAL_RESERVE, offset + len, 0);
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    return fallocate64(fd, mode, offset, len);
}

int posix_fallocate64(int fd, off64_t offset, off64_t len)
{
    pthread_mutex_lock(&lock);
    return logged(REAL(posix_fallocate64)(fd, offset, len), fd, JOURNAL_RESERVE, offset + len, 0);
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    return posix_fallocate64(fd, offset, len);
}

/* ---- syncs ---- */

static int sync_recorded(int fd, int (*call)(int fd))
{
    fd_state s = state_of(fd);
    if (s.kind != FD_FILE && s.kind != FD_FOLDER)
        return call(fd);
    pthread_mutex_lock(&lock);
    uint64_t number = s.kind == FD_FILE ? log_entry(JOURNAL_SYNC_BEGIN, s.inode, 0, 0)
                                        : log_text(JOURNAL_SYNC_BEGIN, 0, s.path, strlen(s.path));
    pthread_mutex_unlock(&lock);
    int result = call(fd);
    pthread_mutex_lock(&lock);
    if (result == 0)
        log_entry(JOURNAL_SYNC_END, s.inode, 0, number);
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int fd)
{
    return sync_recorded(fd, REAL(fsync));
}

int fdatasync(int fd)
{
    return sync_recorded(fd, REAL(fdatasync));
}
