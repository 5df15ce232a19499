/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "http/site/shared.h"

#include <string.h>

enum {
    MAX_NAME = 1000,  /* a tree's names have 1,024 bytes, and a number needs some */
    MAX_NUMBER = 100, /* then what is drawn takes its place */
    MAX_DRAWS = 10
};

struct ash_site_names {
    ash_mutex lock; /* guards what follows */
    char **paths;
    size_t count, room;
};

ash_site_names *ash__site_names_new(void)
{
    ash_site_names *n = ash__new(ash_site_names);
    ash__mutex_init(&n->lock, ASH_RANK_BUCKET);
    return n;
}

void ash__site_names_free(ash_site_names *n)
{
    if (n == NULL)
        return;
    ash_assert(n->count == 0);
    ash__mutex_release(&n->lock);
    ash__free(n->paths);
    ash__free(n);
}

static size_t find(const ash_site_names *n, const char *path)
{
    size_t i = 0;
    ash__mutex_assert_held(&n->lock);
    while (i < n->count && strcmp(n->paths[i], path) != 0)
        i++;
    return i;
}

/* Trees that are shown side by side have the same paths: then a number comes too early. */
static bool reserve(ash_site_names *n, char *path)
{
    ash__mutex_lock(&n->lock);
    bool is_free = find(n, path) == n->count;
    if (is_free)
        n->paths = ash__grow_array(n->paths, n->count, &n->room, sizeof *n->paths);
    if (is_free)
        n->paths[n->count++] = path;
    ash__mutex_unlock(&n->lock);
    return is_free;
}

void ash__site_name_leave(ash_site_names *n, char *path)
{
    if (path == NULL)
        return;
    ash__mutex_lock(&n->lock);
    size_t i = find(n, path);
    if (i < n->count)
        n->paths[i] = n->paths[--n->count];
    ash__mutex_unlock(&n->lock);
    ash__free(path);
}

/* "a.txt", "a (2).txt", … */
static char *nth(const char *folder, const char *name, int n)
{
    const char *dot = strrchr(name, '.');
    size_t stem = dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
    uint8_t random[4];
    char hex[9];
    if (n == 1)
        return ash__sprintf("%s/%s", folder, name);
    if (n <= MAX_NUMBER)
        return ash__sprintf("%s/%.*s (%d)%s", folder, (int)stem, name, n, name + stem);
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, hex);
    return ash__sprintf("%s/%.*s (%s)%s", folder, (int)stem, name, hex, name + stem);
}

/* Of the tree's top, the reserved name would be hidden. */
/* Strangers' names are stricter than the owner's: nothing that a terminal obeys, and no '\\', which some
 * unpack as a folder's. */
static bool is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '\\')
            return false;
    return len > 0 && len <= MAX_NAME && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0 && strcmp(name, &ASH_SITE_RESERVED[1]) != 0;
}

int ash__site_name_take(ash_site_names *names, const ash_shared *s, const char *name, char **path,
                        ash_error *err)
{
    const char *top = ash_tree_entry_path(s->top);
    int rc = is_good(name) ? 0 : ash__fail(err, ASH_EINVAL, "no file can be called so");
    *path = NULL;
    for (int n = 1; rc == 0 && *path == NULL && n <= MAX_NUMBER + MAX_DRAWS; n++) {
        ash_tree_entry *e = NULL;
        char *at = nth(strcmp(top, "/") == 0 ? "" : top, name, n);
        rc = ash__dav_lookup(s->mount->dav, NULL, at, &e, err);
        if (rc == 0 && e == NULL && reserve(names, at))
            *path = at;
        else
            ash__free(at);
        ash_tree_entry_free(e);
    }
    if (rc == 0 && *path == NULL)
        rc = ash__fail(err, ASH_EBUSY, "no name was free");
    return rc;
}
