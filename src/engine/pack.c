/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that lie close together: the large trees of the metadata are written anew when the store is
 * closed and too much of their pages is empty.
 *
 * LMDB splits a full page in the middle.  Rows of one collection are next to each other in a tree
 * that all collections share, and new ones come at the end of their collection: so the half that was
 * split off stays half full for ever, and small documents take nearly twice their bytes.
 *
 * All of it is one transaction of LMDB's: the tree is emptied, and filled from the last commit's in
 * order, to the brim.  Whatever ends it halfway leaves that commit.  Pages that are full are split
 * again by rows that come in between, which is why a tree is written anew only when it gains a share
 * of its pages, and when it takes no longer than somebody who waited for the run may wait for it. */
#include "engine/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <sys/statvfs.h>

enum {
    LEAST_GAIN_BYTES = 256 << 10,
    GAIN_SHARE = 8, /* of a tree's pages: one in so many, at least */
    PACK_MS = 50,
    PACK_SHARE = 4, /* of the run's time */
    MOST_PACK_MS = 1000,
    ASK_EVERY = 512,      /* rows */
    COPY_COST = 4,        /* times what it took to look at them */
    WRITE_PER_MS = 200000 /* bytes; of a slow disk */
};

/* How LMDB lays rows into pages. */
enum {
    PAGE_HEAD_BYTES = 16,
    NODE_HEAD_BYTES = 8,
    NODE_PLACE_BYTES = 2,
    ROWS_OF_A_PAGE = 2, /* at least: what is larger lies in pages of its own */
    OWN_PAGE_BYTES = 8, /* where those are */
    BRANCH_SHARE = 64   /* about one branch page to so many leaves */
};

/* What is left of room that others may need as well. */
#define LEAST_ROOM_BYTES (UINT64_C(16) << 20)

typedef struct packing {
    ash_writer *writer;
    MDB_txn *from; /* the last commit */
    uint32_t page_bytes;
    int64_t began, deadline;
    bool wanted[ASH_DB_COUNT];
    uint64_t gain, bytes; /* of those that are wanted, all in all */
    unsigned asked;
} packing;

static bool is_late(packing *p)
{
    return p->deadline != INT64_MAX && p->asked++ % ASK_EVERY == 0 &&
           ash__clock_ms() >= p->deadline;
}

/* Bytes in a leaf; *own: pages of the row's own. */
static uint64_t room_of(const packing *p, const MDB_val *key, const MDB_val *value, uint64_t *own)
{
    size_t most =
        ((p->page_bytes - PAGE_HEAD_BYTES) / ROWS_OF_A_PAGE & ~(size_t)1) - NODE_PLACE_BYTES;
    size_t size = NODE_HEAD_BYTES + key->mv_size + value->mv_size;
    if (size > most) {
        *own += (PAGE_HEAD_BYTES + value->mv_size + p->page_bytes - 1) / p->page_bytes;
        size = NODE_HEAD_BYTES + key->mv_size + OWN_PAGE_BYTES;
    }
    return (size + 1) / 2 * 2 + NODE_PLACE_BYTES;
}

