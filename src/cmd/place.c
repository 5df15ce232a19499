/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/place.h"

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
    int folder_fd; /* of the folder the file goes into */
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

static int open_temp(ash_place *p, ash_error *err)
{
    uint8_t random[8];
    char hex[2 * sizeof random + 1];
    struct stat st;
    if (fstatat(p->folder_fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return ash__fail(err, ASH_EEXISTS, "there is a folder called %s", p->name);
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, hex);
    snprintf(p->temp, sizeof p->temp, ".ashlar-%s", hex);
    p->fd =
        openat(p->folder_fd, p->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->fd < 0)
        return ash__fail_errno(err, errno, "cannot write beside %s", p->name);
    return 0;
}

static int finish_open(ash_place *p, ash_place **out, ash_error *err)
{
    int result = open_temp(p, err);
    if (result != 0) {
        ash__place_free(p);
        return result;
    }
    *out = p;
    return 0;
}

int ash__place_open(const char *path, ash_place **out, ash_error *err)
{
    *out = NULL;
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? ash__strdup(".")
                                 : ash__strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int reason = errno;
    int result = fd < 0 ? ash__fail_errno(err, reason, "cannot open folder %s", folder) : 0;
    ash__free(folder);
    if (result != 0)
        return result;
    return finish_open(new_place(fd, slash != NULL ? slash + 1 : path), out, err);
}

/* The next folder down, made if it is missing; closes fd. */
static int step_down(int fd, const char *part, ash_error *err)
{
    int next = -1;
    if (mkdirat(fd, part, 0777) == 0 || errno == EEXIST)
        next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int reason = errno;
    close(fd);
    if (next < 0 && (reason == ELOOP || reason == ENOTDIR))
        return ash__fail(err, ASH_EACCES, "%s is in the way: it is a link or no folder", part);
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
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return ash__fail_errno(err, errno, "cannot write %s", p->name);
        at += put;
        len -= (size_t)put;
    }
    return 0;
}

int ash__place_finish(ash_place *p, ash_error *err)
{
    int fd = p->fd;
    p->fd = -1;
    if (close(fd) != 0)
        return ash__fail_errno(err, errno, "cannot write %s", p->name);
    if (renameat(p->folder_fd, p->temp, p->folder_fd, p->name) != 0)
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
    if (!p->finished && p->temp[0] != 0)
        unlinkat(p->folder_fd, p->temp, 0);
    close(p->folder_fd);
    ash__free(p->name);
    ash__free(p);
}
