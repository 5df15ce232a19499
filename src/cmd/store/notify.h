/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_NOTIFY_H
#define ASH_CMD_STORE_NOTIFY_H

/* What systemd, or whoever else started the server, gives and wants to be told: sockets that it
 * listens on already (LISTEN_FDS), and how the server is doing (NOTIFY_SOCKET).  Without such a
 * parent: nothing. */

#include <stdint.h>

enum { ASH_FIRST_GIVEN = 3 };

/* The sockets given under a name, as addresses: "fd:3,fd:4"; NULL: none.  The caller frees.  Their
 * names are "http", or a socket unit's that ends so ("ashlar-http.socket"). */
char *ash__given_sockets(const char *name);

/* How many there are. */
int ash__given_count(void);
/* What this process starts is not told of them. */
void ash__given_forget(void);

/* "READY=1", "STOPPING=1" …; several lines are several facts.  What cannot be told is lost. */
void ash__notify(const char *state);
void ash__notify_reloading(void); /* until the next READY=1 */
/* How often it wants to hear WATCHDOG=1; 0: never. */
int64_t ash__notify_watchdog_ms(void);

#endif
