/* SPDX-License-Identifier: Apache-2.0 */
/* Opening meta.mdb, so that a file which is damaged, cut off or unfinished, or a full disk, ends
 * with an error and not the process. */
#include "engine/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A reader's slot is one cache line; the page before them is more than LMDB's head takes. */
enum {
    MAX_READERS = 4096,
    FEW_READERS = 1024, /* on a full disk, in the room that is in reserve */
    READER_BYTES = 64,
    READERS_AT = 4096,
    UNFINISHED_BYTES = 1 << 20
};
#define LEAST_MAP_BYTES (INT64_C(1) << 32)

/* The superblock's, which is made last. */
bool ash__engine_has_identity(const ash_engine *e)
{
    static const uint8_t none[16];
    return memcmp(e->store_id, none, 16) != 0;
}

/* How many of the pages from first on are in LMDB's list of free ones. */
static uint64_t count_free_pages(MDB_env *env, uint64_t first)
{
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    uint64_t count = 0;
    /* 0 is fewer than are missing, so the file counts as cut off. */
    if (ash__lmdb_txn_begin(env, NULL, MDB_RDONLY, &txn) != 0)
        return 0;
    int rc = ash__lmdb_cursor_open(txn, 0, &cursor);
    for (; rc == 0 && ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0;) {
        size_t pages[2]; /* how many, and one of them */
        for (size_t at = sizeof(size_t); at + sizeof(size_t) <= value.mv_size;) {
            memcpy(&pages[0], value.mv_data, sizeof(size_t));
            memcpy(&pages[1], (const char *)value.mv_data + at, sizeof(size_t));
            at += sizeof(size_t);
            /* Entries may have room behind their last page. */
            count += at / sizeof(size_t) <= pages[0] + 1 && pages[1] >= first;
        }
    }
    mdb_cursor_close(cursor);
    ash__lmdb_txn_abort(txn);
    return count;
}

/* LMDB does not write pages that one commit takes and gives back, so that a whole file may end
 * before its last page: all that is missing is free then.  The file is made long enough first, so
 * that a list which was cut off itself reads as zeros. */
static bool misses_free_pages_only(ash_engine *e, uint64_t have, uint64_t need, uint64_t page_bytes)
{
    uint64_t first = have / page_bytes;
    mdb_filehandle_t fd;
    if (have % page_bytes != 0 || mdb_env_get_fd(e->env, &fd) != 0 ||
        ash__io()->ftruncate(fd, (off_t)need) != 0)
        return false;
    if (count_free_pages(e->env, first) == need / page_bytes - first)
        return true;
    /* Should this fail, the pages stay zeros, and are found out when they are read. */
    return ash__io()->ftruncate(fd, (off_t)have) != 0 && false;
}

/* A file that was cut off would end the process at the first touch of a page beyond its end. */
static int check_meta_size(ash_engine *e, const char *path, ash_error *err)
{
    MDB_envinfo info;
    MDB_stat stat_of;
    struct stat st;
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &stat_of);
    uint64_t need = ((uint64_t)info.me_last_pgno + 1) * stat_of.ms_psize;
    if (stat(path, &st) == 0 &&
        (info.me_last_txnid == 0 || (uint64_t)st.st_size >= need ||
         misses_free_pages_only(e, (uint64_t)st.st_size, need, stat_of.ms_psize)))
        return 0;
    return ash__fail(err, ASH_ECORRUPT, "%s was cut off: %lld bytes of %llu", path,
                     (long long)st.st_size, (unsigned long long)need);
}

