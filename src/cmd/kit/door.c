/* SPDX-License-Identifier: Apache-2.0 */
/* The socket lies in the store's folder, if its path fits into a socket's address (108 bytes on
 * Linux); else in a folder of its own, and a file in the store's folder says where. */
#include "cmd/kit/door.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int ash__door_open(const char *folder, const char *socket_name, const char *address_name,
                   ash_cmd_door *door, ash_error *err)
{
    struct sockaddr_un limits;
    char *real = realpath(folder, NULL);
    if (real == NULL)
        return ash__fail_errno(err, errno, "cannot find folder %s", folder);
    door->path = ash__path_join(real, socket_name);
    int rc = 0;
    if (strlen(door->path) >= sizeof limits.sun_path) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        door->own_folder = ash__sprintf(
            "%s/ashlar-XXXXXX",
            runtime != NULL && runtime[0] == '/' && strlen(runtime) < 64 ? runtime : "/tmp");
        ash__free(door->path);
        door->path = NULL;
        if (mkdtemp(door->own_folder) == NULL)
            rc = ash__fail_errno(err, errno, "cannot make a folder for the socket");
        if (rc == 0) {
            door->path = ash__path_join(door->own_folder, socket_name);
            door->address_file = ash__path_join(real, address_name);
            /* In one step: whoever reads it meanwhile finds no half of a path. */
            rc = ash__file_replace(door->address_file, door->path, strlen(door->path), err);
        }
    }
    free(real);
    return rc;
}

void ash__door_close(ash_cmd_door *door)
{
    if (door->address_file != NULL)
        unlink(door->address_file);
    if (door->own_folder != NULL)
        /* The server has removed its socket by now. */
        rmdir(door->own_folder);
    ash__free(door->path);
    ash__free(door->address_file);
    ash__free(door->own_folder);
}
