/* SPDX-License-Identifier: Apache-2.0 */
/* LMDB's own copying either numbers the pages anew, so that all differ from those of the last time,
 * or waits for the writer, which keeps its transaction open for as long as nobody needs a commit.
 * A reader of a commit keeps its pages where they are; so they can be read from the file, and only
 * the page that describes the commit has to be caught before the one after the next replaces it. */
#include "engine/backup/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/format/pages.h"
#include "engine/meta_page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PART_BYTES = 1 << 20, TRIES = 1000 };

typedef struct source {
    mdb_filehandle_t fd;
    MDB_txn *txn;
    uint32_t page_bytes;
    uint8_t *meta; /* pages 0 and 1 as the copy has them */
    uint64_t bytes;
} source;

/* Both pages describe the commit that is copied: the other would tell of one that is not there. */
static int read_meta(const ash_backup *b, source *s, bool *caught, ash_error *err)
{
    uint64_t commit = mdb_txn_id(s->txn), last = 0;
    uint8_t *own = s->meta + commit % 2 * s->page_bytes;
    uint8_t *other = s->meta + (commit + 1) % 2 * s->page_bytes;
    const ash_meta_pages pages = {s->fd, s->page_bytes, s->meta};
    int rc = ash__meta_pages_read(b->engine, s->txn, &pages, caught, err);
    if (rc != 0 || !*caught)
        return rc;
    if (ash__pages_commit(own, &last) != commit)
        return ash__fail(err, ASH_ECORRUPT, "the description of a commit is damaged");
    memcpy(other, own, s->page_bytes);
    ash__pages_make_former(other);
    s->bytes = (last + 1) * s->page_bytes;
    return 0;
}

static int begin(const ash_backup *b, source *s, ash_error *err)
{
    MDB_stat facts;
    bool caught = false;
    int result = 0, rc = ash__lmdb_env_stat(b->engine->env, &facts);
    if (rc == 0)
        rc = mdb_env_get_fd(b->engine->env, &s->fd);
    if (rc == 0)
        rc = ash__lmdb_txn_begin(b->engine->env, NULL, MDB_RDONLY, &s->txn);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot read the metadata");
    s->page_bytes = facts.ms_psize;
    s->meta = ash__alloc((size_t)2 * s->page_bytes);
    for (int i = 0; result == 0 && !caught && i < TRIES; i++) {
        /* The commit that was missed is no use any more; the next try reads the newest. */
        ash__lmdb_txn_reset(s->txn);
        rc = ash__lmdb_txn_renew(s->txn);
        result = rc != 0 ? ash__lmdb_fail(rc, err, "cannot read the metadata")
                         : read_meta(b, s, &caught, err);
    }
    if (result == 0 && !caught)
        result = ash__fail(err, ASH_EBUSY, "the store changes too fast for a backup");
    return result;
}

static void end(source *s)
{
    if (s->txn != NULL)
        ash__lmdb_txn_abort(s->txn);
    ash__free(s->meta);
}

/* Beyond its end a file is as good as zeros; LMDB's may end before its last free pages. */
static int load(int fd, uint8_t *out, size_t len, off_t at, ash_error *err)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = ash__io()->pread(fd, out + done, len - done, at + (off_t)done);
        /* LMDB's file may end before its last page. */
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return ash__fail_errno(err, errno, "cannot read meta.mdb");
        if (n > 0)
            done += (size_t)n;
    }
    memset(out + done, 0, len - done);
    return 0;
}

static bool same_page(const uint8_t *now, const uint8_t *old, size_t len, size_t page)
{
    size_t n = len - page < PAGE ? len - page : PAGE;
    return memcmp(now + page, old + page, n) == 0;
}

