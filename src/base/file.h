/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_FILE_H
#define ASH_BASE_FILE_H

/* The one door to the disk.
 *
 * Everything Ashlar itself reads or writes goes through the table below; tests replace it to make
 * the n-th call fail or to record what a power cut could lose.  LMDB does its own I/O outside this
 * door; the crash suite says how it is captured.
 *
 * All functions take complete transfers: a short write is carried on until it is whole or fails.
 * Descriptors are always O_CLOEXEC; close is never retried. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/error.h"

/* Each slot has the system call's meaning and errors (-1 and errno). */
typedef struct ash_io {
    int (*open)(const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    ssize_t (*pread)(int fd, void *buf, size_t len, off_t offset);
    ssize_t (*pwritev)(int fd, const struct iovec *iov, int count, off_t offset);
    int (*fdatasync)(int fd);
    int (*fsync)(int fd);
    int (*ftruncate)(int fd, off_t size);
    int (*fallocate)(int fd, off_t offset, off_t len);       /* reserve, grow */
    int (*punch)(int fd, off_t offset, off_t len);           /* give blocks back, keep size */
    int (*start_writeback)(int fd, off_t offset, off_t len); /* advice; may do nothing */
    /* Wait for what was started; makes nothing durable, may do nothing.  A failure is told once: to
     * this call or to a sync. */
    int (*await_writeback)(int fd, off_t offset, off_t len);
    int (*rename)(const char *from, const char *to);
    int (*exchange)(const char *a, const char *b); /* EINVAL or ENOSYS where that cannot be done */
    int (*unlink)(const char *path);
} ash_io;

extern const ash_io ash__io_system;

/* The table in use.  Set only by tests, before any store is open. */
const ash_io *ash__io(void);
void ash__io_set(const ash_io *io);

/* With O_NOFOLLOW, for files of a store: ASH_EACCES for a link, ASH_ECORRUPT for what is no regular
 * file; neither is waited for.  *fd is -1 then. */
int ash__file_open(const char *path, int flags, int *fd, ash_error *err);
void ash__file_close(int fd);
int ash__file_read(int fd, void *buf, size_t len, off_t offset, ash_error *err); /* EOF = ASH_EIO */
int ash__file_writev(int fd, struct iovec *iov, int count, off_t offset,
                     ash_error *err); /* iov is changed */
int ash__file_write(int fd, const void *buf, size_t len, off_t offset, ash_error *err);
int ash__file_sync(int fd, ash_error *err);          /* data and size */
int ash__dir_sync(const char *path, ash_error *err); /* names in it */
int ash__dir_make(const char *path, ash_error *err); /* parents too; there already = 0 */
/* With all that is in it; links are not followed.  Goes on behind what cannot be removed, and tells
 * of the first. */
int ash__dir_remove(const char *path, ash_error *err);
int ash__parent_sync(const char *path, ash_error *err); /* the folder that path lies in */
int ash__file_replace(const char *path, const void *data, size_t len,
                      ash_error *err); /* temp, sync, rename, sync folder */
int ash__file_load(const char *path, size_t max_bytes, uint8_t **out, size_t *len, ash_error *err);
char *ash__path_join(const char *folder, const char *name); /* the caller frees */

#endif
