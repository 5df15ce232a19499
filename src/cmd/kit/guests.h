/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_GUESTS_H
#define ASH_CMD_KIT_GUESTS_H

/* Commands on a folder that nobody serves, at the same time.
 *
 * The first one holds the folder.  After a moment, as most are over by then, it lets the others in
 * by a socket in the folder, `ashlar.guest.sock`, and when it is through itself it waits for them
 * (GUESTS_WAIT_MS at most; a signal ends that).  Only commands look for that socket: the store of a
 * program that stays would go away with the command that holds it. */

#include <ashlar/store.h>

#include "cmd/kit/cmd.h"

typedef struct ash_guests ash_guests;

/* The store is the caller's and stays open until end.  NULL: it is no folder's, or there is nothing
 * to begin with; that is no error. */
ash_guests *ash__guests_begin(const ash_cmd *cmd, ash_store *store, const char *folder);
void ash__guests_end(ash_guests *g);

/* As ash_store_open, and where another command has the folder, by its socket. */
int ash__guests_open_store(const char *uri, const ash_store_options *opts, ash_store **out,
                           ash_error *err);

#endif
