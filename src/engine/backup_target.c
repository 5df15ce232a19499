/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/backup.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_AT = 16, ID_BYTES = 16 };

static char *target_path(const ash_backup *b, const char *name)
{
    return ash__path_join(b->folder, name);
}

static int remove_file(const ash_backup *b, const char *name, ash_error *err)
{
    char *path = target_path(b, name);
    int result = 0;
    if (ash__io()->unlink(path) != 0 && errno != ENOENT)
        result = ash__fail_errno(err, errno, "cannot remove %s", path);
    ash__free(path);
    return result;
}

/* Neither the store itself nor a folder in it. */
static int check_apart(const ash_backup *b, ash_error *err)
{
    char *from = realpath(b->engine->folder, NULL), *to = realpath(b->folder, NULL);
    int result = 0;
    size_t len = from != NULL ? strlen(from) : 0;
    if (from == NULL || to == NULL)
        result = ash__fail_errno(err, errno, "cannot find folder %s", b->folder);
    else if (strncmp(from, to, len) == 0 && (to[len] == 0 || to[len] == '/'))
        result = ash__fail(err, ASH_EINVAL, "%s lies in the store that is to be copied", b->folder);
    if (result == ASH_EINVAL)
        rmdir(b->folder); /* made a moment ago, or else it has something in it */
    free(from);
    free(to);
    return result;
}

static int lock_target(ash_backup *b, ash_error *err)
{
    char *path = target_path(b, "lock");
    int result = ash__file_open(path, O_RDWR | O_CREAT, &b->lock_fd, err);
    ash__free(path);
    if (result == 0 && flock(b->lock_fd, LOCK_EX | LOCK_NB) != 0)
        result = ash__fail(err, ASH_EBUSY, "%s is in use", b->folder);
    return result;
}

/* Whatever names a store in the target has to name this one.  *found: the file is there. */
static int check_id(const ash_backup *b, const char *name, size_t at, bool *found, ash_error *err)
{
    uint8_t *data = NULL;
    size_t len = 0;
    ash_error own = ASH_ERROR_INIT;
    char *path = target_path(b, name);
    int result = ash__file_load(path, ASH_SUPERBLOCK_BYTES, &data, &len, &own);
    *found = result != ASH_ENOTFOUND;
    if (result == ASH_ENOTFOUND)
        result = 0;
    else if (result == 0 &&
             (len < at + ID_BYTES || memcmp(data + at, b->engine->store_id, ID_BYTES) != 0))
        result = ash__fail(err, ASH_EEXISTS, "%s holds another store", b->folder);
    else if (result != 0)
        result = ash__fail(err, own.code, "%s", own.text);
    ash__free(data);
    ash__free(path);
    return result;
}

static int check_vacant(const ash_backup *b, ash_error *err)
{
    int result = 0;
    DIR *dir = opendir(b->folder);
    if (dir == NULL)
        return ash__fail_errno(err, errno, "cannot read folder %s", b->folder);
    for (struct dirent *entry; result == 0 && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        /* The last of them is left when marking the folder failed. */
        if (name[0] != '.' && strcmp(name, "lock") != 0 &&
            strcmp(name, ASH_BACKUP_MARK ".new") != 0 && strcmp(name, "segments") != 0 &&
            strcmp(name, "lost+found") != 0)
            result = ash__fail(err, ASH_EEXISTS, "%s is no backup of this store, and not empty: %s",
                               b->folder, name);
    }
    closedir(dir);
    return result;
}

static int set_mark(const ash_backup *b, ash_error *err)
{
    char *path = target_path(b, ASH_BACKUP_MARK);
    int result = ash__file_replace(path, b->engine->store_id, ID_BYTES, err);
    ash__free(path);
    return result;
}

int ash__backup_open_target(ash_backup *b, ash_error *err)
{
    bool is_store = false, is_marked = false;
    int result = ash__dir_make(b->folder, err);
    if (result == 0)
        result = check_apart(b, err);
    if (result == 0)
        result = check_id(b, "ashlar.store", ID_AT, &is_store, err);
    if (result == 0)
        result = check_id(b, ASH_BACKUP_MARK, 0, &is_marked, err);
    if (result == 0 && !is_store && !is_marked)
        result = check_vacant(b, err);
    if (result == 0)
        result = lock_target(b, err);
    if (result == 0)
        result = ash__dir_make(b->segments, err);
    b->trusts = is_store && !is_marked;
    if (result == 0)
        result = set_mark(b, err);
    if (result == 0)
        result = remove_file(b, "ashlar.store", err);
    /* Of a store that was in use here; the copy is of one moment, and has none. */
    if (result == 0)
        result = remove_file(b, "journal", err);
    /* Of a backup that an earlier version did not finish. */
    if (result == 0)
        result = remove_file(b, "meta.mdb.new", err);
    return result == 0 ? ash__dir_sync(b->folder, err) : result;
}

/* A superblock that promises no journal. */
static void set_plain(uint8_t *block, size_t len)
{
    size_t sum_at = ASH_SUPERBLOCK_BYTES - ASH_SUM_BYTES;
    if (len != ASH_SUPERBLOCK_BYTES)
        return;
    ash__put_le32(block + 8, ASH_FORMAT_PLAIN);
    ash__put_le64(block + sum_at, ash__checksum(block, sum_at));
}

/* The superblock goes last, when everything that it stands for is on disk. */
int ash__backup_finish_target(ash_backup *b, ash_error *err)
{
    uint8_t *block = NULL;
    size_t len = 0;
    char *source = ash__path_join(b->engine->folder, "ashlar.store");
    char *target = target_path(b, "ashlar.store");
    int result = ash__dir_sync(b->segments, err);
    if (result == 0)
        result = remove_file(b, "meta.mdb-lock", err);
    if (result == 0)
        result = ash__dir_sync(b->folder, err);
    if (result == 0)
        result = ash__file_load(source, ASH_SUPERBLOCK_BYTES, &block, &len, err);
    if (result == 0)
        set_plain(block, len);
    if (result == 0)
        result = ash__file_replace(target, block, len, err);
    /* Whoever verifies the copy needs the lock. */
    ash__file_close(b->lock_fd);
    b->lock_fd = -1;
    ash__free(block);
    ash__free(target);
    ash__free(source);
    return result;
}

int ash__backup_end_mark(ash_backup *b, ash_error *err)
{
    int result = remove_file(b, ASH_BACKUP_MARK, err);
    return result == 0 ? ash__dir_sync(b->folder, err) : result;
}

void ash__backup_spoil_target(ash_backup *b)
{
    remove_file(b, "ashlar.store", NULL);
    ash__dir_sync(b->folder, NULL);
}
