/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_CONNECTION_H
#define ASH_WIRE_CONNECTION_H

/* One client: its thread reads a message, runs it, answers, and reads the next. */

#include "wire/access.h"
#include "wire/message.h"
#include "wire/reply.h"
#include "wire/state.h"

enum { ASH_APP_NAME_BYTES = 129 };

typedef struct ash_connection {
    ash_peer peer; /* its local address is what hello tells as host */
    ash_server *server;
    char app[ASH_APP_NAME_BYTES]; /* client.application.name of its hello */
    ash_access access;
    ash_principal principal; /* who asks, as access has it */

    /* What arrived: have bytes of it, one message or its start first. */
    ash_block block;
    size_t have;
    bool greeted;           /* a whole message came */
    bool gives_way;         /* its thread does, until somebody has signed in */
    ash_arrival arrival;    /* of its requests */
    int64_t place_until_ms; /* monotonic: it keeps its place while the request is incomplete */
    ash_turn turn;          /* of its answers */
    ash_reply reply;
    ash_operation operation;
    int32_t last_reply_id;
    uint8_t compressor; /* of the message that is being answered */

    /* What getLastError tells. */
    int64_t last_n;
    int32_t last_code;
    char last_error[200];
} ash_connection;

/* MongoDB's wire protocol, as a face of a host; its server is an ash_server. */
extern const ash_face ash__wire_face;

#endif
