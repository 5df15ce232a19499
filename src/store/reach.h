/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_REACH_H
#define ASH_STORE_REACH_H

/* How a process finds the server that holds a folder.
 *
 * A server that holds a folder listens on a Unix socket in it, `ashlar.sock`.  A socket's path has
 * at most 106 bytes (107 for the system, one less for the driver).  Where the folder's is too long,
 * the server listens elsewhere and writes that path (absolute, ending in ".sock", by which drivers
 * tell sockets from host names), and nothing but a newline after it, into `ashlar.addr` in the
 * folder.  Either file is written by the server and removed when it stops; what a dead server left
 * takes no connection.
 *
 * The store behind it is opened as `ashlar+unix://<path of the socket, percent-encoded>`, a URI
 * that is only used between open.c and the backend that takes it. */

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

#define ASH_REACH_SOCKET       "ashlar.sock"
#define ASH_REACH_ADDRESS_FILE "ashlar.addr"
#define ASH_REACH_SCHEME       "ashlar+unix://"
#define ASH_REACH_PATH_MAX     106

/* The folder that a store's URI names: "file:" and "file://" are taken off; anything else without
 * "://" is a path.  NULL when the URI names no folder; else the caller frees. */
char *ash__reach_folder(const char *uri);

/* As a part of a URI may hold it: all but letters, digits and "-._~" as %XX. */
void ash__reach_escape(ash_buffer *out, const char *text);

/* The internal URI of the server in the folder; the caller frees.  NULL when none takes a
 * connection. */
char *ash__reach_server_uri(const char *folder);
/* The same of a server that listens in the folder under another name. */
char *ash__reach_door(const char *folder, const char *socket_name, const char *address_name);

#endif
