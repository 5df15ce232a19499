/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/local.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A folder that we are inside of. */
typedef struct level {
    char *path, *name;
    struct dirent **names;
    int count, at;
} level;

struct ash_local {
    level *levels; /* the innermost last */
    size_t depth, capacity;
    ash_local_entry entry;
    char *path, *name; /* of the entry */
    bool has_store;
    struct stat store;
};

static int is_name(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* alphasort() would ask the locale. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int enter(ash_local *l, const char *path, const char *name, ash_error *err)
{
    level v = {.at = 0};
    v.count = scandir(path, &v.names, is_name, by_bytes);
    if (v.count < 0)
        return ash__fail_errno(err, errno, "cannot read folder %s", path);
    v.path = ash__strdup(path);
    v.name = ash__strdup(name);
    l->levels = ash__grow_array(l->levels, l->depth, &l->capacity, sizeof *l->levels);
    l->levels[l->depth++] = v;
    return 0;
}

static void leave(ash_local *l)
{
    level *v = &l->levels[--l->depth];
    for (int i = 0; i < v->count; i++)
        free(v->names[i]); /* of scandir() */
    free(v->names);
    ash__free(v->path);
    ash__free(v->name);
}

int ash__local_open(const char *root, const char *store, ash_local **out, ash_error *err)
{
    struct stat st;
    ash_local *l = ash__new(ash_local);
    *out = l;
    l->has_store = store != NULL && stat(store, &l->store) == 0;
    if (stat(root, &st) != 0 && errno == ENOENT)
        return 0;
    int rc = enter(l, root, "", err);
    if (rc != 0) {
        ash__local_free(l);
        *out = NULL;
    }
    return rc;
}

/* Fills the entry for a name in the innermost folder; false: it has gone meanwhile. */
static bool look(ash_local *l)
{
    level *v = &l->levels[l->depth - 1];
    const char *name = v->names[v->at++]->d_name;
    ash_local_entry *e = &l->entry;
    ash__free(l->path);
    ash__free(l->name);
    l->path = ash__path_join(v->path, name);
    l->name = v->name[0] != 0 ? ash__path_join(v->name, name) : ash__strdup(name);
    *e = (ash_local_entry){.path = l->path, .name = l->name, .err = ASH_ERROR_INIT};
    if (lstat(l->path, &e->st) != 0) {
        e->kind = ASH_LOCAL_FAILED;
        return ash__fail_errno(&e->err, errno, "cannot read %s", l->path) != ASH_ENOTFOUND;
    }
    if (!S_ISDIR(e->st.st_mode))
        e->kind = S_ISREG(e->st.st_mode) ? ASH_LOCAL_FILE : ASH_LOCAL_OTHER;
    else if (l->has_store && e->st.st_dev == l->store.st_dev && e->st.st_ino == l->store.st_ino)
        e->kind = ASH_LOCAL_STORE;
    else
        e->kind = enter(l, l->path, l->name, &e->err) == 0 ? ASH_LOCAL_FOLDER : ASH_LOCAL_FAILED;
    return true;
}

const ash_local_entry *ash__local_next(ash_local *l)
{
    while (l->depth > 0) {
        const level *v = &l->levels[l->depth - 1];
        if (v->at == v->count)
            leave(l);
        else if (look(l))
            return &l->entry;
    }
    return NULL;
}

void ash__local_free(ash_local *l)
{
    if (l == NULL)
        return;
    while (l->depth > 0)
        leave(l);
    ash__free(l->levels);
    ash__free(l->path);
    ash__free(l->name);
    ash__free(l);
}

int64_t ash__local_time_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

const char *ash__local_kind_name(const struct stat *st)
{
    return S_ISLNK(st->st_mode)                           ? "a symbolic link"
           : S_ISFIFO(st->st_mode)                        ? "a pipe"
           : S_ISSOCK(st->st_mode)                        ? "a socket"
           : S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? "a device"
                                                          : "no regular file";
}
