/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the server that holds a folder, by the socket on which it listens there. */

#include "store/reach.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

char *ash__reach_folder(const char *uri)
{
    if (strncmp(uri, "file://", 7) == 0)
        return uri[7] != '\0' ? ash__strdup(uri + 7) : NULL;
    if (strncmp(uri, "file:", 5) == 0)
        return uri[5] != '\0' ? ash__strdup(uri + 5) : NULL;
    if (uri[0] == '\0' || strstr(uri, "://") != NULL)
        return NULL;
    return ash__strdup(uri);
}

/* A dead server leaves its socket behind, so only one that takes a connection counts. */
static bool answers(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool alive;
    int fd;

    if (strlen(path) > ASH_REACH_PATH_MAX)
        return false;
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1)
        return false;
    /* A server whose backlog is full answers a non-blocking connect with EAGAIN, and is alive. */
    alive = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
    close(fd);
    return alive;
}

/* The path in the address file, without the newline; NULL when it is missing or makes no sense. */
static char *read_address(const char *folder, const char *name)
{
    char *file = ash__path_join(folder, name);
    char *path = NULL;
    uint8_t *data = NULL;
    size_t len = 0;

    if (ash__file_load(file, ASH_REACH_PATH_MAX + 1, &data, &len, NULL) == 0) {
        if (len > 0 && data[len - 1] == '\n')
            len--;
        /* Whoever may write into the folder may have written this, and it becomes part of a URI: an
         * absolute path to a socket, or nothing. */
        if (len > 6 && data[0] == '/' && memchr(data, '\0', len) == NULL &&
            memcmp(data + len - 5, ".sock", 5) == 0)
            path = ash__strndup((const char *)data, len);
    }
    ash__free(data);
    ash__free(file);
    return path;
}

void ash__reach_escape(ash_buffer *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text != 0; text++) {
        if (strchr(plain, *text) != NULL)
            ash__buffer_append_byte(out, (uint8_t)*text);
        else
            ash__buffer_printf(out, "%%%02X", (unsigned char)*text);
    }
}

static char *encode(const char *path)
{
    ash_buffer out = ASH_BUFFER_INIT;

    ash__buffer_append_text(&out, ASH_REACH_SCHEME);
    ash__reach_escape(&out, path);
    ash__buffer_append_byte(&out, '\0');
    return (char *)ash__buffer_detach(&out);
}

char *ash__reach_server_uri(const char *folder)
{
    return ash__reach_door(folder, ASH_REACH_SOCKET, ASH_REACH_ADDRESS_FILE);
}

char *ash__reach_door(const char *folder, const char *socket_name, const char *address_name)
{
    /* The address outlives a chdir of the caller: connections are made by it at any time. */
    char *absolute = realpath(folder, NULL);
    char *path = NULL, *uri = NULL;

    if (absolute == NULL)
        return NULL;
    path = ash__path_join(absolute, socket_name);
    if (!answers(path)) {
        ash__free(path);
        path = read_address(absolute, address_name);
    }
    if (path != NULL && answers(path))
        uri = encode(path);
    ash__free(path);
    free(absolute);
    return uri;
}
