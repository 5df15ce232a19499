/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting takes room too: LMDB never overwrites a page that the last commit uses.  So that it
 * works on a full disk, a file holds some room, which is let go right before a commit that deletes.
 */
#include "engine/internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/idle_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { LEAST_BYTES = 64 << 10, MOST_BYTES = 64 << 20 };

/* A store that nobody has open keeps a part.  Whoever opens it on a full disk needs LMDB's table of
 * readers, a short one (open_env.c), and a commit that deletes, and one that closes.  Those change a
 * page or two a level of each tree and index; of a store of a few pages at most all of them. */
enum {
    TABLE_BYTES = 68 << 10,
    COMMIT_BYTES = 192 << 10,
    CLOSING_BYTES = 64 << 10,
    REST_SHARE = 32, /* of what is in use: for many deletions at once */
    MOST_REST_BYTES = 1 << 20
};

/* Free pages that become room for the next commit. */
enum { SCARCE_BYTES = 256 << 10, MAKE_ROOM_MS = 50, MOST_META_BYTES = 16 << 20 };

/* A commit changes at most all of the metadata; mostly a small part of it. */
static off_t wanted(const ash_engine *e)
{
    MDB_envinfo info;
    MDB_stat stat_of;
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &stat_of);
    uint64_t bytes = ((uint64_t)info.me_last_pgno + 1) * stat_of.ms_psize / 4;
    return bytes < ASH_RESERVE_BYTES ? ASH_RESERVE_BYTES
           : bytes > MOST_BYTES      ? MOST_BYTES
                                     : (off_t)bytes;
}

static void fill(ash_engine *e, off_t bytes)
{
    /* Less is better than nothing on a disk that is nearly full. */
    for (; bytes >= LEAST_BYTES && bytes > e->reserve_bytes; bytes /= 2) {
        if (ash__io()->fallocate(e->reserve_fd, 0, bytes) == 0) {
            e->reserve_bytes = bytes;
            return;
        }
    }
}

static bool room_is_below(const ash_engine *e, off_t bytes)
{
    struct statvfs fs;
    return e->reserve_fd >= 0 && fstatvfs(e->reserve_fd, &fs) == 0 &&
           (uint64_t)fs.f_bavail * fs.f_frsize < (uint64_t)bytes;
}

/* What the last commits left has room on the disk, but LMDB takes pages that are free for longer
 * first, and those may be holes. */
static void make_room(ash_engine *e)
{
    int64_t deadline = ash__clock_ms() + MAKE_ROOM_MS;
    ash_idle_pages *pages = ash__idle_pages_new(e);
    if (pages != NULL && ash__idle_pages_taken(pages) > 0 &&
        ash__metadata_is_whole(e, MOST_META_BYTES, deadline))
        ash__idle_pages_punch(pages, deadline);
    ash__idle_pages_free(pages);
}

void ash__reserve_open(ash_engine *e)
{
    ash_error err = ASH_ERROR_INIT;
    if (e->reserve_fd >= 0) {
        ash__reserve_refill(e);
        return;
    }
    char *path = ash__path_join(e->folder, "reserve");
    int rc = ash__folder_require(e, &err);
    if (rc == 0)
        rc = ash__file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, &e->reserve_fd, &err);
    ash__free(path);
    if (rc != 0) {
        /* Only deleting on a full disk would miss it. */
        ash__log(ASH_LOG_WARN, "there is no room in reserve for a full disk: %s", err.text);
        e->reserve_fd = -1;
        return;
    }
    ash__reserve_refill(e);
}

void ash__reserve_refill(ash_engine *e)
{
    if (e->reserve_fd < 0)
        return;
    if (!e->reserve_whole) {
        fill(e, wanted(e));
        e->reserve_whole = e->reserve_bytes >= ASH_RESERVE_BYTES;
    }
    /* Before the writer runs nothing was changed yet. */
    if (e->writer_runs && room_is_below(e, SCARCE_BYTES))
        make_room(e);
}

bool ash__reserve_is_disk_full(const ash_engine *e)
{
    return room_is_below(e, LEAST_BYTES);
}

void ash__reserve_use(ash_engine *e)
{
    if (room_is_below(e, e->reserve_bytes))
        ash__reserve_let_go(e);
}

void ash__reserve_let_go(ash_engine *e)
{
    if (e->reserve_fd >= 0 && ash__io()->ftruncate(e->reserve_fd, 0) == 0) {
        e->reserve_bytes = 0;
        e->reserve_whole = false;
    }
}

static off_t rest_of(uint64_t in_use)
{
    uint64_t commit = in_use + CLOSING_BYTES < COMMIT_BYTES ? in_use + CLOSING_BYTES : COMMIT_BYTES;
    uint64_t rest = TABLE_BYTES + (commit > in_use / REST_SHARE ? commit : in_use / REST_SHARE);
    return (off_t)(rest < MOST_REST_BYTES ? rest : MOST_REST_BYTES);
}

bool ash__reserve_rest(ash_engine *e, uint64_t in_use)
{
    off_t rest = rest_of(in_use);
    if (e->reserve_fd < 0)
        return false;
    if (e->reserve_bytes > rest && ash__io()->ftruncate(e->reserve_fd, rest) == 0)
        e->reserve_bytes = rest;
    /* The last commit may have taken it. */
    if (e->reserve_bytes < rest)
        fill(e, rest);
    return e->reserve_bytes >= rest;
}

bool ash__reserve_spend(ash_engine *e)
{
    struct stat st;
    int fd = -1;
    char *path = ash__path_join(e->folder, "reserve");
    bool freed = ash__file_open(path, O_RDWR | O_NOFOLLOW, &fd, NULL) == 0 && fstat(fd, &st) == 0 &&
                 S_ISREG(st.st_mode) && st.st_size > 0 && ash__io()->ftruncate(fd, 0) == 0;
    ash__file_close(fd);
    ash__free(path);
    return freed;
}

void ash__reserve_close(ash_engine *e)
{
    ash__file_close(e->reserve_fd);
    e->reserve_fd = -1;
}
