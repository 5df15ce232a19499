/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_REPAIR_H
#define ASH_CMD_REPAIR_H

#include "cmd/cmd.h"

/* `check --repair`: copy what is whole out of the store into a new one.  into NULL: beside it,
 * under a name with the date.  replace: then let the new one take the store's name; the old one
 * keeps another.  Returns an exit code. */
int ash__cmd_repair(ash_cmd *cmd, const char *into, bool replace);

#endif
