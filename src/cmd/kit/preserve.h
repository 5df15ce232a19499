/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_PRESERVE_H
#define ASH_CMD_KIT_PRESERVE_H

/* What a local file has beside its bytes, kept in its metadata: `mtime`, a date, and `mode`, the
 * permission bits as an int32.  And whether a file is as it was when it was put. */

#include <sys/stat.h>

#include "cmd/kit/cmd.h"

/* given: the user's own metadata, or NULL; fields of these names in it are replaced.  out is
 * initialised by the call and destroyed by the caller. */
void ash__preserve(const bson_t *given, const struct stat *st, bson_t *out);

typedef struct ash_preserved {
    bool has_mtime, has_mode;
    int64_t mtime_ms; /* since 1970 */
    mode_t mode;      /* 0 .. 0777: names of users and what runs as them are not restored */
} ash_preserved;
ash_preserved ash__preserved(const ash_file *f);

/* A file of the local file system, and what it is called in the bucket. */
typedef struct ash_local_file {
    const char *path;
    const char *name;
    struct stat st;
} ash_local_file;

/* Is the newest file of its name the local one?  Of a marker of a folder, that it is there.  Else
 * by its size and time; the time is its `mtime`, or, where nobody kept that, it must have been
 * uploaded later than the local one was changed.  With `checksum`, by size and SHA-256 instead. */
int ash__is_unchanged(ash_bucket *b, const ash_local_file *local, bool checksum, bool *same,
                      ash_error *err);

#endif