/* Where LMDB takes the size of pages from.  It divides by that. */
static uint32_t page_bytes_at(int fd, off_t at)
{
    uint8_t meta[ASH_META_BYTES];
    if (ash__file_read(fd, meta, sizeof meta, at, NULL) != 0)
        return 0;
    uint32_t bytes = ash__get_le32(meta + ASH_META_FREE_AT);
    return bytes >= 512 && bytes <= 65536 && (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

static int check_page_size(const char *path, ash_error *err)
{
    struct stat st;
    int fd = -1;
    /* One that is not there, or was not finished, is the caller's business. */
    if (stat(path, &st) != 0 || st.st_size < 2 * 512)
        return 0;
    int rc = ash__file_open(path, O_RDONLY | O_NOFOLLOW, &fd, err);
    if (rc != 0)
        return rc;
    uint32_t bytes = page_bytes_at(fd, 0);
    bool good = bytes != 0 && (st.st_size < 2 * (off_t)bytes || page_bytes_at(fd, bytes) == bytes);
    ash__file_close(fd);
    return good ? 0 : ash__fail(err, ASH_ECORRUPT, "%s is damaged: its size of pages", path);
}

static int try_env_of(ash_engine *e, const char *path, unsigned readers, int64_t map_bytes)
{
    /* NOTLS: a snapshot is not tied to the thread that opened it.  NORDAHEAD: rows are read here
     * and there. */
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
    if (e->opts.read_only)
        /* Nobody writes then, by the folder's lock, and the medium may not allow a table of
         * readers. */
        flags |= MDB_RDONLY | MDB_NOLOCK;
    int rc = mdb_env_create(&e->env);
    if (rc == 0)
        ash__lmdb_prepare(e->env);
    if (rc == 0)
        rc = mdb_env_set_mapsize(e->env, (size_t)map_bytes);
    if (rc == 0)
        rc = mdb_env_set_maxreaders(e->env, readers);
    if (rc == 0)
        /* Room for what a later version may have. */
        rc = mdb_env_set_maxdbs(e->env, ASH_DB_COUNT + 4);
    if (rc == 0)
        rc = ash__lmdb_env_open(e->env, path, flags, 0600);
    return rc;
}

/* Address space costs nothing where there is enough of it; where it is limited (ulimit -v,
 * sanitizers) less has to do. */
static int try_env(ash_engine *e, const char *path, unsigned readers)
{
    int64_t map_bytes = e->opts.map_bytes;
    int rc = try_env_of(e, path, readers, map_bytes);
    while (rc == ENOMEM && map_bytes > LEAST_MAP_BYTES) {
        ash__lmdb_env_close(e->env);
        e->env = NULL;
        map_bytes /= 4;
        rc = try_env_of(e, path, readers, map_bytes);
    }
    return rc;
}

/* LMDB writes a new file's head without syncing it, so a power cut may leave a piece of it.  Before
 * there is a superblock nothing was ever acknowledged: such a file, never a larger one, makes way
 * for a new one. */
static bool is_unfinished(const ash_engine *e, const char *path)
{
    struct stat st;
    return !e->opts.read_only && !ash__engine_has_identity(e) && stat(path, &st) == 0 &&
           st.st_size <= UNFINISHED_BYTES;
}

/* LMDB takes a longer file for a longer table; what is in it means nothing now. */
static int allocate_few(ash_engine *e, int fd)
{
    off_t bytes = READERS_AT + (off_t)FEW_READERS * READER_BYTES;
    if (ash__io()->ftruncate(fd, bytes) != 0)
        return errno;
    if (ash__io()->fallocate(fd, 0, bytes) == 0)
        return 0;
    int reason = errno;
    /* The file of an earlier run; ours is not open yet. */
    if (reason == ENOSPC && ash__reserve_spend(e))
        reason = ash__io()->fallocate(fd, 0, bytes) == 0 ? 0 : errno;
    return reason;
}

/* LMDB maps its table of readers and makes the file by length alone: on a full disk the first touch
 * of a hole in it would end the process.  So the whole of it gets its blocks before anybody maps
 * it; a store has room in reserve for a short one. */
static int allocate_readers(ash_engine *e, unsigned *readers, ash_error *err)
{
    struct stat st;
    int fd = -1, reason = 0;
    off_t bytes = READERS_AT + (off_t)MAX_READERS * READER_BYTES;
    char *path = ash__path_join(e->folder, "meta.mdb-lock");
    int rc = ash__file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, &fd, err);
    *readers = MAX_READERS;
    if (rc == 0 && fstat(fd, &st) == 0 && st.st_size > bytes)
        bytes = st.st_size;
    if (rc == 0)
        reason = ash__io()->fallocate(fd, 0, bytes) == 0 ? 0 : errno;
    if (reason == ENOSPC) {
        *readers = FEW_READERS;
        reason = allocate_few(e, fd);
    }
    /* Some file systems cannot reserve. */
    if (reason != 0 && reason != EOPNOTSUPP && reason != ENOSYS && reason != EINVAL)
        rc = ash__fail_errno(err, reason, "cannot reserve the %lld bytes of %s", (long long)bytes,
                             path);
    ash__file_close(fd);
    ash__free(path);
    return rc;
}

int ash__env_open(ash_engine *e, ash_error *err)
{
    unsigned readers = MAX_READERS;
    int result = e->opts.read_only ? 0 : allocate_readers(e, &readers, err);
    if (result != 0)
        return result;
    char *path = ash__path_join(e->folder, "meta.mdb");
    result = ash__engine_has_identity(e) ? check_page_size(path, err) : 0;
    if (result != 0) {
        ash__free(path);
        return result;
    }
    int rc = try_env(e, path, readers);
    /* A second try only where nothing can be lost. */
    if (rc == MDB_INVALID && is_unfinished(e, path) && ash__io()->unlink(path) == 0) {
        ash__lmdb_env_close(e->env);
        rc = try_env(e, path, readers);
    }
    if (rc == MDB_INVALID || rc == MDB_VERSION_MISMATCH || rc == MDB_CORRUPTED)
        result = ash__fail(err, ASH_ECORRUPT, "%s is damaged: %s", path, mdb_strerror(rc));
    else if (rc != 0)
        result = ash__lmdb_fail(rc, err, path);
    if (result == 0)
        result = check_meta_size(e, path, err);
    ash__free(path);
    return result;
}
