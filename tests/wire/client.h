/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_WIRE_CLIENT_H
#define ASH_TESTS_WIRE_CLIENT_H

/* A client that speaks bytes: it can say things no driver would. */

#include "check.h"

#include "base/buffer.h"
#include "fake_store.h"
#include "wire/message.h"
#include "wire/server.h"

/* A server on a fake store and a free port. */
typedef struct fixture {
    fake_store *store;
    ash_server *server;
    int port;
} fixture;

void fixture_start(fixture *x, const ash_server_options *opts);
void fixture_stop(fixture *x);

int client_connect(const fixture *x);
void client_send(int fd, const void *data, size_t len); /* ignores that the server hung up */

/* An OP_MSG of one body. */
void message_start(ash_buffer *out, int32_t op_code);
void message_body(ash_buffer *out, const bson_t *body);
void message_sequence(ash_buffer *out, const char *name, const bson_t *const *docs, size_t count);
void message_end(ash_buffer *out);

/* The next whole message; false when the server closed the connection. */
bool client_receive(int fd, ash_buffer *out);

/* One command and its answer's document; destroys command.  The caller destroys the result. */
bson_t *client_run(int fd, bson_t *command);

int64_t field_int64(const bson_t *doc, const char *path);
int64_t field_number(const bson_t *doc, const char *path);
const char *field_text(const bson_t *doc, const char *path);

#endif
