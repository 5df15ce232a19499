/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_CONNECTION_H
#define ASH_WIRE_CONNECTION_H

/* One client: a socket and a thread that reads a message, runs it, answers, and reads the next. */

#include "wire/message.h"
#include "wire/reply.h"
#include "wire/state.h"

enum { ASH_APP_NAME_BYTES = 129 };
enum { ASH_HOLDS_REQUEST = 1, ASH_HOLDS_ANSWER = 2 };

typedef struct ash_connection {
    ash_server *server;
    int fd;
    bool is_unix;
    int64_t id;
    char peer[ASH_ADDRESS_TEXT_BYTES];  /* of the client */
    char local[ASH_ADDRESS_TEXT_BYTES]; /* that it reached: what hello tells as host */
    char app[ASH_APP_NAME_BYTES];       /* client.application.name of its hello */
    ash_principal principal;            /* who asks: nobody can sign in yet */

    /* What arrived: have bytes of it, one message or its start first. */
    ash_block block;
    size_t have;
    bool greeted; /* a whole message came */
    /* Since when the client owes the rest of a message, or its first one (monotonic ms); 0: it owes
     * nothing.  Read by whoever needs its place. */
    _Atomic int64_t owes_since_ms;

    /* While its client should send or take something: whose room it holds, for those who wait. */
    _Atomic unsigned holds;   /* ASH_HOLDS_… */
    _Atomic int64_t moved_ms; /* when it last did (monotonic) */

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

    bool put_out; /* server->lock: its place is given away, its thread is about to end */
    struct ash_connection *next; /* server->lock */
    struct ash_connection *prev;
} ash_connection;

/* Somebody waits for room: end the connection that holds some of it and whose client has not moved
 * for longest, if for long enough.  server: an ash_server.  As of ash__room_init. */
void ash__connections_press(void *server, ash_room *room);

/* Serve an accepted socket on a thread of its own.  Takes over fd, also on failure. */
void ash__connection_start(ash_server *server, int fd, bool is_unix, const char *socket_path);

#endif
