/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/internal.h"
#include "engine/format/keys.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_POLL_MS = 20, SUM_AT = ASH_SUPERBLOCK_BYTES - 8 };

static bool exists(const char *folder, const char *name)
{
    struct stat st;
    char *path = ash__path_join(folder, name);
    bool there = stat(path, &st) == 0;
    ash__free(path);
    return there;
}

/* A folder in the place of a file, or the other way round, is named before anything stumbles over
 * it.  A link is refused: the folder may have been somebody else's, and what the link names is not
 * the store's. */
static int check_kinds(const char *folder, bool must_exist, ash_error *err)
{
    static const char *const parts[] = {"ashlar.store", "lock",    "meta.mdb", "meta.mdb-lock",
                                        "journal",      "reserve", "segments"};
    struct stat st;
    int rc = 0;
    if (stat(folder, &st) != 0)
        return errno == EACCES ? ash__fail_errno(err, errno, "cannot reach folder %s", folder) : 0;
    if (!S_ISDIR(st.st_mode))
        return ash__fail(err, must_exist ? ASH_ENOTFOUND : ASH_EEXISTS,
                         "%s is a file and not the folder of a store", folder);
    for (size_t i = 0; rc == 0 && i < ASH_ARRAY_LEN(parts); i++) {
        char *path = ash__path_join(folder, parts[i]);
        bool wants_folder = strcmp(parts[i], "segments") == 0;
        if (lstat(path, &st) != 0)
            rc = errno == EACCES ? ash__fail_errno(err, errno, "cannot look into %s", folder) : 0;
        else if (S_ISLNK(st.st_mode))
            rc = ash__fail(err, ASH_EACCES, "%s is a symbolic link, and is not followed", path);
        else if (wants_folder != (S_ISDIR(st.st_mode) != 0))
            rc = ash__fail(err, ASH_ECORRUPT, "%s is a %s where a store has a %s", path,
                           wants_folder ? "file" : "folder", wants_folder ? "folder" : "file");
        ash__free(path);
    }
    return rc;
}

/* What may lie in a folder that is to become a store: the beginnings of one, and what file systems
 * and people leave about. */
static int check_vacant(const char *folder, ash_error *err)
{
    static const char *const ours[] = {"lock",     "reserve",       "segments",
                                       "meta.mdb", "meta.mdb-lock", "lost+found"};
    int rc = 0, code = exists(folder, "meta.mdb") ? ASH_ECORRUPT : ASH_EEXISTS;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return ash__fail_errno(err, errno, "cannot read folder %s", folder);
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
        bool known = entry->d_name[0] == '.' || strcmp(entry->d_name, "ashlar.store.new") == 0;
        for (size_t i = 0; i < ASH_ARRAY_LEN(ours); i++)
            known = known || strcmp(entry->d_name, ours[i]) == 0;
        if (!known)
            rc = ash__fail(err, code, "%s is not a store, and it is not empty: %s", folder,
                           entry->d_name);
    }
    closedir(dir);
    return rc;
}

int ash__superblock_write(ash_engine *e, ash_error *err)
{
    uint8_t block[ASH_SUPERBLOCK_BYTES] = {0};
    memcpy(block, ASH_SUPERBLOCK_MAGIC, 8);
    ash__put_le32(block + 8, e->version);
    memcpy(block + 16, e->store_id, 16);
    if (e->made_ms == 0)
        e->made_ms = (uint64_t)ash__clock_wall_ms();
    ash__put_le64(block + 32, e->made_ms);
    ash__put_le64(block + SUM_AT, ash__checksum(block, SUM_AT));
    char *path = ash__path_join(e->folder, "ashlar.store");
    int rc = ash__file_replace(path, block, sizeof block, err);
    ash__free(path);
    return rc;
}

struct superblock {
    uint32_t version;
    uint64_t made_ms;
    uint8_t store_id[16];
};

/* The version is looked at before the checksum: a later format may place that elsewhere. */
static int superblock_read(const ash_engine *e, struct superblock *out, ash_error *err)
{
    uint8_t *block = NULL;
    size_t len = 0;
    char *path = ash__path_join(e->folder, "ashlar.store");
    int rc = ash__file_load(path, 1 << 20, &block, &len, err);
    if (rc == ASH_ETOOBIG || (rc == 0 && (len < 16 || memcmp(block, ASH_SUPERBLOCK_MAGIC, 8) != 0)))
        rc = ash__fail(err, ASH_ECORRUPT, "%s is not an Ashlar store's superblock", path);
    if (rc == 0 && ash__get_le32(block + 8) > ASH_FORMAT_VERSION)
        rc = ash__fail(err, ASH_EVERSION,
                       "%s has format version %u, this program knows versions up to %d", e->folder,
                       (unsigned)ash__get_le32(block + 8), ASH_FORMAT_VERSION);
    if (rc == 0 && (len != ASH_SUPERBLOCK_BYTES || ash__get_le32(block + 8) == 0 ||
                    ash__get_le64(block + SUM_AT) != ash__checksum(block, SUM_AT)))
        rc = ash__fail(err, ASH_ECORRUPT, "%s is damaged", path);
    if (rc == 0) {
        out->version = ash__get_le32(block + 8);
        out->made_ms = ash__get_le64(block + 32);
        memcpy(out->store_id, block + 16, 16);
    }
    ash__free(block);
    ash__free(path);
    return rc;
}