/* MDB_NOTFOUND: all rows were looked at. */
static int measure(packing *p, MDB_dbi dbi, uint64_t *needs)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    uint64_t bytes = 0, own = 0;
    int rc = ash__lmdb_cursor_open(p->from, dbi, &cursor);
    while (rc == 0 && !is_late(p) &&
           (rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        bytes += room_of(p, &key, &value, &own);
    mdb_cursor_close(cursor);
    uint64_t leaves = bytes / (p->page_bytes - PAGE_HEAD_BYTES) + 1;
    *needs = leaves + leaves / BRANCH_SHARE + own;
    return rc;
}

/* false: nothing is known. */
static bool choose(packing *p)
{
    ash_engine *e = p->writer->engine;
    for (int db = 0; db < ASH_DB_COUNT; db++) {
        MDB_stat s;
        uint64_t needs = 0;
        if (ash__lmdb_stat(p->from, e->dbi[db], &s) != 0)
            return false;
        uint64_t has = s.ms_branch_pages + s.ms_leaf_pages + s.ms_overflow_pages;
        if (has * p->page_bytes < LEAST_GAIN_BYTES)
            continue;
        if (measure(p, e->dbi[db], &needs) != MDB_NOTFOUND)
            return false;
        p->wanted[db] = needs + has / GAIN_SHARE <= has;
        p->gain += p->wanted[db] ? (has - needs) * p->page_bytes : 0;
        p->bytes += p->wanted[db] ? needs * p->page_bytes : 0;
    }
    return true;
}

static bool is_worth_it(const packing *p)
{
    struct statvfs fs;
    int64_t now = ash__clock_ms();
    int64_t least = p->writer->engine->opts.pack_least_bytes;
    if (p->gain < (uint64_t)(least > 0 ? least : LEAST_GAIN_BYTES))
        return false;
    if (p->deadline != INT64_MAX &&
        now + (now - p->began) * COPY_COST + (int64_t)(p->bytes / WRITE_PER_MS) > p->deadline)
        return false;
    return statvfs(p->writer->engine->folder, &fs) == 0 &&
           (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST_ROOM_BYTES + p->bytes;
}

/* MDB_NOTFOUND: all rows are there. */
static int write_anew(packing *p, MDB_dbi dbi)
{
    MDB_txn *to = p->writer->nest[0].txn;
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int rc = ash__lmdb_cursor_open(p->from, dbi, &cursor);
    if (rc == 0)
        rc = ash__lmdb_drop(to, dbi);
    while (rc == 0 && !is_late(p) &&
           (rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        rc = ash__lmdb_put(to, dbi, &key, &value, MDB_APPEND);
    mdb_cursor_close(cursor);
    return rc;
}

/* ASH_ETIMEOUT: it took too long. */
static int pack(packing *p, ash_error *err)
{
    ash_writer *w = p->writer;
    int rc = ash__batch_begin(w, err);
    for (int db = 0; rc == 0 && db < ASH_DB_COUNT; db++) {
        int result = p->wanted[db] ? write_anew(p, w->engine->dbi[db]) : MDB_NOTFOUND;
        if (result == MDB_NOTFOUND)
            continue;
        ash__soundness_heed(w->engine, result);
        rc = result == 0 ? ash__fail(err, ASH_ETIMEOUT, "it took too long")
                         : ash__lmdb_fail(result, err, "cannot write the metadata anew");
    }
    w->changed = true;
    if (rc == 0)
        rc = ash__batch_commit(w, err);
    else
        ash__batch_abort(w);
    return rc;
}

static int64_t deadline_of(const ash_engine *e, int64_t now)
{
    int64_t share = (now - e->opened_ms) / PACK_SHARE;
    if (atomic_load(&e->pack_at_close))
        return INT64_MAX;
    if (e->opts.tidy_ms != 0)
        return now + e->opts.tidy_ms;
    return now + (share < PACK_MS ? PACK_MS : share > MOST_PACK_MS ? MOST_PACK_MS : share);
}

void ash__pack_at_close(ash_writer *w)
{
    ash_engine *e = w->engine;
    MDB_stat stat_of;
    ash_error err = ASH_ERROR_INIT;
    ash_damage damage;
    int64_t now = ash__clock_ms();
    packing p = {.writer = w, .began = now, .deadline = deadline_of(e, now)};
    int rc = 0;
    if (!w->marked_open || e->opts.tidy_ms < 0 || e->opts.pack_least_bytes < 0 ||
        e->queue.stuck != 0 || ash__engine_damage(e, &damage))
        return;
    if (ash__lmdb_env_stat(e->env, &stat_of) != 0 ||
        ash__lmdb_txn_begin(e->env, NULL, MDB_RDONLY, &p.from) != 0)
        return;
    p.page_bytes = stat_of.ms_psize;
    /* A page that is damaged costs its rows, and what is written anew has no trace of it. */
    bool packs = choose(&p) && is_worth_it(&p) && ash__metadata_is_whole(e, INT64_MAX, p.deadline);
    if (packs)
        rc = pack(&p, &err);
    e->was_packed = packs && rc == 0;
    ash__lmdb_txn_abort(p.from);
    if (rc != 0)
        ash__log(ASH_LOG_INFO, "%s keeps its metadata as it is: %s", e->folder, err.text);
    else if (packs)
        ash__log(ASH_LOG_DEBUG, "%s has %" PRIu64 " KiB of metadata less", e->folder, p.gain >> 10);
}
