/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_WAITING_H
#define ASH_CMD_KIT_WAITING_H

#include "cmd/kit/cmd.h"

/* Says on standard error, once, what is being waited for when it takes longer than a second; not
 * with --quiet.  uri: of the store that is being opened.  Never NULL; ash__waiting_end() does not
 * wait. */
typedef struct ash_waiting ash_waiting;
ash_waiting *ash__waiting_begin(const ash_cmd *cmd, const char *uri);
void ash__waiting_end(ash_waiting *w);

/* The URI to open a deployment by; ash__free.  Nobody is elected in place of a single server: it is
 * waited for 5 s, not the driver's 30, unless the URI says how long. */
char *ash__waiting_uri(const char *uri);

#endif
