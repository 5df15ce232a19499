/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_CHILD_H
#define ASH_CMD_KIT_CHILD_H

#include "base/error.h"

/* A command that this process runs; one at a time, since signals are the whole process's.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process while the command runs.  What a
 * process sent to us is passed on to the command; what comes from a terminal (Ctrl-C) reaches it
 * without us, and it may take it as it likes. */

/* argv ends with NULL.  ASH_ENOTFOUND: there is no such program; ASH_EIO and others: it cannot be
 * run. */
int ash__child_start(char **argv, ash_error *err);
/* SIGTERM, from any thread; one that is not started yet gets it at its start. */
void ash__child_stop(void);
/* Until it ends: its exit status, or 128 + the signal that ended it; -1: not known. */
int ash__child_wait(void);

#endif
