/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_CONNECTION_H
#define ASH_NATS_CONNECTION_H

/* One client: its thread waits for the socket, for whoever wakes it, or for a time; takes the
 * commands that came; and lets the service deliver. */

#include "nats/client.h"
#include "nats/hello.h"
#include "nats/output.h"
#include "nats/parse.h"
#include "nats/state.h"
#include "nats/subs.h"
#include "nats/wake.h"

struct ash_nats_client {
    ash_peer peer;
    ash_nats_server *server;
    void *state; /* of the service */
    ash_nats_wake wake;

    /* What arrived and was not taken yet. */
    ash_block block;
    size_t start, end;
    size_t needed; /* so many bytes has the command that it begins with, at least */
    size_t moved;  /* of ash__peer_moved() */

    ash_nats_output output;
    ash_nats_subs subs;
    ash_nats_wishes wishes;
    size_t pumped; /* bytes that went to it in this pump */

    bool greeted;     /* CONNECT came */
    bool over;        /* nothing more is taken */
    bool no_more;     /* the client sends nothing any more */
    int unanswered;   /* pings */
    int64_t begun_ms; /* all times are monotonic */
    int64_t heard_ms; /* when bytes came last */
    int64_t part_ms;  /* since when a command is incomplete; 0: none is */
    int64_t busy_ms;  /* when bytes moved last */
    int64_t pump_at_ms;
};

extern const ash_face ash__nats_face;

/* ---- of one command, see commands.c ---- */

void ash__nats_take(ash_nats_client *c, const ash_nats_command *command);
/* The client is told, and nothing more is taken. */
void ash__nats_complain(ash_nats_client *c, const char *text);

#endif
