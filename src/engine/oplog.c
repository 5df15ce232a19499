/* SPDX-License-Identifier: Apache-2.0 */
/* The change log.  Times are taken by the writer when an entry is written, and become visible with
 * the commit; two clocks beside that are told to clients, and never go back. */
#include "engine/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <string.h>

enum { TRIM_ENTRIES = 2000 };

/* Of a store that nobody has ever watched, and that never told a client its time, no client can go on
 * from a place in the log: so much is kept, or a share of what the store takes, to look back a little.
 */
enum { UNWATCHED_BYTES = 256 << 10, UNWATCHED_SHARE = 64 };
#define MOST_BYTES (UINT64_C(64) << 20)

static const char unwatched_key[] = "unwatched";

static uint64_t clock_time(void)
{
    /* Seconds and an increment from 1 on, as MongoDB's timestamps have it. */
    return (uint64_t)(ash__clock_wall_ms() / 1000) << 32 | 1;
}

int ash__oplog_append(ash_writer *w, ash_doc entry, uint64_t *time, ash_error *err)
{
    uint8_t key[8];
    uint64_t now = clock_time();
    /* When the wall clock was set back, the log goes on from its last entry. */
    uint64_t next = w->last_time + 1 > now ? w->last_time + 1 : now;
    w->last_time = next;
    ash__put_be64(key, next);
    int rc = ash__sum_put(w, ASH_DB_OPLOG, ash__bytes(key, sizeof key), entry, err);
    if (rc == 0)
        rc = ash__counts_add(w, 'O', 0, 1, (int64_t)entry.len, err);
    *time = next;
    return rc;
}

static uint64_t store_bytes(ash_engine *e)
{
    ash_segments_stats segments;
    MDB_envinfo info;
    MDB_stat stat_of;
    ash__segments_stats(e->segments, &segments);
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &stat_of);
    return (segments.blocks - segments.free) * ASH_BLOCK_BYTES +
           ((uint64_t)info.me_last_pgno + 1) * stat_of.ms_psize;
}

static uint64_t most_bytes(ash_engine *e)
{
    uint64_t most = e->opts.oplog_bytes > 0 ? (uint64_t)e->opts.oplog_bytes : MOST_BYTES;
    if (e->opts.oplog_bytes != 0 || !atomic_load(&e->unwatched))
        return most;
    uint64_t share = store_bytes(e) / UNWATCHED_SHARE;
    return share < UNWATCHED_BYTES ? UNWATCHED_BYTES : share < most ? share : most;
}

/* Bounded: what is left over is trimmed by the next commits. */
int ash__oplog_trim(ash_writer *w, ash_error *err)
{
    uint64_t pair[2], most;
    int64_t entries = 0, bytes = 0;
    int rc = ash__counts_pair(&w->snap, 'O', 0, pair, err);
    if (rc != 0)
        return rc;
    most = most_bytes(w->engine);
    while (rc == 0 && entries < TRIM_ENTRIES && pair[1] - (uint64_t)bytes > most) {
        ash_row row;
        uint8_t oldest[8];
        rc = ash__row_seek(&w->snap, ASH_DB_OPLOG, ash__bytes(NULL, 0), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size != sizeof oldest ||
            row.value.mv_size < ASH_SUM_BYTES)
            break;
        /* A copy: deleting moves the page that the key lies in. */
        memcpy(oldest, row.key.mv_data, sizeof oldest);
        bytes += (int64_t)(row.value.mv_size - ASH_SUM_BYTES);
        entries++;
        rc = ash__row_delete(w, ASH_DB_OPLOG, ash__bytes(oldest, sizeof oldest), err);
    }
    if (rc == 0 && entries > 0)
        rc = ash__counts_add(w, 'O', 0, -entries, -bytes, err);
    return rc;
}

int ash__oplog_begin(ash_writer *w, ash_error *err)
{
    uint8_t yes = 1;
    atomic_store(&w->engine->unwatched, true);
    return ash__state_put(w, unwatched_key, sizeof unwatched_key - 1, &yes, 1, err);
}

int ash__oplog_load(ash_engine *e, ash_snapshot *snap, ash_error *err)
{
    ash_row row;
    ash_doc value;
    bool found = false;
    int rc = ash__row_last(snap, ASH_DB_OPLOG, &row, err);
    if (rc == 0 && row.found && row.key.mv_size == 8)
        e->writer.last_time = e->committed_time = e->told_time = ash__get_be64(row.key.mv_data);
    if (rc == 0)
        rc = ash__state_get(snap, unwatched_key, sizeof unwatched_key - 1, &value, &found, err);
    atomic_store(&e->unwatched, found);
    return rc;
}

