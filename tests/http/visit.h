/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_HTTP_VISIT_H
#define ASH_TESTS_HTTP_VISIT_H

/* One request to a service and its answer, without a socket: the calls come as from a connection.
 *
 *     visit *v = visit_ask(&service, ctx, "PUT /a", "If-None-Match: *\n", "text");
 *     visit_expect(v, 201);
 *     assert_non_null(visit_field(v, "ETag"));
 *     visit_free(v); */

#include "base/buffer.h"
#include "http/exchange.h"

typedef struct visit {
    ash_exchange x;
    ash_head head;
    char *head_bytes; /* that head has views into */
    int status;       /* of the answer; 0: none yet */
    ash_buffer body;  /* what a client got; of HEAD, nothing */
    bool waits;       /* more() has nothing now: visit_read() asks again */
    bool cut;         /* the client sees the connection end too early */
    int wakes;        /* how often somebody said that there was news; atomically */
} visit;

/* Requests come from another machine, in the clear. */
extern bool visit_is_far;

/* line: "GET /a?b=c".  fields: "Name: value\n" …, or NULL; Host comes by itself.  body_length: bytes
 * announced, 0: none, -1: chunked.  Ends with begin(). */
visit *visit_start(const ash_http_service *service, void *ctx, const char *line, const char *fields,
                   int64_t body_length);
/* The same, with is_put_off as it comes: it may have to begin again. */
visit *visit_begin(const ash_http_service *service, void *ctx, const char *line, const char *fields,
                   int64_t body_length);
void visit_begin_again(visit *v, const ash_http_service *service);
/* A piece of the body; whoever answered already gets none. */
void visit_send(visit *v, const void *data, size_t len);
/* The body is complete.  Reads the answer, unless it waits. */
void visit_end(visit *v);
void visit_read(visit *v);
/* The exchange is over, or the client gone; NULL is fine. */
void visit_free(visit *v);

/* All of it; body: text, or NULL for none.  It is announced, and comes in two pieces. */
visit *visit_ask(const ash_http_service *service, void *ctx, const char *line, const char *fields,
                 const char *body);
visit *visit_ask_bytes(const ash_http_service *service, void *ctx, const char *line,
                       const char *fields, const void *body, size_t len);

/* Fails with the answer's text when it has another status, or was cut. */
void visit_expect(const visit *v, int status);
void visit_expect_body(visit *v, const char *text);
/* The value of the answer's field, valid until the next call; NULL: there is none.  More than one of
 * that name fails. */
const char *visit_field(visit *v, const char *name);
void visit_expect_field(visit *v, const char *name, const char *value);

#endif
