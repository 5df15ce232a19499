/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_TURNS_H
#define ASH_NET_TURNS_H

/* Many peers on a few threads: a peer has a thread only while there is something to do for it.
 *
 *   rests     until its descriptor is ready for what it wished, somebody wakes it, or its due_ms
 *   its turn  face->turn() runs on one of the seats, never on two for one peer
 *
 * What a seat calls may wait for the store, but not for a client. */

#include "net/face.h"

typedef struct ash_turns ash_turns;

/* So many seats, at least one; the host's face has a turn function. */
int ash__turns_start(struct ash_host *host, int seats, ash_turns **out, ash_error *err);
/* Its first turn comes when it has sent something, or with the next tick.  false: the system has no room for one more. */
bool ash__turns_add(ash_turns *t, ash_peer *p);
/* Once a second or so: turns for those whose due_ms has passed. */
void ash__turns_tick(ash_turns *t);
/* No peer is left; ends the seats. */
void ash__turns_stop(ash_turns *t);

#endif
