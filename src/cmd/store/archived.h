/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_ARCHIVED_H
#define ASH_CMD_STORE_ARCHIVED_H

#include "cmd/kit/cmd.h"

/* Of objects, and versions of them, whose bytes are in an archive beside their store: are they there?
 * Each whose bytes are not is told.  ASH_ECHUNKMISSING: some are not. */
int ash__cmd_check_archived(const ash_cmd *cmd, ash_store *store, ash_error *err);

#endif
