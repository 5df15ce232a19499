/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_TREE_LOCAL_H
#define ASH_CMD_TREE_LOCAL_H

/* What lies in a local folder and below it, one after the other: by names, byte by byte, each folder
 * before what lies in it, which is the order of a tree's listings.  Links are not followed. */

#include "cmd/kit/cmd.h"

#include <sys/stat.h>

typedef enum ash_local_kind {
    ASH_LOCAL_FILE,
    ASH_LOCAL_FOLDER,
    ASH_LOCAL_OTHER, /* a link, a device, a pipe, a socket */
    ASH_LOCAL_STORE, /* the folder of the store itself: not entered */
    ASH_LOCAL_FAILED /* cannot be looked at: see err */
} ash_local_kind;

typedef struct ash_local_entry {
    ash_local_kind kind;
    const char *path; /* to open it; both are valid until the next call */
    const char *name; /* below the root: "a/b" */
    struct stat st;
    ash_error err;
} ash_local_entry;

typedef struct ash_local ash_local;
/* A root that is not there has nothing.  store: the folder to be passed by, or NULL. */
int ash__local_open(const char *root, const char *store, ash_local **out, ash_error *err);
/* NULL at the end. */
const ash_local_entry *ash__local_next(ash_local *l);
void ash__local_free(ash_local *l);

int64_t ash__local_time_ms(const struct stat *st); /* when its bytes were changed, since 1970 */
/* What a link or another that is no file is called. */
const char *ash__local_kind_name(const struct stat *st);

#endif
