/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NATS_RAW_CLIENT_H
#define ASH_TESTS_NATS_RAW_CLIENT_H

/* A client that sends and reads texts, without the code that is tested. */

#include <stdbool.h>
#include <stddef.h>

typedef struct client {
    int fd;
    char *data;
    size_t start, end, capacity;
    char *said; /* what came last, see client_hears() */
} client;

/* Reads INFO; connect: what is sent then, with "CONNECT {}" in it; NULL: nothing. */
void client_open(client *c, int port, const char *connect);
/* With headers and no_responders. */
void client_open_usual(client *c, int port);
/* Takes few bytes at a time from the network. */
void client_open_narrow(client *c, int port);
void client_close(client *c);

void client_says(client *c, const char *text);
bool client_sends(client *c, const void *data, size_t len); /* false: the connection is over */

/* The next command: its line, and where it has a payload "|" and that; NULL when the connection is
 * over, or nothing came in 20 seconds.  Until the next call. */
const char *client_hears(client *c);
/* The same of what comes within a time. */
const char *client_hears_within(client *c, int ms);
bool client_is_over(client *c);

#endif
