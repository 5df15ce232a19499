/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_LISTEN_H
#define ASH_NET_LISTEN_H

/* Sockets to listen on, and the rule of who may listen where: whoever does not ask clients who they
 * are listens on loopback addresses (127.0.0.0/8, ::1) and on a Unix socket that only its owner may
 * open, and on nothing else. */

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { ASH_MAX_LISTENERS = 16, ASH_ADDRESS_TEXT_BYTES = 128 };

typedef struct ash_listen_rule {
    uint16_t port;             /* where a text names none */
    const char *loopback_only; /* why, as part of a message; NULL: anywhere */
} ash_listen_rule;

typedef struct ash_listener {
    int fd;
    char *address; /* as text; of a Unix socket its path */
    bool is_unix;  /* the file is removed on close */
    dev_t device;  /* of that file */
    ino_t inode;
} ash_listener;

typedef struct ash_listeners {
    ash_listen_rule rule;
    ash_listener items[ASH_MAX_LISTENERS];
    size_t count;
    bool only_bind; /* have the addresses, and let nobody connect */
} ash_listeners;

/* Add what a text names: "127.0.0.1:27017", "[::1]:27017", "localhost:27017" (both); port 0: any
 * free one; "fd:3": a socket that was given to the process and listens already, to which the rule
 * applies as well.  ASH_EACCES for an address that the rule forbids, ASH_EINVAL for one that does not
 * parse, ASH_EEXISTS when it is in use, ASH_EBUSY when somebody serves on the Unix socket already,
 * ASH_ENETWORK otherwise. */
int ash__listeners_add(ash_listeners *l, const char *text, ash_error *err);
/* Whether the text, and the rule, let it be tried at all; nothing is opened.  Errors as above. */
int ash__listen_check(const ash_listen_rule *rule, const char *text, ash_error *err);
int ash__listeners_add_unix(ash_listeners *l, const char *path, ash_error *err);
void ash__listeners_close(ash_listeners *l);

/* "127.0.0.1:27017", "[::1]:27017" or a socket's path ("" for an unnamed one). */
void ash__address_text(const struct sockaddr_storage *address, socklen_t len,
                       char out[ASH_ADDRESS_TEXT_BYTES]);

#endif
