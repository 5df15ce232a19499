/* SPDX-License-Identifier: Apache-2.0 */
/* The target's folder: whether it may be written to, and what keeps it from being opened until
 * everything in it is right. */
#include "engine/backup/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
    int rc = 0;
    if (ash__io()->unlink(path) != 0 && errno != ENOENT)
        rc = ash__fail_errno(err, errno, "cannot remove %s", path);
    ash__free(path);
    return rc;
}

/* Neither the store itself nor a folder in it. */
static int check_apart(const ash_backup *b, ash_error *err)
{
    /* Names can differ by links and dots and mean one folder. */
    char *from = realpath(b->engine->folder, NULL), *to = realpath(b->folder, NULL);
    int rc = 0;
    size_t len = from != NULL ? strlen(from) : 0;
    if (from == NULL || to == NULL)
        rc = ash__fail_errno(err, errno, "cannot find folder %s", b->folder);
    else if (strncmp(from, to, len) == 0 && (to[len] == 0 || to[len] == '/'))
        rc = ash__fail(err, ASH_EINVAL, "%s lies in the store that is to be copied", b->folder);
    if (rc == ASH_EINVAL)
        rmdir(b->folder); /* made a moment ago, or else it has something in it */
    free(from);
    free(to);
    return rc;
}

/* Whatever names a store in the target has to name this one.  *found: the file is there. */
static int check_id(const ash_backup *b, const char *name, size_t at, bool *found, ash_error *err)
{
    uint8_t *data = NULL;
    size_t len = 0;
    ash_error own = ASH_ERROR_INIT;
    char *path = target_path(b, name);
    int rc = ash__file_load(path, ASH_SUPERBLOCK_BYTES, &data, &len, &own);
    *found = rc != ASH_ENOTFOUND;
    if (rc == ASH_ENOTFOUND)
        rc = 0;
    else if (rc == 0 &&
             (len < at + ID_BYTES || memcmp(data + at, b->engine->store_id, ID_BYTES) != 0))
        rc = ash__fail(err, ASH_EEXISTS, "%s holds another store", b->folder);
    else if (rc != 0)
        rc = ash__fail(err, own.code, "%s", own.text);
    ash__free(data);
    ash__free(path);
    return rc;
}

static int check_vacant(const ash_backup *b, ash_error *err)
{
    int rc = 0;
    DIR *dir = opendir(b->folder);
    if (dir == NULL)
        return ash__fail_errno(err, errno, "cannot read folder %s", b->folder);
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        /* The last of them is left when marking the folder failed. */
        if (name[0] != '.' && strcmp(name, "lock") != 0 &&
            strcmp(name, ASH_BACKUP_MARK ".new") != 0 && strcmp(name, "segments") != 0 &&
            strcmp(name, "lost+found") != 0)
            rc = ash__fail(err, ASH_EEXISTS, "%s is not a backup of this store, and not empty: %s",
                           b->folder, name);
    }
    closedir(dir);
    return rc;
}

static int set_mark(const ash_backup *b, ash_error *err)
{
    char *path = target_path(b, ASH_BACKUP_MARK);
    int rc = ash__file_replace(path, b->engine->store_id, ID_BYTES, err);
    ash__free(path);
    return rc;
}

/* ---- may it be written to? ---- */