int ash__superblock_check(ash_engine *e, ash_error *err)
{
    struct superblock there;
    int rc = superblock_read(e, &there, err);
    if (rc == 0 && memcmp(there.store_id, e->store_id, sizeof there.store_id) != 0)
        rc = ash__fail(err, ASH_ECORRUPT, "ashlar.store belongs to another store");
    return rc;
}

int ash__superblock_version(const ash_engine *e, uint32_t *version)
{
    struct superblock there;
    int rc = superblock_read(e, &there, NULL);
    if (rc == 0)
        *version = there.version;
    return rc;
}

static int superblock_take(ash_engine *e, ash_error *err)
{
    struct superblock there;
    int rc = superblock_read(e, &there, err);
    if (rc == 0) {
        e->version = there.version;
        e->made_ms = there.made_ms;
        memcpy(e->store_id, there.store_id, sizeof there.store_id);
    }
    return rc;
}

static int try_lock(ash_engine *e, int operation)
{
    int64_t deadline = ash__clock_deadline(e->opts.busy_timeout_ms);
    for (;;) {
        if (flock(e->lock_fd, operation | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return errno;
        if (deadline == 0 || ash__clock_ms() >= deadline)
            return EWOULDBLOCK;
        ash__clock_sleep_ms(LOCK_POLL_MS);
    }
}

int ash__folder_busy(const char *folder, int lock_fd, ash_error *err)
{
    char holder[24] = "";
    ssize_t len = pread(lock_fd, holder, sizeof holder - 1, 0);
    holder[len > 0 ? strcspn(holder, "\n") : 0] = 0;
    return ash__fail(err, ASH_EBUSY, "store %s is in use by process %s", folder,
                     holder[0] != 0 ? holder : "?");
}

/* The lock goes with the process, whatever ends it.  The pid in it is for people. */
static int lock_folder(ash_engine *e, ash_error *err)
{
    char pid[24];
    bool shared = e->opts.read_only;
    char *path = ash__path_join(e->folder, "lock");
    int rc =
        ash__file_open(path, (shared ? O_RDONLY : O_RDWR | O_CREAT) | O_NOFOLLOW, &e->lock_fd, err);
    ash__free(path);
    /* A copy on a medium may lack it; one that may not be read is there to be respected. */
    if (rc != 0)
        return shared && rc != ASH_EACCES ? 0 : rc;
    int reason = try_lock(e, shared ? LOCK_SH : LOCK_EX);
    if (reason == EWOULDBLOCK)
        return ash__folder_busy(e->folder, e->lock_fd, err);
    if (reason != 0)
        return ash__fail_errno(err, reason, "cannot lock store %s", e->folder);
    if (shared)
        return 0;
    int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ash__io()->ftruncate(e->lock_fd, 0) == 0)
        ash__file_write(e->lock_fd, pid, (size_t)len, 0, NULL);
    return 0;
}

/* The folder's name, and those of folders made for it, must last too.  Folders above that may not
 * be opened were there before. */
static void sync_above(const char *folder)
{
    char *path = ash__strdup(folder);
    for (char *slash = strrchr(path, '/'); slash != NULL && slash != path;
         slash = strrchr(path, '/')) {
        *slash = 0;
        ash__dir_sync(path, NULL);
    }
    ash__dir_sync(folder[0] == '/' ? "/" : ".", NULL);
    ash__free(path);
}

/* Until it is, there is no superblock. */
static int check_finished(const char *folder, ash_error *err)
{
    if (!exists(folder, ASH_BACKUP_MARK) || exists(folder, "ashlar.store"))
        return 0;
    return ash__fail(
        err, ASH_ESTATE,
        "%s is a backup that was not finished; the same backup again finishes it; when its "
        "source is gone, `ashlar check --repair` gets out what is whole",
        folder);
}

int ash__folder_prepare(ash_engine *e, ash_error *err)
{
    int rc = check_kinds(e->folder, e->opts.must_exist || e->opts.read_only, err);
    if (rc == 0)
        rc = check_finished(e->folder, err);
    if (rc != 0)
        return rc;
    bool is_store = exists(e->folder, "ashlar.store");
    if (is_store) {
        rc = superblock_take(e, err);
    } else if (e->opts.must_exist || e->opts.read_only) {
        rc = exists(e->folder, "meta.mdb")
                 ? ash__fail(err, ASH_ECORRUPT, "%s has lost its file ashlar.store", e->folder)
                 : ash__fail(err, ASH_ENOTFOUND, "there is no store in %s", e->folder);
    } else {
        rc = ash__dir_make(e->folder, err);
        if (rc == 0)
            rc = check_vacant(e->folder, err);
        if (rc == 0)
            sync_above(e->folder);
    }
    if (rc == 0 && !e->opts.is_locked)
        rc = lock_folder(e, err);
    /* Somebody else may have made the store meanwhile, given it a journal, or left a backup in it.
     */
    if (rc == 0)
        rc = check_finished(e->folder, err);
    if (rc == 0 && exists(e->folder, "ashlar.store"))
        rc = superblock_take(e, err);
    else if (rc == 0 && is_store)
        rc = ash__fail(err, ASH_ENOTFOUND, "the store in %s was removed", e->folder);
    if (rc == 0 && is_store && !exists(e->folder, "meta.mdb"))
        rc = ash__fail(err, ASH_ECORRUPT, "store %s has lost meta.mdb", e->folder);
    if (rc == 0 && !e->opts.read_only) {
        char *segments = ash__path_join(e->folder, "segments");
        rc = ash__dir_make(segments, err);
        ash__free(segments);
    }
    return rc;
}

void ash__folder_release(ash_engine *e)
{
    ash__file_close(e->lock_fd);
    e->lock_fd = -1;
}
