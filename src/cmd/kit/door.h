/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_DOOR_H
#define ASH_CMD_KIT_DOOR_H

/* How other commands on a folder get in while this one holds it: the socket in it.
 *
 * A path that does not fit a socket address goes to a short folder of its own, which the folder's
 * ashlar.addr then names. */

#include <ashlar/error.h>

typedef struct ash_cmd_door {
    char *path;         /* where the server makes its socket */
    char *address_file; /* NULL: the socket lies in the store's folder */
    char *own_folder;
} ash_cmd_door;

/* The names of both files in the folder are ASH_REACH_… for everybody. */
int ash__door_open(const char *folder, const char *socket_name, const char *address_name,
                   ash_cmd_door *door, ash_error *err);
void ash__door_close(ash_cmd_door *door); /* zeroed is fine */

#endif
