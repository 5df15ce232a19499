/* SPDX-License-Identifier: Apache-2.0 */
/* The system's calls as the table has them, and complete transfers made of whatever table is in
 * use. */
#define _GNU_SOURCE /* fallocate and sync_file_range where the system has them */
#include "base/file.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

static int system_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

static int system_fallocate(int fd, off_t offset, off_t len)
{
#ifdef __linux__
    if (fallocate(fd, 0, offset, len) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return -1;
#endif
    /* Where the file system cannot reserve, this one writes into each block: slow, but the space is
     * there.  It returns its error. */
    int rc = posix_fallocate(fd, offset, len);
    errno = rc;
    return rc == 0 ? 0 : -1;
}

static int system_punch(int fd, off_t offset, off_t len)
{
#ifdef FALLOC_FL_PUNCH_HOLE
    /* The kernel takes the one flag with the other only. */
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len);
#else
    (void)fd, (void)offset, (void)len;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

static int system_start_writeback(int fd, off_t offset, off_t len)
{
#ifdef SYNC_FILE_RANGE_WRITE
    return sync_file_range(fd, offset, len, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd, (void)offset, (void)len;
    return 0;
#endif
}

static int system_await_writeback(int fd, off_t offset, off_t len)
{
#ifdef SYNC_FILE_RANGE_WAIT_BEFORE
    /* Where there is no such call nothing was started by it either. */
    int rc = sync_file_range(fd, offset, len, SYNC_FILE_RANGE_WAIT_BEFORE);
    return rc != 0 && errno == ENOSYS ? 0 : rc;
#else
    (void)fd, (void)offset, (void)len;
    return 0;
#endif
}

static int system_exchange(const char *a, const char *b)
{
#if defined(__linux__) && defined(SYS_renameat2) && defined(RENAME_EXCHANGE)
    /* Older C libraries have no function for it. */
    return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#else
    (void)a, (void)b;
    errno = ENOSYS;
    return -1;
#endif
}

const ash_io ash__io_system = {
    .open = system_open,
    .close = close,
    .pread = pread,
    .pwritev = pwritev,
    .fdatasync = fdatasync,
    .fsync = fsync,
    .ftruncate = ftruncate,
    .fallocate = system_fallocate,
    .punch = system_punch,
    .start_writeback = system_start_writeback,
    .await_writeback = system_await_writeback,
    .rename = rename,
    .exchange = system_exchange,
    .unlink = unlink,
};

static const ash_io *_Atomic current = &ash__io_system;

const ash_io *ash__io(void)
{
    /* It is set before any store is open, so that nothing has to be seen in order with it. */
    return atomic_load_explicit(&current, memory_order_relaxed);
}

void ash__io_set(const ash_io *io)
{
    atomic_store(&current, io != NULL ? io : &ash__io_system);
}

static int require_file(const char *path, int *fd, ash_error *err)
{
    struct stat st;
    /* Of what was opened, not of the name, which may stand for another file by now. */
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    ash__file_close(*fd);
    *fd = -1;
    return ash__fail(err, ASH_ECORRUPT, "%s is not a regular file", path);
}

int ash__file_open(const char *path, int flags, int *fd, ash_error *err)
{
    /* A pipe of that name would keep the process waiting for somebody at its other end. */
    bool is_ours = (flags & O_NOFOLLOW) != 0;
    *fd = ash__io()->open(path, flags | O_CLOEXEC | (is_ours ? O_NONBLOCK : 0), 0600);
    if (*fd < 0 && errno == ELOOP && (flags & O_NOFOLLOW))
        return ash__fail(err, ASH_EACCES, "%s is a symbolic link, and is not followed", path);
    if (*fd < 0)
        return ash__fail_errno(err, errno, "cannot open %s", path);
    return is_ours ? require_file(path, fd, err) : 0;
}

void ash__file_close(int fd)
{
    /* Not again after EINTR: the descriptor is gone by then, and its number may be another
     * thread's. */
    if (fd >= 0)
        ash__io()->close(fd);
}

int ash__file_read(int fd, void *buf, size_t len, off_t offset, ash_error *err)
{
    uint8_t *at = buf;
    while (len > 0) {
        ssize_t got = ash__io()->pread(fd, at, len, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ash__fail_errno(err, errno, "cannot read at offset %lld", (long long)offset);
        /* Whoever asks knows how much there has to be: an end before that is damage. */
        if (got == 0)
            return ash__fail(err, ASH_EIO, "file ends at offset %lld", (long long)offset);
        at += got;
        offset += got;
        len -= (size_t)got;
    }
    return 0;
}

int ash__file_writev(int fd, struct iovec *iov, int count, off_t offset, ash_error *err)
{
    while (count > 0) {
        /* Nothing but empty pieces would be a write of 0 bytes, over and over. */
        if (iov->iov_len == 0) {
            iov++, count--;
            continue;
        }
        ssize_t put = ash__io()->pwritev(fd, iov, count, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return ash__fail_errno(err, errno, "cannot write at offset %lld", (long long)offset);
        offset += put;
        while (count > 0 && (size_t)put >= iov->iov_len) {
            put -= (ssize_t)iov->iov_len;
            iov++, count--;
        }
        if (put > 0) {
            iov->iov_base = (uint8_t *)iov->iov_base + put;
            iov->iov_len -= (size_t)put;
        }
    }
    return 0;
}

int ash__file_write(int fd, const void *buf, size_t len, off_t offset, ash_error *err)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    return ash__file_writev(fd, &iov, 1, offset, err);
}

int ash__file_sync(int fd, ash_error *err)
{
    /* It makes the size durable, too, and leaves out only the times. */
    if (ash__io()->fdatasync(fd) != 0)
        return ash__fail_errno(err, errno, "cannot sync");
    return 0;
}

int ash__dir_sync(const char *path, ash_error *err)
{
    int fd;
    int rc = ash__file_open(path, O_RDONLY | O_DIRECTORY, &fd, err);
    if (rc != 0)
        return rc;
    if (ash__io()->fsync(fd) != 0)
        rc = ash__fail_errno(err, errno, "cannot sync folder %s", path);
    ash__file_close(fd);
    return rc;
}

static int make_one(const char *path, ash_error *err)
{
    struct stat st;
    /* Made before it is looked for, so that two who make it at once both succeed. */
    if (mkdir(path, 0700) == 0)
        return 0;
    int reason = errno;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return ash__fail_errno(err, reason, "cannot make folder %s", path);
}

int ash__dir_make(const char *path, ash_error *err)
{
    char *copy = ash__strdup(path);
    int rc = 0;
    for (char *slash = strchr(copy + 1, '/'); slash != NULL && rc == 0;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        rc = make_one(copy, err);
        *slash = '/';
    }
    if (rc == 0)
        rc = make_one(copy, err);
    ash__free(copy);
    return rc;
}

static void remove_entry(const char *path, ash_error *err)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        ash__dir_remove(path, err);
    else if (ash__io()->unlink(path) != 0)
        ash__fail_errno(err, errno, "cannot remove %s", path);
}

int ash__dir_remove(const char *path, ash_error *err)
{
    ash_error first = ASH_ERROR_INIT;
    struct dirent *entry;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return ash__fail_errno(err, errno, "cannot open folder %s", path);
    while ((entry = readdir(dir)) != NULL) {
        ash_error own = ASH_ERROR_INIT;
        /* These two lead out of what is to be removed, or round and round. */
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *child = ash__path_join(path, entry->d_name);
        remove_entry(child, &own);
        if (first.code == 0)
            first = own;
        ash__free(child);
    }
    closedir(dir);
    if (rmdir(path) != 0 && first.code == 0)
        ash__fail_errno(&first, errno, "cannot remove %s", path);
    if (first.code != 0 && err != NULL)
        *err = first;
    return first.code;
}

char *ash__path_join(const char *folder, const char *name)
{
    return ash__sprintf("%s/%s", folder, name);
}

int ash__parent_sync(const char *path, ash_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == path ? 1 : slash != NULL ? (size_t)(slash - path) : 0;
    char *folder = slash != NULL ? ash__strndup(path, len) : ash__strdup(".");
    int rc = ash__dir_sync(folder, err);
    ash__free(folder);
    return rc;
}

int ash__file_replace(const char *path, const void *data, size_t len, ash_error *err)
{
    int fd = -1;
    char *temp = ash__sprintf("%s.new", path);
    int rc = ash__file_open(temp, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, &fd, err);
    if (rc == 0)
        rc = ash__file_write(fd, data, len, 0, err);
    /* Before it gets the name: a rename may reach the disk before the data does, and the old
     * content would be gone for nothing. */
    if (rc == 0 && ash__io()->fsync(fd) != 0)
        rc = ash__fail_errno(err, errno, "cannot sync %s", temp);
    ash__file_close(fd);
    /* What a failure leaves under the other name is emptied by the next try. */
    if (rc == 0 && ash__io()->rename(temp, path) != 0)
        rc = ash__fail_errno(err, errno, "cannot rename %s", temp);
    if (rc == 0)
        rc = ash__parent_sync(path, err);
    ash__free(temp);
    return rc;
}

int ash__file_load(const char *path, size_t max_bytes, uint8_t **out, size_t *len, ash_error *err)
{
    struct stat st;
    int fd;
    *out = NULL;
    /* A pipe of that name would keep the process waiting for somebody who writes. */
    int rc = ash__file_open(path, O_RDONLY | O_NONBLOCK, &fd, err);
    if (rc != 0)
        return rc;
    if (fstat(fd, &st) != 0)
        rc = ash__fail_errno(err, errno, "cannot stat %s", path);
    else if (!S_ISREG(st.st_mode))
        rc = ash__fail(err, ASH_ECORRUPT, "%s is not a regular file", path);
    else if (st.st_size < 0 || (uint64_t)st.st_size > max_bytes)
        rc = ash__fail(err, ASH_ETOOBIG, "%s is larger than %zu bytes", path, max_bytes);
    if (rc == 0) {
        *len = (size_t)st.st_size;
        /* A zero behind the end, for those who read text. */
        *out = ash__alloc(*len + 1);
        rc = ash__file_read(fd, *out, *len, 0, err);
    }
    ash__file_close(fd);
    if (rc != 0) {
        ash__free(*out);
        *out = NULL;
    }
    return rc;
}
