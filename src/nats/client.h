/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_CLIENT_H
#define ASH_NATS_CLIENT_H

/* One client of NATS' protocol, as a service sees it.
 *
 * A client's connection has one thread, which reads what it sends, calls the service, and writes
 * what the service delivered.  All of a service's calls for a client, and all calls below but
 * ash__nats_wake(), are on that thread.  What is sent goes straight to the socket where that takes
 * it; the rest waits in memory of bounded size, and beyond that the calling thread waits for the
 * client, who is put out when it is too slow. */

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ash_nats_client ash_nats_client;

/* Borrowed, for the length of a call. */
typedef struct ash_nats_message {
    const char *subject;
    const char *reply;   /* NULL: none */
    const char *headers; /* with "NATS/1.0" line and the empty line at the end; NULL: none */
    size_t headers_len;
    const uint8_t *data;
    size_t len;
    /* Of what is delivered: to the subscriptions that match this one; NULL: the subject. */
    const char *to;
} ash_nats_message;

typedef struct ash_nats_service {
    /* *state is the service's own, for one client. */
    int (*attach)(void *ctx, ash_nats_client *client, void **state, ash_error *err);
    /* The connection is over. */
    void (*detach)(void *state);
    /* A message that the client published.  Its subject has no empty tokens, no blanks and no control
     * characters, but may have wildcards; headers are whole.  false: nobody listens on that subject,
     * which a client that asked for an answer is told (503). */
    bool (*publish)(void *state, const ash_nats_message *m);
    /* Delivers what is due without having been asked for: called after what came in was handled, when
     * somebody woke the client, and at the time it returned last (monotonic ms; 0: there is more to
     * do at once; INT64_MAX: not before it is woken).  Returns early when the client is full. */
    int64_t (*pump)(void *state, int64_t now_ms);
    /* What time does to what all clients share: once a second, on a thread of the server's, whether
     * there are clients or not.  NULL: nothing. */
    void (*keep_house)(void *ctx, int64_t now_ms);
} ash_nats_service;

/* To those of the client's own subscriptions that match; of a queue group to one of them.  Nothing is
 * kept of *m.  With no lock held: it may wait.  false: none matches, or the connection is past help.
 * A message may be larger than what clients may send; whether they take it is the service's to know. */
bool ash__nats_deliver(ash_nats_client *client, const ash_nats_message *m);
/* Does a subscription of the client match? */
bool ash__nats_has_interest(const ash_nats_client *client, const char *subject);
/* So much waits to be taken by the client, or went to it in this pump, that the pump had better
 * return 0; it is called again when there is room.  Also when the connection is past help. */
bool ash__nats_is_full(const ash_nats_client *client);
/* As text; as long as the client. */
void ash__nats_client_addresses(const ash_nats_client *client, const char **local,
                                const char **remote);
/* Any thread, until detach returned: pump soon. */
void ash__nats_wake(ash_nats_client *client);

#endif
