/* SPDX-License-Identifier: Apache-2.0 */
/* Depth first, each folder's names read and sorted before anything below is looked at: no
 * descriptor stays open on the way down. */
#include "cmd/kit/walk.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The folders we are inside of, innermost first: a link to one of them would go round for ever. */
struct above {
    dev_t dev;
    ino_t ino;
    const struct above *outer;
};

struct walk {
    const struct stat *except;
    ash_walk_visit visit;
    void *ctx;
};

static bool is_same(const struct stat *st, dev_t dev, ino_t ino)
{
    return st->st_dev == dev && st->st_ino == ino;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ash__free(names[i]);
    ash__free(names);
}

static int read_names(const char *path, char ***out, size_t *count, ash_error *err)
{
    struct dirent *entry;
    size_t capacity = 0;
    char **names = NULL;
    DIR *dir = opendir(path);
    *out = NULL;
    *count = 0;
    if (dir == NULL)
        return ash__fail_errno(err, errno, "cannot read folder %s", path);
    /* readdir() tells an error from the end by errno alone. */
    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names = ash__grow_array(names, *count, &capacity, sizeof *names);
        names[(*count)++] = ash__strdup(entry->d_name);
    }
    int reason = errno;
    closedir(dir);
    if (reason != 0) {
        free_names(names, *count);
        return ash__fail_errno(err, reason, "cannot read folder %s", path);
    }
    if (*count > 0)
        qsort(names, *count, sizeof *names, by_name);
    *out = names;
    return 0;
}

static bool walk_folder(const struct walk *w, const char *path, const char *relative,
                        const struct stat *st, const struct above *outer);

static bool walk_entry(const struct walk *w, const char *path, const char *relative,
                       const struct above *above)
{
    struct stat st;
    ash_error err = ASH_ERROR_INIT;
    /* stat() and not lstat(): links are followed. */
    if (stat(path, &st) != 0) {
        ash__fail_errno(&err, errno, "cannot read %s", path);
        return w->visit(w->ctx, path, relative, NULL, &err);
    }
    if (S_ISDIR(st.st_mode))
        return walk_folder(w, path, relative, &st, above);
    if (S_ISREG(st.st_mode))
        return w->visit(w->ctx, path, relative, &st, NULL);
    ash__fail(&err, ASH_EUNSUPPORTED, "%s is not a regular file or folder", path);
    return w->visit(w->ctx, path, relative, NULL, &err);
}

static bool report_empty(const struct walk *w, const char *path, const char *relative,
                         const struct stat *st)
{
    char *marker = ash__sprintf("%s/", relative);
    /* The root itself gets no marker: it has no name in the bucket. */
    bool go_on = relative[0] == 0 || w->visit(w->ctx, path, marker, st, NULL);
    ash__free(marker);
    return go_on;
}

static bool walk_folder(const struct walk *w, const char *path, const char *relative,
                        const struct stat *st, const struct above *outer)
{
    struct above here = {st->st_dev, st->st_ino, outer};
    ash_error err = ASH_ERROR_INIT;
    char **names;
    size_t count;
    if (w->except != NULL && is_same(w->except, st->st_dev, st->st_ino))
        return w->visit(w->ctx, path, relative, NULL, NULL);
    for (const struct above *a = outer; a != NULL; a = a->outer) {
        if (is_same(st, a->dev, a->ino)) {
            ash__fail(&err, ASH_EUNSUPPORTED, "%s is a link to a folder it lies in", path);
            return w->visit(w->ctx, path, relative, NULL, &err);
        }
    }
    if (read_names(path, &names, &count, &err) != 0)
        return w->visit(w->ctx, path, relative, NULL, &err);
    bool go_on = count > 0 || report_empty(w, path, relative, st);
    for (size_t i = 0; i < count && go_on; i++) {
        char *child = ash__path_join(path, names[i]);
        char *child_relative =
            relative[0] != 0 ? ash__path_join(relative, names[i]) : ash__strdup(names[i]);
        go_on = walk_entry(w, child, child_relative, &here);
        ash__free(child);
        ash__free(child_relative);
    }
    free_names(names, count);
    return go_on;
}

bool ash__walk(const char *root, const struct stat *except, ash_walk_visit visit, void *ctx)
{
    struct walk w = {except, visit, ctx};
    struct stat st;
    const char *slash = strrchr(root, '/');
    bool is_file = stat(root, &st) == 0 && S_ISREG(st.st_mode);
    const char *relative = !is_file ? "" : slash != NULL ? slash + 1 : root;
    return walk_entry(&w, root, relative, NULL);
}
