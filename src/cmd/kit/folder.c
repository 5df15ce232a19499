/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about folders of the local file system; no answer is an error. */
#include "cmd/kit/folder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DEEPEST = 8, /* a store's folder has two levels; a tree of others is not walked to its end */
    BLOCK_BYTES = 512 /* of st_blocks, whatever the file system's are */
};

/* Of what exists of the path; NULL: not even the current folder. */
static char *real_beginning(const char *path)
{
    /* realpath() knows only what exists: the last parts go one by one until something does. */
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

bool ash__folder_is_others(const char *folder)
{
    bool any = false, ours = false;
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        any = any || entry->d_name[0] != '.';
        /* What every store's folder has. */
        ours = ours || strcmp(entry->d_name, "segments") == 0;
    }
    if (dir != NULL)
        closedir(dir);
    return any && !ours;
}

static int64_t takes(const char *path, int depth)
{
    struct stat st;
    const struct dirent *entry;
    DIR *dir = NULL;
    if (lstat(path, &st) != 0)
        return 0;
    int64_t bytes = (int64_t)st.st_blocks * BLOCK_BYTES;
    if (S_ISDIR(st.st_mode) && depth < DEEPEST)
        dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *inner = ash__path_join(path, entry->d_name);
        bytes += takes(inner, depth + 1);
        ash__free(inner);
    }
    if (dir != NULL)
        closedir(dir);
    return bytes;
}

int64_t ash__folder_takes(const char *folder)
{
    char *real = realpath(folder, NULL);
    int64_t bytes = real != NULL ? takes(real, 0) : 0;
    free(real);
    return bytes;
}

int ash__cmd_refuse_unfinished(const char *folder, ash_error *err)
{
    return ash__fail(err, ASH_ENOTFOUND,
                     "there is no store at %s: a repair ended before the new store had that name; "
                     "`ashlar -s %s check --repair --replace` finishes it",
                     folder, folder);
}
