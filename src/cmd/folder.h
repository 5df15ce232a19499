/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_FOLDER_H
#define ASH_CMD_FOLDER_H

#include <stdbool.h>

/* Is path the folder, or would it lie in it?  It need not exist.  Links are followed. */
bool ash__folder_holds(const char *folder, const char *path);

#endif
