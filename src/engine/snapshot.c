/* SPDX-License-Identifier: Apache-2.0 */
/* What readers see.  Each snapshot is a read transaction of LMDB's, kept for reuse when it is
 * closed; the list of open ones says which freed extents may be used again. */
#include "engine/internal.h"

#include "base/mem.h"

#include <string.h>

void ash__snapshot_forget(ash_snapshot *snap)
{
    for (size_t i = 0; i < snap->colls.count; i++)
        ash__entry_unref(snap->colls.items[i]);
    snap->colls.count = 0;
}

static void free_snapshot(ash_snapshot *snap)
{
    /* Of one whose beginning failed there may be none. */
    if (snap->txn != NULL)
        ash__lmdb_txn_abort(snap->txn);
    ash__free(snap->colls.items);
    ash__free(snap);
}

/* The lock is held while the transaction gets its id, so that nobody can reap what it sees before
 * it is in the list.  LMDB does no I/O there. */
int ash__snapshot_begin(ash_engine *e, ash_snapshot **out, ash_error *err)
{
    int rc;
    ash__mutex_lock(&e->snapshots_lock);
    ash_snapshot *snap = e->idle_snapshots;
    if (snap != NULL) {
        e->idle_snapshots = snap->next;
        /* It has kept its slot in LMDB's table of readers; a new one would search for one under
         * LMDB's lock. */
        rc = ash__lmdb_txn_renew(snap->txn);
    } else {
        snap = ash__new(ash_snapshot);
        snap->engine = e;
        rc = ash__lmdb_txn_begin(e->env, NULL, MDB_RDONLY, &snap->txn);
    }
    /* Into the list under the same lock: from here on snapshot_oldest counts it. */
    if (rc == 0) {
        snap->txn_id = mdb_txn_id(snap->txn);
        snap->sees_all = false;
        snap->before = NULL;
        snap->next = e->open_snapshots;
        if (snap->next != NULL)
            snap->next->before = snap;
        e->open_snapshots = snap;
        e->snapshots++;
    }
    ash__mutex_unlock(&e->snapshots_lock);
    if (rc != 0) {
        free_snapshot(snap);
        rc = ash__lmdb_fail(rc, err, "cannot open a snapshot");
        ash__soundness_doubt(e, rc);
        return rc;
    }
    *out = snap;
    return 0;
}

/* Wait until everything that was answered before is committed. */
static void wait_for_commit(ash_queue *q, uint64_t *target)
{
    ash__mutex_assert_held(&q->lock);
    uint64_t times = q->stuck_times;
    *target = q->applied;
    /* A commit that fails with something in the journal leaves q->ended behind; stuck_times tells
     * of it, so that nobody waits for ever. */
    while (q->ended < *target && times == q->stuck_times) {
        /* Again after each wake-up: the commit that ended may have begun before this came. */
        q->commit_wanted = true;
        ash__cond_signal(&q->work);
        ash__cond_wait(&q->committed, &q->lock);
    }
}

static int see_all(ash_engine *e, ash_error *err)
{
    ash_queue *q = &e->queue;
    uint64_t target;
    int rc = 0;
    /* The writer would wait for itself. */
    ash_assert(!e->writer_runs || !pthread_equal(pthread_self(), e->writer_thread));
    ash__mutex_lock(&q->lock);
    /* What may_journal decides by: do readers come after each change? */
    q->read_since = q->read_since || q->applied != q->read_applied;
    q->read_applied = q->applied;
    wait_for_commit(q, &target);
    /* What the journal answered for cannot be shown; showing less would take back what was
     * answered. */
    if (q->ended < target) {
        rc = q->stuck;
        if (err != NULL)
            *err = q->stuck_error;
    }
    ash__mutex_unlock(&q->lock);
    return rc;
}

void ash__commit_early(ash_engine *e)
{
    ash_queue *q = &e->queue;
    ash__mutex_lock(&q->lock);
    bool early = q->answered_early;
    ash__mutex_unlock(&q->lock);
    if (early)
        see_all(e, NULL);
}

void ash__commit_freed(ash_engine *e)
{
    uint64_t target;
    ash_assert(!pthread_equal(pthread_self(), e->writer_thread));
    ash__mutex_lock(&e->queue.lock);
    wait_for_commit(&e->queue, &target);
    ash__mutex_unlock(&e->queue.lock);
}

int ash__snapshot_open(ash_engine *e, ash_snapshot **out, ash_error *err)
{
    *out = NULL;
    int rc = see_all(e, err);
    return rc == 0 ? ash__snapshot_begin(e, out, err) : rc;
}

