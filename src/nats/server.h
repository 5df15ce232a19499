/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_SERVER_H
#define ASH_NATS_SERVER_H

/* A server of NATS' protocol over one service (client.h).
 *
 * A client's messages go to the service, and those that it does not take to the client itself, where
 * that subscribed to them; nothing goes from one client to another.  Clients are not authenticated,
 * so it listens on loopback addresses (127.0.0.0/8, ::1), and on nothing else.
 *
 * One thread a client.  Memory: idle clients keep less than 64 KiB each, and their subscriptions;
 * commands in flight share message_bytes over all clients, and so does what is on its way to them.
 * While somebody waits for some of it, whoever holds some and neither sends nor takes 64 KiB within
 * three seconds loses the connection. */

#include "nats/client.h"

enum { ASH_NATS_MAX_PAYLOAD_BYTES = 1024 * 1024 };

typedef struct ash_nats_server ash_nats_server;

typedef struct ash_nats_server_options {
    size_t size;
    const char *const *listen; /* "127.0.0.1:4222", "[::1]:4222", "localhost:4222" (both); without
                                  port: 4222; port 0: any free one */
    size_t listen_count;
    int32_t max_connections;    /* 0 = 1000.  Over it, who owes (the rest of) a command for half a
                                   second loses its place to the newcomer */
    int64_t connect_timeout_ms; /* CONNECT must come within this; 0 = 10000 */
    int64_t message_timeout_ms; /* a command must arrive within this; 0 = 30000 */
    int64_t send_timeout_ms;    /* close a connection that takes neither all that is for it nor
                                   64 KiB of it within this; 0 = 10000 */
    int64_t ping_interval_ms; /* after so much silence a client is asked whether it is there, twice;
                                   0 = 120000 */
    int64_t message_bytes;    /* memory for commands in flight, and as much for what goes to
                                   clients; 0 = 256 MiB; at least 8 MiB */
    int64_t stop_timeout_ms;  /* how long a stop waits for clients to take what is for them;
                                   0 = 1000 */
    bool anywhere;            /* as of ash_host_options */
} ash_nats_server_options;
#define ASH_NATS_SERVER_OPTIONS_INIT                                                               \
    {                                                                                              \
        .size = sizeof(ash_nats_server_options)                                                    \
    }

/* Listen and serve, on threads of its own.  Options are copied; service and ctx stay the caller's
 * and must outlive the server.  *out is yours: ash__nats_server_stop().  ASH_EACCES for an address
 * that is not loopback, ASH_EINVAL for one that does not parse, ASH_EEXISTS when it is in use,
 * ASH_ENETWORK otherwise. */
int ash__nats_server_start(const ash_nats_service *service, void *ctx,
                           const ash_nats_server_options *opts, ash_nats_server **out,
                           ash_error *err);

/* Would they do?  Takes each for a moment, in which nobody can connect; errors as of
 * ash__nats_server_start. */
int ash__nats_server_try_addresses(const char *const *listen, size_t count, bool anywhere,
                                   ash_error *err);

/* What it listens on ("127.0.0.1:4222"), with the ports really used.  Borrowed until stop. */
const char *const *ash__nats_server_addresses(const ash_nats_server *server, size_t *count);

/* How many clients are connected now. */
int32_t ash__nats_server_client_count(ash_nats_server *server);
/* 0: the default.  Who is connected already stays. */
void ash__nats_server_set_max_connections(ash_nats_server *server, int32_t max_connections);

/* Stop accepting, close all connections, after stop_timeout_ms also those whose clients do not
 * read, free the server.  All clients are detached from the service then.  NULL is fine. */
void ash__nats_server_stop(ash_nats_server *server);

#endif
