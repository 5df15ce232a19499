/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NATS_SERVERS_H
#define ASH_TESTS_NATS_SERVERS_H

/* NATS servers with JetStream, of our own: one, or a cluster, on free ports of the loopback, below a
 * temporary folder.  Which program: $ASH_NATS_SERVER, else nats-server. */

#include <stdbool.h>

enum { MAX_SERVERS = 3 };

typedef struct servers servers;

/* Is there such a program? */
bool servers_are_there(void);
/* More lines for each server's configuration, or NULL.  Returns when they answer, and a cluster has
 * its leader; fails the test otherwise. */
servers *servers_start(int count, const char *more);
/* With scheme, all of them, separated by commas. */
const char *servers_uri(const servers *s);
/* Of one of them; HOST:PORT. */
const char *servers_address(const servers *s, int index);
/* Which one leads a stream; -1: nobody yet. */
int servers_leader_of(const servers *s, const char *stream);
void servers_kill(servers *s, int index);
void servers_start_again(servers *s, int index);
/* Kills them all and removes the folder. */
void servers_stop(servers *s);

#endif
