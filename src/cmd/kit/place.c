/* SPDX-License-Identifier: Apache-2.0 */
/* The file grows under a temporary name in the folder it goes into, held by a descriptor: what is
 * renamed meanwhile cannot lead it elsewhere. */
#include "cmd/kit/place.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ash_place {
    int folder_fd; /* of the folder the file goes into; -1: fd is what was there already */
    int fd;
    char *name;
    char temp[64];
    bool finished;
};

static ash_place *new_place(int folder_fd, const char *name)
{
    ash_place *p = ash__new(ash_place);
    p->folder_fd = folder_fd;
    p->fd = -1;
    p->name = ash__strdup(name);
    return p;
}

static int check_kind(const ash_place *p, mode_t mode, ash_error *err)
{
    if (S_ISDIR(mode))
        return ash__fail(err, ASH_EEXISTS, "there is a folder called %s", p->name);
    if (!S_ISREG(mode) && !S_ISLNK(mode))
        return ash__fail(err, ASH_EEXISTS, "%s is in the way: it is a device, a pipe or a socket",
                         p->name);
    return 0;
}

/* Who was not to read the old file is not to read the new one either, not even while it grows. */
static int open_temp(ash_place *p, ash_error *err)
{
    uint8_t random[8];
    char hex[2 * sizeof random + 1];
    struct stat st;
    bool there = fstatat(p->folder_fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int rc = there ? check_kind(p, st.st_mode, err) : 0;
    bool has_mode = there && S_ISREG(st.st_mode);
    mode_t mode = has_mode ? st.st_mode & 0777 : 0666;
    if (rc != 0)
        return rc;
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, hex);
    snprintf(p->temp, sizeof p->temp, ".ashlar-%s", hex);
    p->fd =
        openat(p->folder_fd, p->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (p->fd < 0)
        return ash__fail_errno(err, errno, "cannot write beside %s", p->name);
    /* open() has taken the umask off. */
    if (has_mode && fchmod(p->fd, mode) != 0)
        return ash__fail_errno(err, errno, "cannot give %s the mode it had", p->name);
    return 0;
}

static int finish_open(ash_place *p, ash_place **out, ash_error *err)
{
    int rc = open_temp(p, err);
    if (rc != 0) {
        ash__place_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

/* What the last link leads to, whether it is there or not; the caller frees. */
static char *follow(const char *path, ash_error *err)
{
    enum { LINKS_MAX = 40 };
    char target[4096];
    char *at = ash__strdup(path);
    for (int links = 0; links < LINKS_MAX; links++) {
        ssize_t len = readlink(at, target, sizeof target - 1);
        if (len < 0)
            return at; /* no link, or nothing */
        target[len] = 0;
        const char *slash = target[0] != '/' ? strrchr(at, '/') : NULL;
        char *next = slash != NULL ? ash__sprintf("%.*s/%s", (int)(slash - at), at, target)
                                   : ash__strdup(target);
        ash__free(at);
        at = next;
    }
    ash__free(at);
    ash__fail(err, ASH_EACCES, "%s is a link that leads to itself", path);
    return NULL;
}

/* Devices and pipes take the bytes; nobody wants a file in their place. */
static int open_special(const char *path, ash_place **out, ash_error *err)
{
    int fd;
    do
        fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC); /* waits for a pipe's reader */
    while (fd < 0 && errno == EINTR && !ash__cmd_is_interrupted());
    if (fd < 0 && errno == EINTR)
        return ash__cmd_check_interrupted(err);
    if (fd < 0)
        return ash__fail_errno(err, errno, "cannot write to %s, which is no regular file", path);
    *out = new_place(-1, path);
    (*out)->fd = fd;
    return 0;
}

static int open_beside(const char *path, ash_place **out, ash_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? ash__strdup(".")
                                 : ash__strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int reason = errno;
    int rc = fd < 0 ? ash__fail_errno(err, reason, "cannot open folder %s", folder) : 0;
    ash__free(folder);
    if (rc != 0)
        return rc;
    return finish_open(new_place(fd, slash != NULL ? slash + 1 : path), out, err);
}

int ash__place_open(const char *path, ash_place **out, ash_error *err)
{
    struct stat st;
    *out = NULL;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return open_special(path, out, err);
    char *end = follow(path, err);
    int rc = end != NULL ? open_beside(end, out, err) : err->code;
    ash__free(end);
    return rc;
}

/* The next folder down, made if it is missing; closes fd. */
static int step_down(int fd, const char *part, ash_error *err)
{
    int next = -1;
    /* Made first and then opened, without a look in between: whatever is there, O_NOFOLLOW decides.
     */
    if (mkdirat(fd, part, 0777) == 0 || errno == EEXIST)
        next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int reason = errno;
    close(fd);
    if (next < 0 && (reason == ELOOP || reason == ENOTDIR))
        return ash__fail(err, ASH_EACCES, "%s is in the way: it is a link, or not a folder", part);
    if (next < 0)
        return ash__fail_errno(err, reason, "cannot make folder %s", part);
    return next;
}

static bool is_plain(const char *part, size_t len)
{
    return len > 0 && !(len == 1 && part[0] == '.') &&
           !(len == 2 && part[0] == '.' && part[1] == '.');
}

int ash__place_open_below(int root_fd, const char *name, ash_place **out, ash_error *err)
{
    *out = NULL;
    /* A descriptor of our own, since each step closes the one before. */
    int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ash__fail_errno(err, errno, "cannot open the target folder");
    for (;;) {
        const char *slash = strchr(name, '/');
        size_t len = slash != NULL ? (size_t)(slash - name) : strlen(name);
        if (!is_plain(name, len)) {
            close(fd);
            return ash__fail(err, ASH_EACCES, "the name would lead out of the target folder");
        }
        if (slash == NULL)
            break;
        char *part = ash__strndup(name, len);
        fd = step_down(fd, part, err);
        ash__free(part);
        if (fd < 0)
            return fd;
        name = slash + 1;
        if (*name == 0) { /* "folder/": an empty folder */
            close(fd);
            return 0;
        }
    }
    return finish_open(new_place(fd, name), out, err);
}

int ash__place_write(void *place, const void *data, size_t len, ash_error *err)
{
    ash_place *p = place;
    const uint8_t *at = data;
    while (len > 0) {
        ssize_t put = write(p->fd, at, len);
        /* Before the check, which may change it. */
        int reason = errno;
        int stopped = ash__cmd_check_interrupted(err);
        if (stopped != 0)
            return stopped; /* nobody may ever read what a pipe has */
        if (put < 0 && reason == EINTR)
            continue;
        if (put < 0)
            return ash__fail_errno(err, reason, "cannot write %s", p->name);
        at += put;
        len -= (size_t)put;
    }
    return 0;
}

int ash__place_preserve(ash_place *p, const ash_preserved *kept, ash_error *err)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = 0}};
    int64_t second = kept->mtime_ms / 1000, rest = kept->mtime_ms % 1000;
    /* Written to, not made. */
    if (p->folder_fd < 0)
        return 0;
    if (kept->has_mode && fchmod(p->fd, kept->mode) != 0)
        return ash__fail_errno(err, errno, "cannot give %s its mode", p->name);
    /* Before 1970 the remainder is negative, which tv_nsec must not be. */
    times[1].tv_sec = (time_t)(rest < 0 ? second - 1 : second);
    times[1].tv_nsec = (long)(rest < 0 ? rest + 1000 : rest) * 1000000;
    if (kept->has_mtime && futimens(p->fd, times) != 0)
        return ash__fail_errno(err, errno, "cannot give %s its time", p->name);
    return 0;
}

int ash__place_finish(ash_place *p, ash_error *err)
{
    int fd = p->fd;
    /* close() gives the descriptor back also when it fails. */
    p->fd = -1;
    /* Some file systems tell of a full disk only now.  Not synced: as with cp, the source is still
     * there. */
    if (close(fd) != 0)
        return ash__fail_errno(err, errno, "cannot write %s", p->name);
    if (p->folder_fd >= 0 && renameat(p->folder_fd, p->temp, p->folder_fd, p->name) != 0)
        return ash__fail_errno(err, errno, "cannot make %s", p->name);
    p->finished = true;
    return 0;
}

void ash__place_free(ash_place *p)
{
    if (p == NULL)
        return;
    if (p->fd >= 0)
        close(p->fd);
    /* What was begun and not finished goes away. */
    if (!p->finished && p->temp[0] != 0)
        unlinkat(p->folder_fd, p->temp, 0);
    if (p->folder_fd >= 0)
        close(p->folder_fd);
    ash__free(p->name);
    ash__free(p);
}
