/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_REPAIR_H
#define ASH_CMD_STORE_REPAIR_H

#include "cmd/kit/cmd.h"

/* `check --repair`: copy what is whole out of a damaged store into a new one. */
typedef struct ash_cmd_repair_options {
    const char *into; /* NULL: beside the damaged one, under a name with the date */
    bool replace;     /* then let the new one take the store's name; the old one gets another */
    bool force;       /* a sound store, too */
} ash_cmd_repair_options;

/* Returns an exit code. */
int ash__cmd_repair(ash_cmd *cmd, const ash_cmd_repair_options *opts);

#endif
