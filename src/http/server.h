/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SERVER_H
#define ASH_HTTP_SERVER_H

/* A server of HTTP/1.1 (RFC 9110, 9112) over one service (exchange.h).
 *
 * It listens on loopback addresses and given or private Unix sockets, and on others only when it is
 * told that its service asks who comes and that nobody overhears them (anywhere).  A few threads serve all connections, and none of them waits for a
 * client.  An idle connection keeps less than 2 KiB; one that sends or takes something, up to
 * 200 KiB. */

#include "http/exchange.h"

#include <stdio.h>

typedef struct ash_http_server ash_http_server;
struct ash_stream;

/* What happened, for /metrics; read without a lock. */
typedef struct ash_http_counts {
    _Atomic int64_t requests[6]; /* by the first digit of the status; [0]: cut off before one */
    _Atomic int64_t received_bytes, sent_bytes; /* of bodies */
    _Atomic int64_t in_flight;
    _Atomic int64_t seconds_us; /* that all requests took together, from head to last byte */
    _Atomic int64_t refused;    /* heads that were no HTTP, or too long */
    _Atomic int64_t timed_out;
} ash_http_counts;

/* One line of the access log. */
typedef struct ash_http_record {
    const char *remote, *method, *target, *id, *agent, *referer; /* NULL: not known */
    const char *user,
        *db; /* who asks, and of which database that is; NULL: nobody was asked, or said it */
    const char *protocol; /* "HTTP/1.1" */
    int status;
    int64_t received_bytes, sent_bytes;
    int64_t begun_ms; /* since 1970 */
    int64_t took_us;
} ash_http_record;

typedef struct ash_http_options {
    size_t size;
    const char *const *listen; /* "127.0.0.1:8080" …; without port: 8080; port 0: any free one */
    size_t listen_count;
    int32_t max_connections; /* 0 = 1000 */
    int32_t threads;         /* 0 = 16 */
    int64_t head_timeout_ms; /* a head must be there so long after its first byte; 0 = 10000 */
    int64_t idle_timeout_ms; /* a connection without a request; 0 = 75000 */
    int64_t move_timeout_ms; /* a body or an answer must move 64 KiB, or end; 0 = 60000 */
    int64_t stop_timeout_ms; /* 0 = 1000 */
    int64_t max_body_bytes;  /* 0 = 16 TiB */
    bool anywhere;           /* as these of ash_host_options */
    int (*wrap)(void *ctx, struct ash_stream *stream, ash_error *err);
    void *wrap_ctx;
    void (*log)(void *ctx, const ash_http_record *record); /* any of the threads; or NULL */
    void *log_ctx;
} ash_http_options;
#define ASH_HTTP_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(ash_http_options)                                                           \
    }

/* service and ctx stay the caller's and must outlive the server.  *out is yours:
 * ash__http_server_stop().  Errors as of ash__host_start(). */
int ash__http_server_start(const ash_http_service *service, void *ctx, const ash_http_options *opts,
                           ash_http_server **out, ash_error *err);
int ash__http_server_try_addresses(const char *const *listen, size_t count, bool anywhere,
                                   ash_error *err);
const char *const *ash__http_server_addresses(const ash_http_server *server, size_t *count);
int32_t ash__http_server_client_count(ash_http_server *server);
/* 0: the default.  Who is connected already stays. */
void ash__http_server_set_max_connections(ash_http_server *server, int32_t max_connections);
const ash_http_counts *ash__http_server_counts(const ash_http_server *server);
/* Stop accepting, finish what is being answered, close all connections; after stop_timeout_ms also
 * those whose clients do not read.  NULL is fine. */
void ash__http_server_stop(ash_http_server *server);

#endif
