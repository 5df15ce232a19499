/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_STATE_H
#define ASH_NATS_STATE_H

/* What all clients' threads share: constant while there are any. */

#include "nats/client.h"
#include "nats/server.h"
#include "net/host.h"

enum { ASH_NATS_SERVER_ID_BYTES = 33 };

struct ash_nats_server {
    const ash_nats_service *service;
    void *ctx; /* of the service */
    ash_nats_server_options opts;
    char id[ASH_NATS_SERVER_ID_BYTES];
    ash_host host;
};

#endif
