/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_STATE_H
#define ASH_HTTP_STATE_H

/* What the folder's files share: the server, and one connection. */

#include "http/body.h"
#include "http/server.h"
#include "net/host.h"

struct ash_http_server {
    ash_host host;
    ash_http_options opts;
    const ash_http_service *service;
    void *ctx;
    ash_http_counts counts;
    char id[9]; /* of this run, in the ids of requests */
    _Atomic int64_t requests_made;
};

typedef enum ash_http_phase {
    ASH_PHASE_HEAD,   /* between requests, or in a head */
    ASH_PHASE_WAIT,   /* the service has put off the request */
    ASH_PHASE_BODY,   /* somebody takes the body */
    ASH_PHASE_ANSWER, /* the answer is on its way */
    ASH_PHASE_DRAIN,  /* it was sent; what is left of the body is thrown away */
    ASH_PHASE_LINGER  /* nothing more is sent; what comes is thrown away, so that the client gets to
                         read what was sent before the connection is reset */
} ash_http_phase;

enum { ASH_HTTP_ID_BYTES = 65 };

/* What there is only while a request is. */
typedef struct ash_http_request {
    ash_head head;
    ash_exchange x;
    ash_body body;
    bool continue_due; /* the client waits for 100 before it sends the body */
    char id[ASH_HTTP_ID_BYTES];
    int64_t begun_us, begun_wall_ms;
    int64_t received_bytes, drained_bytes;

    /* The answer. */
    ash_buffer frame; /* its head, or a chunk's */
    struct iovec iov[3];
    struct iovec *unsent;
    size_t unsent_count;
    bool chunked, head_made, last_made;
    int64_t made_bytes; /* of the body, that went into iov */
} ash_http_request;

typedef struct ash_http_connection {
    ash_peer peer;
    ash_http_phase phase;
    ash_http_request *request; /* or NULL */
    char *head_bytes;          /* that request->head has views into */
    char *in;                  /* what came and was not used: NULL while there is none */
    size_t in_start, in_end;
    int64_t since_ms; /* the phase, or the last progress in it */
    size_t moved;     /* since then */
    bool answered;    /* just now, and nothing was read since */
} ash_http_connection;

/* ---- connection.c ---- */
extern const ash_face ash__http_face;
static inline ash_http_server *ash__http_server_of(const ash_http_connection *c)
{
    return c->peer.host->server;
}

/* ---- send.c ---- */

/* true: go on with what follows in the phase.  false: *wishes is what the peer rests for, or
 * ASH_TURN_OVER. */
bool ash__http_send(ash_http_connection *c, unsigned *wishes);
void ash__http_send_continue(ash_http_connection *c);
void ash__http_decided(ash_http_request *r);
void ash__http_request_free(ash_http_connection *c);

#endif
