/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_LISTEN_H
#define ASH_NET_LISTEN_H

/* Sockets to listen on: loopback addresses and one Unix socket. */

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { ASH_MAX_LISTENERS = 16, ASH_DEFAULT_PORT = 27017, ASH_ADDRESS_TEXT_BYTES = 128 };

typedef struct ash_listener {
    int fd;
    char *address; /* as text; of a Unix socket its path */
    bool is_unix;  /* the file is removed on close */
} ash_listener;

typedef struct ash_listeners {
    ash_listener items[ASH_MAX_LISTENERS];
    size_t count;
    bool only_bind; /* have the addresses, and let nobody connect */
} ash_listeners;

/* Add what a text names: see ash_server_options.listen, and for the errors ash__server_start. */
int ash__listeners_add(ash_listeners *l, const char *text, ash_error *err);
int ash__listeners_add_unix(ash_listeners *l, const char *path, ash_error *err);
void ash__listeners_close(ash_listeners *l);

/* "127.0.0.1:27017", "[::1]:27017" or a socket's path ("" for an unnamed one). */
void ash__address_text(const struct sockaddr_storage *address, socklen_t len,
                       char out[ASH_ADDRESS_TEXT_BYTES]);

#endif
