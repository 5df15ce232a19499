/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_SERVER_H
#define ASH_WIRE_SERVER_H

/* A server of MongoDB's wire protocol over one store.
 *
 * It presents itself as a replica set of one node whose host is the address that the client
 * reached, so that drivers use retryable writes and change streams; or as a standalone server.
 * Without TLS passwords and documents would go about in the open, so it listens on loopback
 * addresses (127.0.0.0/8, ::1) and on a Unix socket that only its owner may open, and on nothing
 * else.
 *
 * One thread a connection.  Memory: idle connections keep less than 64 KiB each; requests in flight
 * share message_bytes over all connections, and so do answers.  While somebody waits for some of
 * it, whoever holds some and neither sends nor takes 64 KiB within three seconds loses the
 * connection. */

#include <ashlar/store.h>

typedef struct ash_server ash_server;
struct ash_stream;
struct ash_attempts;
struct ash_audit;

typedef struct ash_server_options {
    size_t size;
    const char *const *listen; /* "127.0.0.1:27017", "[::1]:27017", "localhost:27017" (both);
                                  without port: 27017; port 0: any free one */
    size_t listen_count;
    const char *socket_path; /* Unix socket, made with mode 0600, removed at the end; or NULL */
    const char *advertise;   /* "host:port" told to clients; NULL = what they reached */
    const char *set_name;    /* of the replica set; NULL = "ashlar" */
    const char *version;     /* of Ashlar, for buildInfo; or NULL */
    bool standalone;
    bool test_commands; /* configureFailPoint */
    bool users;         /* there may be users and roles; once there is a user, commands need what
                   wire/commands.c says.  Without it, what is about users is refused */
    bool auth;          /* with users: also before there is one */
    int32_t max_connections;    /* 0 = 1000.  Over it, who owes (the rest of) a message for half a
                                   second loses its place to the newcomer */
    int32_t max_cursors;        /* 0 = 10000 */
    int32_t max_sessions;       /* 0 = 100000 */
    int64_t idle_timeout_ms;    /* close a connection that is silent so long; 0 = never */
    int64_t message_timeout_ms; /* a message must arrive within this, and 1 ms a KiB; and so long
                                   an answer waits for memory (146 then); 0 = 30000 */
    int64_t send_timeout_ms;    /* close a connection that takes neither the rest of an answer nor
                                   64 KiB of it within this; 0 = 60000 */
    int64_t cursor_timeout_ms;  /* of cursors without a session; 0 = 600000 */
    int64_t orphan_timeout_ms;  /* of those whose connection is gone; 0 = 60000 */
    int64_t message_bytes;   /* memory for requests in flight, and as much for answers; 0 = 256 MiB;
                                at least 128 MiB */
    int64_t stop_timeout_ms; /* how long a stop waits for clients to take their last answers;
                                0 = 1000 */
    bool anywhere;           /* as of ash_host_options */
    /* Put another stream on top of each connection's plain one: as ash_host_options. */
    int (*wrap)(void *ctx, struct ash_stream *stream, ash_error *err);
    void *wrap_ctx;
    struct ash_audit *audit;       /* what is done goes there (audit/audit.h), borrowed; or NULL */
    struct ash_attempts *attempts; /* of all doors (user/attempts.h), borrowed; NULL: its own */
    struct ash_usage_table *usage; /* of all doors (user/usage.h), borrowed; NULL: its own */
} ash_server_options;
#define ASH_SERVER_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .size = sizeof(ash_server_options)                                                         \
    }

/* Listen and serve, on threads of its own.  Options are copied; the store stays the caller's and
 * must outlive the server.  *out is yours: ash__server_stop().  ASH_EACCES for an address that is
 * not loopback, ASH_EINVAL for one that does not parse, ASH_EEXISTS when it is in use, ASH_EBUSY
 * when somebody serves on the Unix socket already, ASH_ENETWORK otherwise. */
int ash__server_start(ash_store *store, const ash_server_options *opts, ash_server **out,
                      ash_error *err);

/* Would they do?  Takes each for a moment, in which nobody can connect; errors as of
 * ash__server_start. */
int ash__server_try_addresses(const char *const *listen, size_t count, bool anywhere,
                              ash_error *err);

/* What it listens on ("127.0.0.1:27017", "/srv/files/socket"), with the ports really used.
 * Borrowed until stop. */
const char *const *ash__server_addresses(const ash_server *server, size_t *count);

/* Do its clients have to sign in, now? */
bool ash__server_asks(const ash_server *server);

/* How many clients are connected now. */
int32_t ash__server_connection_count(ash_server *server);
/* 0: the default.  Who is connected already stays. */
void ash__server_set_max_connections(ash_server *server, int32_t max_connections);

/* Stop accepting, interrupt all commands (11600; a write that is being made may still end well),
 * close all connections, after stop_timeout_ms also those whose clients do not read, and all
 * cursors, free the server.  NULL is fine. */
void ash__server_stop(ash_server *server);

#endif
