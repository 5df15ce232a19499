/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NATS_RELAY_H
#define ASH_TESTS_NATS_RELAY_H

/* A way to a NATS server that ends after so many messages of a client: for one connection, on a
 * thread of its own.  What the client sends goes on whole, message by message; once the last one
 * has been handed on, and the server has read it, nothing goes in either direction any more. */

#include <stdbool.h>
#include <sys/types.h>

typedef struct relay relay;

/* server: HOST:PORT of the loopback.  messages: PUB and HPUB of the client that are handed on. */
relay *relay_start(const char *server, int messages);
const char *relay_uri(const relay *r);
/* From now on every consumer that is to begin at a sequence begins at the first message, as one of a
 * nats-server 2.9 may that was killed before. */
void relay_begin_at_first(relay *r);
/* How many consumers did. */
int relay_begun_at_first(const relay *r);
/* Kills the client (its process) when the way ends.  True: it had ended by itself before that, and
 * with exit status 0 (anything else fails the test). */
bool relay_kill_at_end(relay *r, pid_t client);
void relay_stop(relay *r);

#endif
