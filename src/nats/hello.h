/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_HELLO_H
#define ASH_NATS_HELLO_H

/* What server and client tell each other at first. */

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The features that clients look for by version are those of this one of NATS' servers. */
#define ASH_NATS_VERSION "2.10.0"

enum { ASH_NATS_CLIENT_NAME_BYTES = 129 };

typedef struct ash_nats_info {
    const char *server_id;
    const char *local;  /* "127.0.0.1:4222" or "[::1]:4222": what the client reached */
    const char *remote; /* the client's own, likewise */
    int64_t client_id;
    size_t max_payload;
} ash_nats_info;

/* The line INFO, appended. */
void ash__nats_print_info(const ash_nats_info *info, ash_buffer *out);

/* What a client asks for, in its CONNECT. */
typedef struct ash_nats_wishes {
    bool verbose;                          /* +OK after each command */
    bool echo;                             /* its own messages, where it subscribed to them */
    bool headers;                          /* it understands them */
    bool no_responders;                    /* to be told when nobody listens */
    char name[ASH_NATS_CLIENT_NAME_BYTES]; /* its own, of its language, and that one's version */
} ash_nats_wishes;

/* Before a client said anything. */
#define ASH_NATS_WISHES_INIT                                                                       \
    {                                                                                              \
        .echo = true                                                                               \
    }

/* false: it is no object in JSON, or what is known of it has values of other types. */
bool ash__nats_read_connect(const char *json, ash_nats_wishes *out);

#endif
