/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_WALK_H
#define ASH_CMD_KIT_WALK_H

#include "cmd/kit/cmd.h"

#include <sys/stat.h>

/* Walk a folder of the local file system in byte order of names.  Links are followed; a link back
 * to a folder above is reported, not entered.  visit gets the path to open, the path relative to
 * the root (folders that are empty end in "/"; a root that is a file has its base name) and what
 * stat said; or a NULL stat and an error for what cannot be kept (sockets, dangling links,
 * unreadable folders).  The folder `except` (NULL: none) is not entered: visit gets it with neither
 * stat nor error.  visit returns false to stop. */
typedef bool (*ash_walk_visit)(void *ctx, const char *path, const char *relative,
                               const struct stat *st, const ash_error *err);
bool ash__walk(const char *root, const struct stat *except, ash_walk_visit visit, void *ctx);

#endif
