/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, each as of the moment it is read: together they need not be of one moment. */
#include "engine/internal.h"

#include <string.h>
#include <sys/statvfs.h>

static uint64_t used_pages(MDB_stat s)
{
    return s.ms_branch_pages + s.ms_leaf_pages + s.ms_overflow_pages;
}

int ash__engine_stats(ash_engine *e, ash_engine_stats *out, ash_error *err)
{
    MDB_envinfo info;
    MDB_stat stat_of;
    ash_segments_stats segments;
    ash_snapshot *snap = NULL;
    uint64_t pair[2] = {0, 0};
    memset(out, 0, sizeof *out);
    /* Of what is committed: a look at numbers must not make the writer commit. */
    int result = ash__snapshot_begin(e, &snap, err);
    for (int i = 0; result == 0 && i < ASH_DB_COUNT; i++) {
        int rc = ash__lmdb_stat(snap->txn, e->dbi[i], &stat_of);
        if (rc != 0)
            result = ash__lmdb_fail(rc, err, "looking at the metadata");
        else
            out->meta_used_bytes += used_pages(stat_of) * stat_of.ms_psize;
    }
    if (result == 0)
        result = ash__counts_pair(snap, 'O', 0, pair, err);
    ash__snapshot_close(snap);
    /* What a damaged page hides is left out, the rest is worth telling. */
    if (result != 0 && result != ASH_ECORRUPT)
        return result;
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &stat_of);
    out->meta_bytes = ((uint64_t)info.me_last_pgno + 1) * stat_of.ms_psize;
    out->oplog_bytes = pair[1];
    ash__segments_stats(e->segments, &segments);
    out->segment_files = segments.files;
    out->segment_blocks = segments.blocks;
    out->used_blocks = segments.used;
    out->free_blocks = segments.free;
    out->held_blocks = segments.held;
    out->pins = segments.pins;
    ash__mutex_lock(&e->queue.lock);
    out->commits = e->queue.commits;
    out->applies = e->queue.applies;
    out->flushes = e->queue.flushes;
    ash__mutex_unlock(&e->queue.lock);
    ash__mutex_lock(&e->snapshots_lock);
    out->snapshots = e->snapshots;
    ash__mutex_unlock(&e->snapshots_lock);
    return result;
}

int ash__engine_compact(ash_engine *e, uint64_t *freed_bytes, ash_error *err)
{
    ash_punch_options all = {.least_blocks = 1};
    *freed_bytes = 0;
    atomic_store(&e->pack_at_close, true);
    /* What was freed is free only after LMDB's commit. */
    ash__commit_early(e);
    int rc = ash__engine_require_whole(e, err);
    if (rc == 0)
        rc = ash__engine_flush(e, 0, err);
    if (rc == 0) {
        ash__segments_reap(e->segments, ash__snapshot_oldest(e));
        rc = ash__segments_punch(e->segments, &all, freed_bytes, err);
    }
    return rc;
}

bool ash__engine_disk(const ash_engine *e, uint64_t *bytes, uint64_t *used)
{
    struct statvfs fs;
    if (statvfs(e->folder, &fs) != 0)
        return false;
    *bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
    *used = *bytes - (uint64_t)fs.f_bavail * fs.f_frsize;
    return true;
}