/* Write the pages that differ, neighbours at once. */
static int write_changed(ash_backup *b, const uint8_t *now, const uint8_t *old, size_t len,
                         off_t at, ash_error *err)
{
    int rc = 0;
    for (size_t from = 0, to; rc == 0 && from < len; from = to) {
        bool same = same_page(now, old, len, from);
        for (to = from + PAGE; to < len && same_page(now, old, len, to) == same;)
            to += PAGE;
        size_t end = to < len ? to : len;
        if (same)
            continue;
        rc = ash__file_write(b->fd, now + from, end - from, at + (off_t)from, err);
        b->report->copied_meta_bytes += end - from;
    }
    return rc;
}

static int copy_pages(ash_backup *b, const source *s, ash_error *err)
{
    uint8_t *now = ash__alloc(PART_BYTES), *old = ash__alloc(PART_BYTES);
    size_t meta = (size_t)2 * s->page_bytes;
    int rc = 0;
    for (uint64_t at = 0, len; rc == 0 && at < s->bytes; at += len) {
        len = s->bytes - at < PART_BYTES ? s->bytes - at : PART_BYTES;
        rc = load(s->fd, now, len, (off_t)at, err);
        /* The two first pages as they were caught: in the file they may be another commit's by now.
         */
        if (at == 0)
            memcpy(now, s->meta, meta < len ? meta : len);
        if (rc == 0)
            rc = load(b->fd, old, len, (off_t)at, err);
        if (rc == 0)
            rc = write_changed(b, now, old, len, (off_t)at, err);
        if (rc == 0)
            rc = ash__backup_progress(b, "metadata", at + len, s->bytes, err);
    }
    ash__free(now);
    ash__free(old);
    return rc;
}

static int copy_to(ash_backup *b, ash_error *err)
{
    source s = {0};
    /* After a failed sync, pages may be in memory as if they were on disk. */
    if (!b->trusts && ash__io()->ftruncate(b->fd, 0) != 0)
        return ash__fail_errno(err, errno, "cannot empty meta.mdb of the copy");
    int rc = begin(b, &s, err);
    if (rc == 0)
        rc = copy_pages(b, &s, err);
    /* What an earlier, larger copy had behind it goes. */
    if (rc == 0 && ash__io()->ftruncate(b->fd, (off_t)s.bytes) != 0)
        rc = ash__fail_errno(err, errno, "cannot size meta.mdb of the copy");
    b->report->meta_bytes = s.bytes;
    b->commit = s.txn != NULL ? mdb_txn_id(s.txn) : 0;
    end(&s);
    return rc;
}

int ash__backup_meta(ash_backup *b, ash_error *err)
{
    char *path = ash__path_join(b->folder, "meta.mdb");
    bool fresh;
    int rc = ash__backup_open_file(path, &b->fd, &fresh, err);
    if (rc == 0)
        rc = copy_to(b, err);
    if (rc == 0 && ash__io()->fsync(b->fd) != 0)
        rc = ash__fail_errno(err, errno, "cannot sync %s", path);
    ash__file_close(b->fd);
    b->fd = -1;
    ash__free(path);
    return rc;
}

int ash__backup_open_meta(ash_backup *b, ash_error *err)
{
    char *path = ash__path_join(b->folder, "meta.mdb");
    int rc = mdb_env_create(&b->env);
    if (rc == 0)
        ash__lmdb_prepare(b->env);
    if (rc == 0)
        /* Just the file: it is read, and nobody makes it larger. */
        rc = mdb_env_set_mapsize(b->env, (size_t)b->report->meta_bytes);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(b->env, ASH_DB_COUNT + 4);
    if (rc == 0)
        rc = ash__lmdb_env_open(b->env, path, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600);
    if (rc == 0)
        rc = ash__lmdb_txn_begin(b->env, NULL, MDB_RDONLY, &b->txn);
    ash__free(path);
    return rc != 0 ? ash__lmdb_fail(rc, err, "cannot open the copied metadata") : 0;
}

void ash__backup_close_meta(ash_backup *b)
{
    if (b->txn != NULL)
        ash__lmdb_txn_abort(b->txn);
    if (b->env != NULL)
        ash__lmdb_env_close(b->env);
    b->txn = NULL;
    b->env = NULL;
}