int ash__backup_target_commit(const ash_backup *b, uint64_t *commit, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_pages *pages = NULL;
    char *path = target_path(b, "meta.mdb");
    int rc = ash__pages_open(path, &pages, &own);
    ash__free(path);
    *commit = rc == 0 ? ash__pages_newest(pages) : 0;
    if (rc == 0)
        ash__pages_close(pages);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* Is what was copied the last time in the past of the store as it is now? */
static int is_in_past(const ash_backup *b, bool *is, ash_error *err)
{
    ash_snapshot *snap = NULL;
    ash_doc entry = {NULL, 0};
    MDB_envinfo info;
    uint64_t oldest = 0, newest = 0, time = 0;
    bool found = false;
    ash__lmdb_env_info(b->engine->env, &info);
    /* Numbers of commits grow; a store that was set back has lower ones. */
    *is = b->last_commit <= info.me_last_txnid;
    if (!*is || b->last_log.time == 0)
        return 0;
    int rc = ash__snapshot_committed(b->engine, &snap, err);
    if (rc == 0)
        rc = ash__oplog_bounds(snap, &oldest, &newest, err);
    if (rc == 0 && oldest <= b->last_log.time) {
        rc = ash__oplog_next(snap, b->last_log.time - 1, &time, &entry, &found, err);
        *is = found && time == b->last_log.time &&
              ash__checksum(entry.data, entry.len) == b->last_log.sum;
    }
    ash__snapshot_close(snap);
    return rc;
}

static int refuse(const ash_backup *b, const char *why, ash_error *err)
{
    return ash__fail(err, ASH_EEXISTS, "%s %s would be lost; --replace allows that", b->folder,
                     why);
}

/* A copy is a store, and may have been put to use; or the store was set back to an older state.
 * One commit more than was noted may be that of a backup that was killed when all but done. */
static int check_past(ash_backup *b, bool has_state, bool is_marked, ash_error *err)
{
    uint64_t own = 0;
    bool in_past = false;
    int rc = ash__backup_target_commit(b, &own, err);
    if (rc == 0 && has_state)
        rc = is_in_past(b, &in_past, err);
    if (rc != 0)
        return rc;
    /* LMDB counts commits, so any change of the copy shows. */
    bool changed = own > b->last_own + is_marked;
    b->trusts = has_state && !is_marked && !changed && in_past;
    if (b->opts->replace)
        return 0;
    if (!has_state)
        return refuse(b, "has no ashlar.copied, as backups leave it: what only that store has",
                      err);
    if (changed)
        return refuse(b, "was changed since it was copied, and its own changes", err);
    if (!in_past)
        return refuse(b, "holds a state that is not in the past of the store as it is now, and",
                      err);
    return 0;
}

static int check_regular(const char *path, ash_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
        return 0;
    return ash__fail(err, ASH_EEXISTS, "%s is not a regular file, as a backup writes them", path);
}

/* Somebody else may have made the folder, and what is in it. */
static int check_no_link(const char *path, ash_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return 0;
    return ash__fail(err, ASH_EEXISTS, "%s is a symbolic link, and is not followed", path);
}

/* What is to be written in place. */
static int check_files(const ash_backup *b, ash_error *err)
{
    char *meta = target_path(b, "meta.mdb");
    int rc = check_regular(meta, err);
    ash__free(meta);
    if (rc == 0)
        rc = check_no_link(b->segments, err);
    if (rc != 0)
        return rc;
    DIR *dir = opendir(b->segments);
    for (struct dirent *entry; dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL;) {
        char *path = ash__path_join(b->segments, entry->d_name);
        if (entry->d_name[0] != '.')
            rc = check_regular(path, err);
        ash__free(path);
    }
    if (dir != NULL)
        closedir(dir);
    return rc;
}

/* Ours to write to; and what of it may be trusted. */
static int check_target(ash_backup *b, ash_error *err)
{
    bool is_store = false, is_marked = false, has_state = false;
    int rc = check_id(b, "ashlar.store", ID_AT, &is_store, err);
    if (rc == 0)
        rc = check_id(b, ASH_BACKUP_MARK, 0, &is_marked, err);
    if (rc == 0 && !is_store && !is_marked)
        rc = check_vacant(b, err);
    if (rc == 0)
        rc = check_files(b, err);
    if (rc != 0 || b->lock.file_fd < 0)
        return rc;
    rc = ash__backup_load_state(b, &has_state, err);
    return rc == 0 && is_store ? check_past(b, has_state, is_marked, err) : rc;
}

/* ---- from the first change to the last ---- */

/* The order matters: as long as there is a superblock, there is a whole store. */
static int begin_changes(ash_backup *b, ash_error *err)
{
    /* The journal is of a store that was in use here; the copy is of one moment, and has none.
     * meta.mdb.new is of a backup that an earlier version did not finish. */
    static const char *const old[] = {"ashlar.store", ASH_BACKUP_STATE, "journal", "meta.mdb-lock",
                                      "meta.mdb.new"};
    int rc = ash__dir_make(b->segments, err);
    if (rc == 0)
        rc = set_mark(b, err);
    for (size_t i = 0; rc == 0 && i < ASH_ARRAY_LEN(old); i++) {
        rc = remove_file(b, old[i], err);
        b->begun = b->begun || rc == 0;
    }
    return rc == 0 ? ash__dir_sync(b->folder, err) : rc;
}

int ash__backup_open_target(ash_backup *b, ash_error *err)
{
    int rc = ash__dir_make(b->folder, err);
    if (rc == 0)
        rc = check_apart(b, err);
    /* Before a lock file is made in a folder of somebody else; and when nobody else is at work. */
    if (rc == 0)
        rc = check_target(b, err);
    if (rc == 0)
        rc = ash__folder_lock_take(&b->lock, b->folder, false, 0, err);
    if (rc == 0)
        rc = check_target(b, err);
    return rc == 0 ? begin_changes(b, err) : rc;
}

int ash__backup_open_file(const char *path, int *fd, bool *fresh, ash_error *err)
{
    struct stat st;
    *fresh = false;
    int rc = ash__file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, fd, err);
    if (rc != 0 || (fstat(*fd, &st) == 0 && st.st_nlink == 1))
        return rc;
    ash__file_close(*fd);
    *fd = -1;
    *fresh = true;
    if (ash__io()->unlink(path) != 0)
        return ash__fail_errno(err, errno, "cannot replace %s", path);
    return ash__file_open(path, O_RDWR | O_CREAT | O_EXCL, fd, err);
}

