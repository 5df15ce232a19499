/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/folder.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Of what exists of the path; NULL: not even the current folder. */
static char *real_beginning(const char *path)
{
    char *part = ash__strdup(path);
    char *real = realpath(part, NULL);
    while (real == NULL && part[0] != 0) {
        size_t len = strlen(part);
        while (len > 0 && part[len - 1] != '/')
            len--;
        while (len > 1 && part[len - 1] == '/')
            len--;
        bool is_root = strcmp(part, "/") == 0;
        part[len] = 0;
        real = realpath(len > 0 ? part : ".", NULL);
        if (is_root)
            break;
    }
    ash__free(part);
    return real;
}

bool ash__folder_holds(const char *folder, const char *path)
{
    char *outer = realpath(folder, NULL), *inner = real_beginning(path);
    size_t len = outer != NULL ? strlen(outer) : 0;
    bool holds = outer != NULL && inner != NULL && strncmp(outer, inner, len) == 0 &&
                 (inner[len] == 0 || inner[len] == '/' || len == 1);
    free(outer);
    free(inner);
    return holds;
}
