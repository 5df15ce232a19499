/* SPDX-License-Identifier: Apache-2.0 */
#include "store/reach.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static bool is_socket(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The path in the address file, without the newline; NULL when it is missing or makes no sense. */
static char *read_address(const char *folder)
{
    char *file = ash__path_join(folder, ASH_REACH_ADDRESS_FILE);
    char *path = NULL;
    uint8_t *data = NULL;
    size_t len = 0;

    if (ash__file_load(file, ASH_REACH_PATH_MAX + 1, &data, &len, NULL) == 0) {
        if (len > 0 && data[len - 1] == '\n')
            len--;
        if (len > 0 && data[0] == '/' && memchr(data, '\0', len) == NULL)
            path = ash__strndup((const char *)data, len);
    }
    ash__free(data);
    ash__free(file);
    return path;
}

static char *encode(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    ash_buffer out = ASH_BUFFER_INIT;

    ash__buffer_append_text(&out, ASH_REACH_SCHEME);
    for (; *path != '\0'; path++) {
        if (strchr(plain, *path) != NULL)
            ash__buffer_append_byte(&out, (uint8_t)*path);
        else
            ash__buffer_printf(&out, "%%%02X", (unsigned)(unsigned char)*path);
    }
    ash__buffer_append_byte(&out, '\0');
    return (char *)ash__buffer_detach(&out);
}

char *ash__reach_server_uri(const char *folder)
{
    char *absolute = realpath(folder, NULL);
    char *socket = NULL, *uri = NULL;

    if (absolute == NULL)
        return NULL;
    socket = ash__path_join(absolute, ASH_REACH_SOCKET);
    if (strlen(socket) > ASH_REACH_PATH_MAX || !is_socket(socket)) {
        ash__free(socket);
        socket = read_address(absolute);
    }
    if (socket != NULL && is_socket(socket))
        uri = encode(socket);
    ash__free(socket);
    free(absolute);
    return uri;
}
