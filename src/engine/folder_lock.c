/* SPDX-License-Identifier: Apache-2.0 */
/* Two locks by flock: on the file `lock`, which every version knows, and on the folder itself,
 * which cannot be removed and made anew unseen. */
#include "engine/folder_lock.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_POLL_MS = 20 };

static int try_lock(int fd, bool shared, int64_t deadline)
{
    for (;;) {
        if (flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
            return 0;
        /* flock itself could wait, but not for a limited time. */
        if (errno != EWOULDBLOCK && errno != EINTR)
            return errno;
        if (deadline == 0 || ash__clock_ms() >= deadline)
            return EWOULDBLOCK;
        ash__clock_sleep_ms(LOCK_POLL_MS);
    }
}

/* The pid in the file is for people. */
static int busy(const char *folder, const char *path, ash_error *err)
{
    char holder[24] = "";
    int fd = -1;
    if (ash__file_open(path, O_RDONLY | O_NOFOLLOW, &fd, NULL) == 0) {
        ssize_t len = pread(fd, holder, sizeof holder - 1, 0);
        holder[len > 0 ? strcspn(holder, "\n") : 0] = 0;
    }
    ash__file_close(fd);
    return ash__fail(err, ASH_EBUSY, "store %s is in use by process %s", folder,
                     holder[0] != 0 ? holder : "?");
}

static void sign(int fd)
{
    char pid[24];
    int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ash__io()->ftruncate(fd, 0) == 0)
        ash__file_write(fd, pid, (size_t)len, 0, NULL);
}

/* Not every file system locks folders: then there is the file alone. */
static int lock_folder(ash_folder_lock *lock, const char *folder, bool shared, int64_t deadline)
{
    int fd = ash__io()->open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int reason = fd < 0 ? errno : try_lock(fd, shared, deadline);
    if (reason == 0)
        lock->folder_fd = fd;
    else
        ash__file_close(fd);
    return reason == EWOULDBLOCK ? reason : 0;
}

static int lock_file(ash_folder_lock *lock, const char *path, bool shared, int64_t deadline,
                     int *reason, ash_error *err)
{
    /* A reader may lack the right to write. */
    int flags = (shared ? O_RDONLY : O_RDWR | O_CREAT) | O_NOFOLLOW;
    int rc = ash__file_open(path, flags, &lock->file_fd, err);
    /* A copy on a medium may lack it; one that may not be read is there to be respected. */
    if (rc != 0) {
        lock->file_fd = -1;
        return shared && rc != ASH_EACCES ? 0 : rc;
    }
    *reason = try_lock(lock->file_fd, shared, deadline);
    return 0;
}

int ash__folder_lock_take(ash_folder_lock *lock, const char *folder, bool shared, int64_t wait_ms,
                          ash_error *err)
{
    struct stat st;
    int64_t deadline = ash__clock_deadline(wait_ms);
    int rc = 0, reason = 0;
    char *path = ash__path_join(folder, "lock");
    *lock = (ash_folder_lock)ASH_FOLDER_LOCK_INIT;
    /* Before it is opened, and compared later: what stands under the name then has to be this. */
    if (stat(folder, &st) != 0)
        rc = ash__fail_errno(err, errno, "cannot reach folder %s", folder);
    if (rc == 0)
        reason = lock_folder(lock, folder, shared, deadline);
    if (rc == 0 && reason == 0)
        rc = lock_file(lock, path, shared, deadline, &reason, err);
    if (rc == 0 && reason == EWOULDBLOCK)
        rc = busy(folder, path, err);
    else if (rc == 0 && reason != 0)
        rc = ash__fail_errno(err, reason, "cannot lock store %s", folder);
    if (rc != 0) {
        ash__folder_lock_release(lock);
    } else {
        lock->device = st.st_dev;
        lock->inode = st.st_ino;
        /* Readers are many, and none of them the one to ask. */
        if (!shared)
            sign(lock->file_fd);
    }
    ash__free(path);
    return rc;
}

void ash__folder_lock_release(ash_folder_lock *lock)
{
    ash__file_close(lock->file_fd);
    ash__file_close(lock->folder_fd);
    *lock = (ash_folder_lock)ASH_FOLDER_LOCK_INIT;
}

int ash__folder_lock_require(const ash_folder_lock *lock, const char *folder, ash_error *err)
{
    struct stat st;
    if (lock->inode == 0)
        return 0;
    if (stat(folder, &st) == 0 && st.st_dev == lock->device && st.st_ino == lock->inode)
        return 0;
    return ash__fail(err, ASH_EIO,
                     "folder %s was moved, removed or replaced while its store was open; nothing "
                     "is written any more: end this process, and open the store where it is now",
                     folder);
}
