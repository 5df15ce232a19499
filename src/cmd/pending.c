/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/pending.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORGET_AFTER_S = 7 * 24 * 3600, TOKEN_MAX = 256 };

static bool is_absolute(const char *path)
{
    return path != NULL && path[0] == '/';
}

static char *state_folder(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (is_absolute(state))
        return ash__path_join(state, "ashlar/uploads");
    return ash__path_join(is_absolute(home) ? home : ".", ".local/state/ashlar/uploads");
}

static void prune(const char *folder)
{
    int64_t oldest = ash__clock_wall_ms() / 1000 - FORGET_AFTER_S;
    DIR *dir = opendir(folder);
    struct stat st;
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *path = ash__path_join(folder, entry->d_name);
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

char *ash__pending_path(const ash_cmd *cmd, const char *name, const char *settings,
                        const char *local, const struct stat *st, ash_error *err)
{
    ash_buffer key = ASH_BUFFER_INIT;
    uint8_t hash[16];
    char hex[2 * sizeof hash + 1];
    char *folder = state_folder();
    char *store = ash__cmd_store_uri(cmd), *store_folder = ash__cmd_store_folder(cmd);
    char *path = NULL;
    if (store_folder != NULL)
        add_path(&key, store_folder);
    else
        add_text(&key, store);
    add_text(&key, cmd->db);
    add_text(&key, cmd->bucket);
    add_text(&key, name);
    add_text(&key, settings);
    add_path(&key, local);
    ash__buffer_printf(&key, "%" PRId64 " %" PRId64 ".%09ld", (int64_t)st->st_size,
                       (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
    ash__checksum128(key.data, key.len, hash);
    ash__hex(hash, sizeof hash, hex);
    if (ash__dir_make(folder, err) == 0) {
        prune(folder);
        path = ash__path_join(folder, hex);
    }
    ash__buffer_release(&key);
    ash__free(store);
    ash__free(store_folder);
    ash__free(folder);
    return path;
}

/* The caller frees; NULL when there is none. */
static char *load_token(const char *path)
{
    uint8_t *data = NULL;
    size_t len = 0;
    if (ash__file_load(path, TOKEN_MAX, &data, &len, NULL) != 0)
        return NULL;
    char *token = ash__strndup((const char *)data, strcspn((const char *)data, "\n"));
    ash__free(data);
    return token;
}

int ash__pending_reopen(const char *path, const ash_cmd *cmd, ash_bucket *bucket, int fd,
                        ash_progress *progress, ash_upload **out, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    char *token = load_token(path);
    if (token == NULL)
        return 0;
    int result = ash_bucket_resume_upload(bucket, token, out, &own);
    ash__free(token);
    if (result == ASH_ENOTFOUND) {
        ash__pending_forget(path);
        ash__progress_clear(progress);
        ash__cmd_say(cmd, "the upload begun earlier has expired or was deleted: starting anew");
        return 0;
    }
    if (result != 0)
        return ash__fail(err, own.code, "cannot go on with the upload: %s", own.text);
    int64_t position = ash_upload_position(*out);
    if (lseek(fd, position, SEEK_SET) != position)
        return ash__fail_errno(err, errno, "cannot go on at byte %" PRId64, position);
    ash__progress_add(progress, position, 0, NULL);
    ash__progress_clear(progress);
    ash__cmd_say(cmd, "going on at byte %" PRId64, position);
    return 0;
}

int ash__pending_save(const char *path, const char *token, ash_error *err)
{
    char *line = ash__sprintf("%s\n", token);
    int result = ash__file_replace(path, line, strlen(line), err);
    ash__free(line);
    return result;
}

void ash__pending_forget(const char *path)
{
    unlink(path);
}
