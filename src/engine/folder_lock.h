/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_FOLDER_LOCK_H
#define ASH_ENGINE_FOLDER_LOCK_H

/* Who may be in a store's folder.
 *
 * One process writes, or several read.  The lock is on the file `lock`, for everybody who knows
 * that file, and on the folder itself, so that whoever removes the file lets nobody in.  It goes
 * with the process, whatever ends it.  A folder that was moved aside takes its lock along, and
 * another may come to stand under its name: files that are opened by name from then on are not the
 * store's. */

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct ash_folder_lock {
    int file_fd;   /* -1: a copy for reading only that has no such file */
    int folder_fd; /* -1: the file system locks no folders */
    dev_t device;  /* of the folder */
    ino_t inode;   /* 0: nothing is locked */
} ash_folder_lock;

#define ASH_FOLDER_LOCK_INIT                                                                       \
    {                                                                                              \
        -1, -1, 0, 0                                                                               \
    }

/* Makes the file unless shared.  wait_ms <= 0: do not wait.  ASH_EBUSY says who is there.  The
 * lock of a failed call is released. */
int ash__folder_lock_take(ash_folder_lock *lock, const char *folder, bool shared, int64_t wait_ms,
                          ash_error *err);
void ash__folder_lock_release(ash_folder_lock *lock);
/* ASH_EIO: the folder of that name is not the one that is locked. */
int ash__folder_lock_require(const ash_folder_lock *lock, const char *folder, ash_error *err);

#endif