/* Segments that the store gave up. */
static int remove_strays(ash_backup *b, ash_error *err)
{
    int rc = 0;
    DIR *dir = opendir(b->segments);
    if (dir == NULL)
        return ash__fail_errno(err, errno, "cannot read folder %s", b->segments);
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
        unsigned id;
        char name[16];
        if (sscanf(entry->d_name, "%8x.seg", &id) != 1)
            continue;
        snprintf(name, sizeof name, "%08x.seg", id);
        /* Only names as a store writes them: what people put there stays. */
        if (strcmp(name, entry->d_name) != 0 || (id < b->segment_count && b->list[id].now != NULL))
            continue;
        char *path = ash__path_join(b->segments, name);
        if (ash__io()->unlink(path) != 0)
            rc = ash__fail_errno(err, errno, "cannot remove %s", path);
        ash__free(path);
    }
    closedir(dir);
    return rc;
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
static int write_superblock(const ash_backup *b, ash_error *err)
{
    uint8_t *block = NULL;
    size_t len = 0;
    char *source = ash__path_join(b->engine->folder, "ashlar.store");
    char *target = target_path(b, "ashlar.store");
    int rc = ash__file_load(source, ASH_SUPERBLOCK_BYTES, &block, &len, err);
    if (rc == 0)
        set_plain(block, len);
    if (rc == 0)
        rc = ash__file_replace(target, block, len, err);
    ash__free(block);
    ash__free(target);
    ash__free(source);
    return rc;
}

int ash__backup_finish_target(ash_backup *b, ash_error *err)
{
    int rc = remove_strays(b, err);
    if (rc == 0)
        rc = ash__dir_sync(b->segments, err);
    /* Before anybody can open and change it. */
    if (rc == 0)
        rc = ash__backup_save_state(b, b->report->damaged == 0, err);
    return rc == 0 ? write_superblock(b, err) : rc;
}

int ash__backup_tidy_target(const ash_backup *b, ash_error *err)
{
    int rc = remove_file(b, "meta.mdb-lock", err);
    return rc == 0 ? remove_file(b, "reserve", err) : rc;
}

int ash__backup_end_mark(ash_backup *b, ash_error *err)
{
    int rc = remove_file(b, ASH_BACKUP_MARK, err);
    return rc == 0 ? ash__dir_sync(b->folder, err) : rc;
}

void ash__backup_spoil_target(ash_backup *b)
{
    remove_file(b, "ashlar.store", NULL);
    ash__dir_sync(b->folder, NULL);
}
