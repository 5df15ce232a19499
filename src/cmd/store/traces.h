/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_TRACES_H
#define ASH_CMD_STORE_TRACES_H

/* What the faces of a server have in common about those who come: who failed to sign in, what
 * users take, and the audit log. */

#include "cmd/store/faces.h"

/* Makes serving->attempts, serving->usage and, if one is asked for, serving->audit.  ash__traces_close() also after
 * a failure. */
int ash__traces_open(ash_serving *serving, ash_error *err);
/* Events of the server itself: "startup" with the addresses of the faces, "shutdown". */
void ash__traces_tell(const ash_serving *serving, const char *type, const ash_faces *faces);
void ash__traces_close(ash_serving *serving);

#endif
