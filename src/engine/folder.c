/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a folder a store, and whether it may be opened.  Everything is looked at before
 * anything is made, so that a mistyped name leaves no trace in somebody's folder. */
#include "engine/internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/format/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUM_AT = ASH_SUPERBLOCK_BYTES - 8 };

static bool exists(const char *folder, const char *name)
{
    struct stat st;
    char *path = ash__path_join(folder, name);
    bool there = stat(path, &st) == 0;
    ash__free(path);
    return there;
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "folder"
           : S_ISREG(mode)  ? "file"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
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
        else if (wants_folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
            rc = ash__fail(err, ASH_ECORRUPT, "%s is a %s where a store has a %s", path,
                           kind_of(st.st_mode), wants_folder ? "folder" : "file");
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
        /* Hidden files are people's and file managers', not a store's. */
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
    /* A superblock that is written anew keeps the time. */
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
    /* A later version's may be longer. */
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

/* The folder's name, and those of folders made for it, must last too.  Folders above that may not
 * be opened were there before. */
static void sync_above(const char *folder)
{
    char *path = ash__strdup(folder);
    for (char *slash = strrchr(path, '/'); slash != NULL && slash != path;
         slash = strrchr(path, '/')) {
        *slash = 0;
        /* What fails here may be a folder that was there before. */
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
    /* Before the lock: a folder that is no store gets no lock file when it must exist. */
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
        /* Somebody else may just be making it, who goes on with its superblock. */
        if ((rc == ASH_EEXISTS || rc == ASH_ECORRUPT) && exists(e->folder, "ashlar.store"))
            rc = 0;
        if (rc == 0)
            sync_above(e->folder);
    }
    if (rc == 0 && !e->opts.is_locked)
        rc = ash__folder_lock_take(&e->lock, e->folder, e->opts.read_only, e->opts.busy_timeout_ms,
                                   err);
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
    ash__folder_lock_release(&e->lock);
}

int ash__folder_require(const ash_engine *e, ash_error *err)
{
    return ash__folder_lock_require(&e->lock, e->folder, err);
}
