/* SPDX-License-Identifier: Apache-2.0 */
/* Two folders change their names.  Every step is a rename, so that a crash leaves whole folders
 * under names that say what happened. */

#include "store/embedded/salvage/swap.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define DAMAGED  ".damaged-"
#define REPAIRED ".repaired-"

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static char *beside(const char *folder, const char *word, const char *tail)
{
    return ash__sprintf("%s%s%s", folder, word, tail);
}

static bool is_free(const char *folder, const char *word, const char *tail)
{
    char *path = beside(folder, word, tail);
    bool there = is_there(path);
    ash__free(path);
    return !there;
}

char *ash__swap_tail(const char *folder)
{
    char date[32];
    struct tm tm;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm);
    char *tail = ash__strdup(date);
    for (int n = 2; !is_free(folder, DAMAGED, tail) || !is_free(folder, REPAIRED, tail); n++) {
        ash__free(tail);
        tail = ash__sprintf("%s-%d", date, n);
    }
    return tail;
}

static int move(const char *from, const char *to, ash_error *err)
{
    if (is_there(to))
        return ash__fail(err, ASH_EEXISTS, "%s exists already", to);
    if (ash__io()->rename(from, to) != 0)
        return ash__fail_errno(err, errno, "cannot rename %s to %s", from, to);
    return 0;
}

/* The two have changed places: what lies where the fresh one lay is the damaged one. */
static int set_aside(const char *folder, const char *fresh, const char *aside, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    int rc = move(fresh, aside, &why);
    if (rc == 0)
        return 0;
    /* Back again: the caller is promised that after an error both are where they were. */
    if (ash__io()->exchange(folder, fresh) == 0) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    return ash__fail(err, rc, "%s is the repaired store and %s the damaged one: %s", folder, fresh,
                     why.text);
}

/* The fresh one waits under the name that an unfinished swap is known by. */
static int by_renames(const char *folder, const char *fresh, const char *tail, const char *aside,
                      ash_error *err)
{
    char *waiting = beside(folder, REPAIRED, tail);
    bool elsewhere = strcmp(fresh, waiting) != 0, moved = false;
    int rc = elsewhere ? move(fresh, waiting, err) : 0;
    if (rc == 0) {
        moved = elsewhere;
        rc = move(folder, aside, err);
    }
    if (rc == 0) {
        rc = move(waiting, folder, err);
        if (rc != 0)
            move(aside, folder, NULL);
    }
    if (rc != 0 && moved)
        move(waiting, fresh, NULL);
    ash__free(waiting);
    return rc;
}

int ash__swap(const char *folder, const char *fresh, const char *tail, ash_error *err)
{
    char *aside = beside(folder, DAMAGED, tail);
    int rc;
    if (is_there(aside))
        rc = ash__fail(err, ASH_EEXISTS, "%s exists already", aside);
    else if (ash__io()->exchange(folder, fresh) == 0)
        rc = set_aside(folder, fresh, aside, err);
    /* The file system, or the kernel, cannot exchange two names. */
    else if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        rc = by_renames(folder, fresh, tail, aside, err);
    else
        rc = ash__fail_errno(err, errno, "cannot give %s the name %s", fresh, folder);
    ash__free(aside);
    if (rc == 0)
        /* Both parents, for the fresh one may have lain elsewhere. */
        rc = ash__parent_sync(folder, err);
    return rc == 0 ? ash__parent_sync(fresh, err) : rc;
}

/* ---- what was cut off ---- */

/* Does an entry of the parent say that folder (called name there) was being swapped?  The tail. */
static const char *tail_of(const char *folder, const char *name, const char *entry)
{
    size_t len = strlen(name);
    if (strncmp(entry, name, len) != 0 || strncmp(entry + len, DAMAGED, strlen(DAMAGED)) != 0)
        return NULL;
    const char *tail = entry + len + strlen(DAMAGED);
    return is_free(folder, REPAIRED, tail) ? NULL : tail;
}

static char *newest_tail(const char *folder, const char *parent, const char *name)
{
    char *found = NULL;
    struct dirent *entry;
    DIR *dir = opendir(parent);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *tail = tail_of(folder, name, entry->d_name);
        /* Tails begin with the date, so the last in order is the newest. */
        if (tail == NULL || (found != NULL && strcmp(tail, found) < 0))
            continue;
        ash__free(found);
        found = ash__strdup(tail);
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

char *ash__swap_unfinished(const char *folder)
{
    size_t len = strlen(folder);
    while (len > 1 && folder[len - 1] == '/')
        len--;
    char *path = ash__strndup(folder, len), *found = NULL;
    if (!is_there(path)) {
        const char *slash = strrchr(path, '/');
        char *parent =
            slash != NULL ? ash__strndup(path, (size_t)(slash - path) + 1) : ash__strdup(".");
        found = newest_tail(path, parent, slash != NULL ? slash + 1 : path);
        ash__free(parent);
    }
    ash__free(path);
    return found;
}

int ash__swap_finish(const char *folder, const char *tail, ash_error *err)
{
    char *waiting = beside(folder, REPAIRED, tail);
    int rc = move(waiting, folder, err);
    ash__free(waiting);
    return rc == 0 ? ash__parent_sync(folder, err) : rc;
}
