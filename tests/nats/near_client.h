/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NATS_NEAR_CLIENT_H
#define ASH_TESTS_NATS_NEAR_CLIENT_H

/* A client of a service without a network: what it publishes goes to the service on the caller's
 * thread, and what it is told is kept as lines of the protocol.  It listens to everything (sid 1). */

#include "base/buffer.h"
#include "nats/client.h"

typedef struct near_client near_client;

/* service and ctx outlive it. */
near_client *near_client_new(const ash_nats_service *service, void *ctx);
void near_client_free(near_client *n);

/* false: nobody listens there. */
bool near_client_publish(near_client *n, const ash_nats_message *m);
/* Lets the service deliver, until nothing is due or it was asked so often. */
void near_client_pump(near_client *n, int times);
/* All that it was told since it was cleared, by whoever asks. */
ash_buffer *near_client_heard(near_client *n);

#endif
