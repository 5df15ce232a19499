/* SPDX-License-Identifier: Apache-2.0 */
/* A token's file is found by a hash of all that makes the upload the same one, locked while it is
 * used, and removed when there is nothing to come back to. */
#include "cmd/kit/pending.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { FORGET_AFTER_S = 7 * 24 * 3600, TOKEN_MAX = 256 };

struct ash_pending {
    const ash_cmd *cmd;
    char *path;
    int fd;      /* locked */
    char *token; /* in the file; NULL: none */
};

static char *state_folder(ash_error *err)
{
    const char *state = getenv("XDG_STATE_HOME");
    if (state != NULL && state[0] == '/')
        return ash__path_join(state, "ashlar/uploads");
    char *home = ash__cmd_home();
    char *folder = home != NULL ? ash__path_join(home, ".local/state/ashlar/uploads") : NULL;
    if (home == NULL)
        ash__fail(err, ASH_EINVAL,
                  "there is no home folder to remember the upload in: set XDG_STATE_HOME or HOME");
    ash__free(home);
    return folder;
}

/* Whoever resumes looks: no other command comes by here. */
static void prune(const char *folder)
{
    int64_t oldest = ash__clock_wall_ms() / 1000 - FORGET_AFTER_S;
    DIR *dir = opendir(folder);
    struct stat st;
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *path = ash__path_join(folder, entry->d_name);
        /* Ours have such names; whatever else lies there is left alone. */
        if (strlen(entry->d_name) == 32 && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            st.st_mtime < oldest)
            unlink(path);
        ash__free(path);
    }
    closedir(dir);
}

/* Each text with its end, so that no two lists of texts give the same bytes. */
static void add_text(ash_buffer *key, const char *text)
{
    ash__buffer_append(key, text != NULL ? text : "", text != NULL ? strlen(text) + 1 : 1);
}

static void add_path(ash_buffer *key, const char *path)
{
    char *real = realpath(path, NULL);
    add_text(key, real != NULL ? real : path);
    free(real);
}

/* Where the token of this upload is kept; the caller frees.  NULL with err filled when the place
 * cannot be made. */
static char *path_of(const ash_cmd *cmd, const ash_local_file *local, const char *settings,
                     ash_error *err)
{
    const struct stat *st = &local->st;
    ash_buffer key = ASH_BUFFER_INIT;
    uint8_t hash[16];
    char hex[2 * sizeof hash + 1];
    char *folder = state_folder(err);
    char *store = ash__cmd_store_uri(cmd), *store_folder = ash__cmd_store_folder(cmd);
    char *path = NULL;
    /* By its real path: the same folder may be typed in many ways. */
    if (store_folder != NULL)
        add_path(&key, store_folder);
    else
        add_text(&key, store);
    add_text(&key, cmd->db);
    add_text(&key, cmd->bucket);
    add_text(&key, local->name);
    add_text(&key, settings);
    /* A file that was written to since has another time: another upload. */
    add_path(&key, local->path);
    ash__buffer_printf(&key, "%" PRId64 " %" PRId64 ".%09ld", (int64_t)st->st_size,
                       (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
    ash__checksum128(key.data, key.len, hash);
    ash__hex(hash, sizeof hash, hex);
    if (folder != NULL && ash__dir_make(folder, err) == 0) {
        prune(folder);
        path = ash__path_join(folder, hex);
    }
    ash__buffer_release(&key);
    ash__free(store);
    ash__free(store_folder);
    ash__free(folder);
    return path;
}

/* The token's file, open and locked.  Its holder may have removed it meanwhile: then the lock is on
 * a file that nobody else will find, and *gone. */
static int open_locked(const char *path, int *fd, bool *gone, ash_error *err)
{
    struct stat mine, there;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0)
        return ash__fail_errno(err, errno, "cannot open %s", path);
    /* A file system without locks has none to be asked for; the store's side holds all the same. */
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(*fd);
        return ash__fail(err, ASH_ELOCKED,
                         "another put --resume of the same file and name is running");
    }
    *gone = fstat(*fd, &mine) != 0 || stat(path, &there) != 0 || mine.st_ino != there.st_ino ||
            mine.st_dev != there.st_dev;
    if (*gone)
        close(*fd);
    return 0;
}

/* NULL when there is none. */
static char *load_token(int fd)
{
    char text[TOKEN_MAX + 1];
    ssize_t got = pread(fd, text, TOKEN_MAX, 0);
    text[got > 0 ? got : 0] = 0;
    size_t len = strcspn(text, "\n");
    return len > 0 ? ash__strndup(text, len) : NULL;
}

int ash__pending_open(const ash_cmd *cmd, const ash_local_file *local, const char *settings,
                      ash_pending **out, ash_error *err)
{
    bool gone = true;
    int fd = -1, rc = 0;
    char *path = path_of(cmd, local, settings, err);
    if (path == NULL)
        return err->code;
    /* Each turn means that another upload has just ended. */
    while (rc == 0 && gone)
        rc = open_locked(path, &fd, &gone, err);
    if (rc != 0) {
        ash__free(path);
        return rc;
    }
    *out = ash__new(ash_pending);
    /* Read under the lock: it is the last run's. */
    **out = (ash_pending){.cmd = cmd, .path = path, .fd = fd, .token = load_token(fd)};
    return 0;
}

bool ash__pending_known(const ash_pending *p)
{
    return p->token != NULL;
}

int ash__pending_reopen(ash_pending *p, ash_bucket *bucket, int fd, ash_progress *progress,
                        ash_upload **out, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    if (p->token == NULL)
        return 0;
    int rc = ash_bucket_resume_upload(bucket, p->token, out, &own);
    if (rc == ASH_ENOTFOUND) {
        ash__progress_clear(progress);
        ash__cmd_say(p->cmd, "the upload begun earlier has expired or was deleted: starting anew");
        return 0;
    }
    if (rc != 0)
        return ash__fail(err, own.code, "cannot go on with the upload: %s", own.text);
    int64_t position = ash_upload_position(*out);
    /* The store has all before it for certain, so the rest is read and no more. */
    if (lseek(fd, position, SEEK_SET) != position)
        return ash__fail_errno(err, errno, "cannot go on at byte %" PRId64, position);
    ash__progress_add(progress, position, 0, NULL);
    ash__progress_clear(progress);
    ash__cmd_say(p->cmd, "resuming at byte %" PRId64, position);
    return 0;
}

/* In place, for the lock is on this very file. */
int ash__pending_save(ash_pending *p, const char *token, ash_error *err)
{
    char *line = ash__sprintf("%s\n", token);
    int rc = 0;
    if (ftruncate(p->fd, 0) != 0)
        rc = ash__fail_errno(err, errno, "cannot write %s", p->path);
    if (rc == 0)
        rc = ash__file_write(p->fd, line, strlen(line), 0, err);
    if (rc == 0)
        rc = ash__file_sync(p->fd, err);
    ash__free(line);
    ash__free(p->token);
    p->token = rc == 0 ? ash__strdup(token) : NULL;
    return rc;
}

void ash__pending_forget(ash_pending *p)
{
    ash__free(p->token);
    p->token = NULL;
}

void ash__pending_free(ash_pending *p)
{
    if (p == NULL)
        return;
    if (p->token == NULL)
        unlink(p->path); /* before the lock goes */
    close(p->fd);
    ash__free(p->token);
    ash__free(p->path);
    ash__free(p);
}