static int forget_unwatched(ash_writer *w, void *ctx, ash_error *err)
{
    (void)ctx;
    return ash__state_delete(w, unwatched_key, sizeof unwatched_key - 1, err);
}

void ash__oplog_watched(ash_engine *e)
{
    ash_error err = ASH_ERROR_INIT;
    if (!atomic_exchange(&e->unwatched, false) || e->opts.read_only)
        return;
    /* From inside of a transaction, which runs on the writer's own thread. */
    bool inside = e->writer_runs && pthread_equal(pthread_self(), e->writer_thread);
    int rc = inside ? forget_unwatched(&e->writer, NULL, &err)
                    : ash__engine_apply(e, forget_unwatched, NULL, NULL, &err);
    if (rc != 0)
        ash__log(ASH_LOG_WARN, "%s may not keep its changes for who watches it now: %s", e->folder,
                 err.text);
}

int ash__oplog_next(ash_snapshot *snap, uint64_t after, uint64_t *time, ash_doc *entry, bool *found,
                    ash_error *err)
{
    uint8_t from[8];
    ash_row row;
    *found = false;
    /* There is no later time, and adding one would begin from the oldest. */
    if (after == UINT64_MAX)
        return 0;
    ash__put_be64(from, after + 1);
    int rc = ash__row_seek(snap, ASH_DB_OPLOG, ash__bytes(from, sizeof from), &row, err);
    if (rc != 0 || !row.found)
        return rc;
    *found = true;
    if (row.key.mv_size != 8)
        return ash__fail(err, ASH_ECORRUPT, "an entry of the change log is damaged");
    *time = ash__get_be64(row.key.mv_data);
    return ash__sum_check(row.key, row.value, entry, "an entry of the change log", err);
}

int ash__oplog_bounds(ash_snapshot *snap, uint64_t *oldest, uint64_t *newest, ash_error *err)
{
    ash_row row;
    *oldest = *newest = 0;
    int rc = ash__row_seek(snap, ASH_DB_OPLOG, ash__bytes(NULL, 0), &row, err);
    if (rc == 0 && row.found && row.key.mv_size == 8)
        *oldest = ash__get_be64(row.key.mv_data);
    if (rc == 0)
        rc = ash__row_last(snap, ASH_DB_OPLOG, &row, err);
    if (rc == 0 && row.found && row.key.mv_size == 8)
        *newest = ash__get_be64(row.key.mv_data);
    return rc;
}

uint64_t ash__oplog_time(ash_engine *e)
{
    ash__mutex_lock(&e->watch_lock);
    uint64_t now = clock_time();
    if (e->told_time < e->committed_time)
        e->told_time = e->committed_time;
    if (e->told_time < now)
        e->told_time = now;
    now = e->told_time;
    ash__mutex_unlock(&e->watch_lock);
    return now;
}

uint64_t ash__oplog_tell(ash_engine *e)
{
    ash__oplog_watched(e);
    return ash__oplog_time(e);
}

/* Apart from told_time: entries of the log may yet get times below the newest stamp, and whoever
 * resumes at a time that was told must not miss them. */
uint64_t ash__oplog_stamp(ash_engine *e)
{
    uint64_t now = ash__oplog_time(e);
    ash__mutex_lock(&e->watch_lock);
    e->stamp = now > e->stamp ? now : e->stamp + 1;
    now = e->stamp;
    ash__mutex_unlock(&e->watch_lock);
    return now;
}

void ash__oplog_committed(ash_engine *e, uint64_t time)
{
    ash__mutex_lock(&e->watch_lock);
    /* Commits come in order, but one without entries tells an old time. */
    if (time > e->committed_time) {
        e->committed_time = time;
        ash__cond_broadcast(&e->watch_cond);
    }
    ash__mutex_unlock(&e->watch_lock);
}

static bool is_cancelled(const volatile int *cancel)
{
    return cancel != NULL && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
}

bool ash__oplog_wait(ash_engine *e, uint64_t after, int64_t deadline_ms, const volatile int *cancel)
{
    bool in_time = true;
    /* Whoever waits for changes wants them at once. */
    atomic_fetch_add(&e->watchers, 1);
    /* What was answered by the journal is not in the log that can be read. */
    ash__commit_early(e);
    ash__mutex_lock(&e->watch_lock);
    while (e->committed_time <= after && in_time && !is_cancelled(cancel))
        in_time = ash__cond_wait_until(&e->watch_cond, &e->watch_lock, deadline_ms);
    bool there = e->committed_time > after;
    ash__mutex_unlock(&e->watch_lock);
    atomic_fetch_sub(&e->watchers, 1);
    return there;
}
