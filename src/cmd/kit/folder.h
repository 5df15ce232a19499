/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_FOLDER_H
#define ASH_CMD_KIT_FOLDER_H

#include <ashlar/error.h>

#include <stdbool.h>
#include <stdint.h>

/* Is path the folder, or would it lie in it?  It need not exist.  Links are followed. */
bool ash__folder_holds(const char *folder, const char *path);

/* Has it something in it, and nothing of a store?  Hidden files do not count. */
bool ash__folder_is_others(const char *folder);

/* What all that lies in it takes on the disk, itself included.  What cannot be seen, as files that
 * are just being removed, is passed over. */
int64_t ash__folder_takes(const char *folder);

/* ASH_ENOTFOUND, and how a swap of the folder (store/embedded/salvage/swap.h) that was cut off is
 * finished.
 */
int ash__cmd_refuse_unfinished(const char *folder, ash_error *err);

#endif