bool ash__engine_commit_now(ash_engine *e, uint64_t *out)
{
    MDB_envinfo info;
    ash__mutex_lock(&e->queue.lock);
    bool all = e->queue.ended == e->queue.applied;
    ash__mutex_unlock(&e->queue.lock);
    if (!all || ash__lmdb_env_info(e->env, &info) != 0)
        return false;
    *out = info.me_last_txnid;
    return true;
}

int ash__snapshot_committed(ash_engine *e, ash_snapshot **out, ash_error *err)
{
    *out = NULL;
    return ash__snapshot_begin(e, out, err);
}

uint64_t ash__snapshot_commit(const ash_snapshot *snap)
{
    return snap->txn_id;
}

void ash__snapshot_close(ash_snapshot *snap)
{
    if (snap == NULL)
        return;
    ash_engine *e = snap->engine;
    ash_assert(!snap->is_writer);
    ash__snapshot_forget(snap);
    ash__mutex_lock(&e->snapshots_lock);
    /* Under the lock: nobody may take it from the idle ones before. */
    ash__lmdb_txn_reset(snap->txn);
    if (snap->before != NULL)
        snap->before->next = snap->next;
    else
        e->open_snapshots = snap->next;
    if (snap->next != NULL)
        snap->next->before = snap->before;
    snap->next = e->idle_snapshots;
    e->idle_snapshots = snap;
    ash__mutex_unlock(&e->snapshots_lock);
}

/* The caller acts on the answer later, when others may have opened snapshots: of the newest commit
 * there is now, or of later ones. */
uint64_t ash__snapshot_oldest(ash_engine *e)
{
    ash__mutex_lock(&e->snapshots_lock);
    uint64_t oldest = atomic_load(&e->newest_commit);
    for (const ash_snapshot *snap = e->open_snapshots; snap != NULL; snap = snap->next) {
        if (snap->txn_id < oldest)
            oldest = snap->txn_id;
    }
    /* A backup reads blocks of the commit it copies without a snapshot: internal.h of
     * engine/backup. */
    if (e->backup_txn != 0 && e->backup_txn < oldest)
        oldest = e->backup_txn;
    ash__mutex_unlock(&e->snapshots_lock);
    return oldest;
}

/* LMDB lists what a commit freed under the commit's number, beginning with how many pages. */
static int sum_freed(ash_engine *e, MDB_cursor *cursor, uint64_t since, uint64_t max_bytes,
                     uint64_t *commit, ash_error *err)
{
    MDB_stat stat_of;
    MDB_val key, value;
    uint64_t bytes = 0;
    ash__lmdb_env_stat(e->env, &stat_of);
    for (;;) {
        size_t freed_by, pages;
        int rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_PREV);
        if (rc != 0)
            return rc == MDB_NOTFOUND ? 0 : ash__lmdb_fail(rc, err, "cannot read what is free");
        if (key.mv_size != sizeof freed_by || value.mv_size < sizeof pages)
            return ash__fail(err, ASH_ECORRUPT, "the list of free pages is damaged");
        memcpy(&freed_by, key.mv_data, sizeof freed_by);
        memcpy(&pages, value.mv_data, sizeof pages);
        if (freed_by <= since)
            return 0;
        bytes += (uint64_t)pages * stat_of.ms_psize;
        if (bytes > max_bytes) {
            *commit = freed_by;
            return 0;
        }
    }
}

int ash__snapshots_in_the_way(ash_engine *e, uint64_t since, uint64_t max_bytes, uint64_t *commit,
                              ash_error *err)
{
    ash_snapshot *snap = NULL;
    MDB_cursor *cursor = NULL;
    *commit = 0;
    int result = ash__snapshot_begin(e, &snap, err);
    if (result != 0)
        return result;
    /* Database 0 is LMDB's list of free pages. */
    int rc = ash__lmdb_cursor_open(snap->txn, 0, &cursor);
    result = rc != 0 ? ash__lmdb_fail(rc, err, "cannot read what is free")
                     : sum_freed(e, cursor, since, max_bytes, commit, err);
    mdb_cursor_close(cursor);
    ash__snapshot_close(snap);
    return result;
}

void ash__snapshots_release(ash_engine *e)
{
    ash_assert(e->open_snapshots == NULL);
    while (e->idle_snapshots != NULL) {
        ash_snapshot *next = e->idle_snapshots->next;
        free_snapshot(e->idle_snapshots);
        e->idle_snapshots = next;
    }
}
