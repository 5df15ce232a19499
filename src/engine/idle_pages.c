/* SPDX-License-Identifier: Apache-2.0 */
/* Free pages of meta.mdb become holes when the store is closed, and when a full disk has no other
 * room for the next commit.
 *
 * LMDB writes over no page that the last commit uses, so each commit needs as many free pages as it
 * changes: of a small store that many commands changed they are a quarter.  Which ones they are says
 * its list: for each commit, the pages that this one left.
 *
 * A page that commit K left is in no tree of K or of a later one.  The file describes two commits,
 * and the older one is what is there should the newer's description be lost: so a page may go when
 * both are not before the K that it is listed under.  What the last commit took from the list and
 * did not use is listed under the old numbers again, and what it left under its own.  Whoever reads
 * an earlier commit still counts as one of those two do.
 *
 * The last commit is durable, description and all, before anything becomes a hole: a power cut
 * amid this finds that commit, in which all of these pages are free.  LMDB writes whole pages, so
 * nobody ever reads a hole before it was written. */
#include "engine/idle_pages.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/format/page.h"
#include "engine/format/pages.h"
#include "engine/meta_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASK_EVERY = 16 /* holes */ };

typedef struct run_length {
    uint64_t least, most; /* pages */
} run_length;

struct ash_idle_pages {
    ash_engine *engine;
    MDB_txn *txn;
    int fd;
    uint32_t page_bytes;
    uint64_t oldest; /* of the commits that the file describes or somebody reads */
    uint64_t count;  /* pages of the file */
    uint64_t listed; /* as free */
    uint8_t *may_go; /* a bit each */
};

static bool begin(ash_idle_pages *p)
{
    MDB_envinfo info;
    MDB_stat stat_of;
    mdb_filehandle_t fd;
    if (ash__lmdb_env_info(p->engine->env, &info) != 0 ||
        ash__lmdb_env_stat(p->engine->env, &stat_of) != 0 ||
        mdb_env_get_fd(p->engine->env, &fd) != 0 ||
        ash__lmdb_txn_begin(p->engine->env, NULL, MDB_RDONLY, &p->txn) != 0)
        return false;
    p->fd = fd;
    p->page_bytes = stat_of.ms_psize;
    p->count = (uint64_t)info.me_last_pgno + 1;
    p->may_go = ash__try_alloc((size_t)p->count / 8 + 1);
    if (p->may_go != NULL)
        memset(p->may_go, 0, (size_t)p->count / 8 + 1);
    return p->may_go != NULL;
}

static int note_reader(const char *line, void *oldest)
{
    size_t commit;
    /* Process, thread, commit; a line of headings, and who reads nothing, have no such number. */
    if (sscanf(line, "%*d %*x %zu", &commit) == 1 && commit < *(uint64_t *)oldest)
        *(uint64_t *)oldest = commit;
    return 0;
}

/* False: they are not of two commits, or cannot be read. */
static bool find_oldest(ash_idle_pages *p)
{
    bool caught = false;
    uint64_t last, commit = mdb_txn_id(p->txn);
    uint8_t *metas = ash__alloc((size_t)2 * p->page_bytes);
    const ash_meta_pages pages = {p->fd, p->page_bytes, metas};
    bool known = ash__meta_pages_read(p->engine, p->txn, &pages, &caught, NULL) == 0 && caught &&
                 ash__pages_commit(metas + commit % 2 * p->page_bytes, &last) == commit;
    p->oldest = known ? ash__pages_commit(metas + (commit + 1) % 2 * p->page_bytes, &last) : 0;
    ash__free(metas);
    return known && p->oldest != 0 && p->oldest < commit &&
           mdb_reader_list(p->engine->env, note_reader, &p->oldest) >= 0;
}

static void take_entry(ash_idle_pages *p, const MDB_val *key, const MDB_val *value)
{
    size_t commit, count, number;
    if (key->mv_size != sizeof commit || value->mv_size < sizeof count)
        return;
    memcpy(&commit, key->mv_data, sizeof commit);
    memcpy(&count, value->mv_data, sizeof count);
    for (size_t i = 1; i <= count && i < value->mv_size / sizeof number; i++) {
        memcpy(&number, (const char *)value->mv_data + i * sizeof number, sizeof number);
        p->listed++;
        if (commit <= p->oldest && number >= 2 && number < p->count)
            p->may_go[number / 8] |= (uint8_t)(1u << number % 8);
    }
}

