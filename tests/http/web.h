/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_HTTP_WEB_H
#define ASH_TESTS_HTTP_WEB_H

/* A server with a service of its own, and a client that sends what it is told, byte for byte. */

#include "http/server.h"

typedef struct web {
    ash_http_server *server;
    uint16_t port;
} web;

/*   GET /hello         "hello\n"
 *   GET /bytes?n=N     so many, streamed with their length
 *   GET /chunks?n=N    so many, streamed without
 *   GET /cut           a stream that fails after a piece
 *   GET /short         fewer bytes than it announces
 *   GET /later         "one", then "two" once web_wake() was called
 *   GET /none          204
 *   PUT /echo          the body
 *   PUT /count         how many bytes the body had
 *   PUT /refuse        409 before the body
 *   PUT /unwelcome     403 behind it: who asks is not admitted any more
 *   GET /break         a value with a line break in it */
void web_start(web *w, const ash_http_options *opts);
void web_stop(web *w);
void web_wake(void);
int web_released(void); /* exchanges whose release() was called */

int web_connect(const web *w);
void web_send(int fd, const char *data, size_t len);
/* All until the other side closes or nothing came for timeout_ms; the caller frees. */
char *web_read(int fd, int timeout_ms, size_t *len);
/* Until what came has the text in it, at most some seconds; the caller frees. */
char *web_read_until(int fd, const char *text);
/* Connects, sends, reads until the end, closes. */
char *web_ask(const web *w, const char *text);

#endif