static bool read_list(ash_idle_pages *p)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int rc = ash__lmdb_cursor_open(p->txn, 0, &cursor);
    while (rc == 0 && (rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        take_entry(p, &key, &value);
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND;
}

ash_idle_pages *ash__idle_pages_new(ash_engine *e)
{
    ash_idle_pages *p = ash__new(ash_idle_pages);
    p->engine = e;
    if (begin(p) && find_oldest(p) && read_list(p) && p->listed < p->count)
        return p;
    ash__idle_pages_free(p);
    return NULL;
}

void ash__idle_pages_free(ash_idle_pages *p)
{
    if (p == NULL)
        return;
    if (p->txn != NULL)
        ash__lmdb_txn_abort(p->txn);
    ash__free(p->may_go);
    ash__free(p);
}

uint64_t ash__idle_pages_in_use(const ash_idle_pages *p)
{
    return (p->count - p->listed) * p->page_bytes;
}

uint64_t ash__idle_pages_taken(const ash_idle_pages *p)
{
    struct stat st;
    uint64_t in_use = ash__idle_pages_in_use(p);
    if (fstat(p->fd, &st) != 0 || (uint64_t)st.st_blocks * 512 < in_use)
        return 0;
    return (uint64_t)st.st_blocks * 512 - in_use;
}

/* ---- holes ---- */

static bool may_go(const ash_idle_pages *p, uint64_t page)
{
    return (p->may_go[page / 8] >> page % 8 & 1) != 0;
}

/* Holes of earlier runs cost a look each, not a change of the file. */
static bool is_hole(int fd, off_t from, off_t end)
{
#ifdef SEEK_DATA
    off_t data = lseek(fd, from, SEEK_DATA);
    return data < 0 ? errno == ENXIO : data >= end;
#else
    (void)fd, (void)from, (void)end;
    return false;
#endif
}

/* The next run of pages that may go, from *from on; false: there is none. */
static bool next_run(const ash_idle_pages *p, uint64_t *from, uint64_t *to)
{
    while (*from < p->count && !may_go(p, *from))
        ++*from;
    for (*to = *from; *to < p->count && may_go(p, *to);)
        ++*to;
    return *from < p->count;
}

/* false: this is the end. */
static bool punch_runs(const ash_idle_pages *p, run_length length, int64_t deadline,
                       uint64_t *given)
{
    uint64_t holes = 0;
    for (uint64_t from = 2, to; next_run(p, &from, &to); from = to) {
        off_t at = (off_t)(from * p->page_bytes), past = (off_t)(to * p->page_bytes);
        if (to - from < length.least || to - from > length.most || is_hole(p->fd, at, past))
            continue;
        if (ash__io()->punch(p->fd, at, past - at) != 0)
            return false;
        *given += to - from;
        if (++holes % ASK_EVERY == 0 && ash__clock_ms() >= deadline)
            return false;
    }
    return true;
}

/* Behind the last page is what a commit wrote that failed, as the disk was full.  LMDB would write
 * over it, but not before it has used the free pages, which may be holes. */
static void punch_tail(const ash_idle_pages *p)
{
    struct stat st;
    off_t end = (off_t)(p->count * p->page_bytes);
    if (fstat(p->fd, &st) == 0 && st.st_size > end && !is_hole(p->fd, end, st.st_size))
        (void)ash__io()->punch(p->fd, end, st.st_size - end);
}

void ash__idle_pages_punch(ash_idle_pages *p, int64_t deadline)
{
    /* A hole costs some 100 us whatever its size, and most are of one page. */
    static const run_length turns[] = {{4, UINT64_MAX}, {2, 3}, {1, 1}};
    uint64_t given = 0;
    punch_tail(p);
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++)
        if (!punch_runs(p, turns[i], deadline, &given))
            break;
    ash__log(ASH_LOG_DEBUG, "%s gave %" PRIu64 " KiB of its metadata back", p->engine->folder,
             given * p->page_bytes >> 10);
}
