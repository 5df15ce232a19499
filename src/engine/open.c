/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing, in an order in which each step can rely on those before it: the folder and
 * its lock, LMDB, the journal, segments, what the metadata says of the last run, the writer. */
#include "engine/journal.h"

#include "base/fault.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/format/page.h"
#include "engine/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SEGMENT_BLOCKS = 1 << 28 };

/* After an unclean end sequences go on behind all that the lost run can have given out. */
static const uint64_t sequence_gap = UINT64_C(1) << 40;

const char *const ash__database_names[ASH_DB_COUNT] = {
    "meta", "catalog", "records", "index", "counts", "space", "oplog", "state", "drops"};

static int64_t value_or(int64_t value, int64_t fallback)
{
    return value != 0 ? value : fallback;
}

static void take_options(ash_engine *e, const ash_engine_options *opts)
{
    if (opts != NULL)
        e->opts = *opts;
    e->opts.map_bytes = value_or(e->opts.map_bytes, INT64_C(1) << 40);
    e->opts.segment_bytes = value_or(e->opts.segment_bytes, INT64_C(256) << 20);
    e->opts.journal_after = value_or(e->opts.journal_after, ASH_JOURNAL_AFTER);
    e->opts.interval_ms = value_or(e->opts.interval_ms, 100);
    e->opts.pin_timeout_ms = value_or(e->opts.pin_timeout_ms, 600000);
}

static int put_store_row(ash_engine *e, MDB_txn *txn)
{
    uint8_t row[20];
    MDB_val key = ash__val("store", 5);
    MDB_val value = ash__val(row, sizeof row);
    /* A random id, so that files of two stores are never taken for one's. */
    ash__random(e->store_id, sizeof e->store_id);
    memcpy(row, e->store_id, 16);
    ash__put_le32(row + 16, ASH_FORMAT_PLAIN);
    return ash__lmdb_put(txn, e->dbi[ASH_DB_META], &key, &value, 0);
}

/* The store's id is in the metadata too: it ties the files of a store together, and finishes a
 * store whose making was interrupted before it had its superblock. */
static int check_store_row(ash_engine *e, MDB_val row, bool *write_superblock, ash_error *err)
{
    const uint8_t *at = row.mv_data;
    /* The row has no checksum; the id in the superblock has one, and must be the same. */
    if (row.mv_size != 20)
        return ash__fail(err, ASH_ECORRUPT, "meta.mdb has a damaged identity");
    if (ash__get_le32(at + 16) > ASH_FORMAT_VERSION)
        return ash__fail(err, ASH_EVERSION, "meta.mdb has format version %u",
                         (unsigned)ash__get_le32(at + 16));
    *write_superblock = !ash__engine_has_identity(e);
    if (*write_superblock)
        memcpy(e->store_id, at, 16);
    if (memcmp(e->store_id, at, 16) != 0)
        return ash__fail(err, ASH_ECORRUPT, "meta.mdb belongs to another store than ashlar.store");
    return 0;
}

/* None of ours has an order of its own; LMDB would take a page's word for it. */
static int open_database(ash_engine *e, MDB_txn *txn, int i, unsigned create)
{
    unsigned flags = 0;
    int rc = ash__lmdb_dbi_open(txn, ash__database_names[i], create, &e->dbi[i]);
    if (rc == 0)
        rc = mdb_dbi_flags(txn, e->dbi[i], &flags);
    return rc == 0 && flags != 0 ? MDB_CORRUPTED : rc;
}

static int open_databases(ash_engine *e, ash_error *err)
{
    MDB_txn *txn = NULL;
    MDB_val key = ash__val("store", 5), row;
    bool write_superblock = false;
    /* In a store that has its superblock, what is not found was lost. */
    unsigned create = e->opts.read_only || ash__engine_has_identity(e) ? 0 : MDB_CREATE;
    int result = 0;
    int rc = ash__lmdb_txn_begin(e->env, NULL, e->opts.read_only ? MDB_RDONLY : 0, &txn);
    for (int i = 0; rc == 0 && i < ASH_DB_COUNT; i++)
        rc = open_database(e, txn, i, create);
    if (rc == 0)
        rc = ash__lmdb_get(txn, e->dbi[ASH_DB_META], &key, &row);
    if (rc == 0) {
        result = check_store_row(e, row, &write_superblock, err);
    } else if (rc == MDB_NOTFOUND) {
        if (e->opts.read_only || ash__engine_has_identity(e))
            result = ash__fail(err, ASH_ECORRUPT, "meta.mdb lacks what every store has");
        else
            rc = put_store_row(e, txn);
        write_superblock = true;
    }
    if (rc != 0 && result == 0)
        result = ash__lmdb_fail(rc, err, "cannot open the databases of meta.mdb");
    ash__soundness_heed(e, rc);
    if (result != 0) {
        ash__txn_abort(e, txn);
        return result;
    }
    /* Also when nothing was put: the handles of the databases are valid only after it. */
    rc = ash__lmdb_txn_commit(txn);
    ash__soundness_heed(e, rc);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot make meta.mdb");
    if (!write_superblock || e->opts.read_only)
        return 0;
    /* A superblock promises that the metadata is there: its name has to last first. */
    result = ash__dir_sync(e->folder, err);
    return result == 0 ? ash__superblock_write(e, err) : result;
}

int ash__space_read(const ash_snapshot *snap, uint32_t segment, uint8_t *map, uint32_t blocks,
                    ash_error *err)
{
    uint8_t key[8];
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && (uint64_t)i * ASH_SLICE_BLOCKS < blocks; i++) {
        MDB_val slice;
        bool found;
        ash__put_be32(key, segment);
        ash__put_be32(key + 4, i);
        rc = ash__row_get(snap, ASH_DB_SPACE, ash__bytes(key, sizeof key), &slice, &found, err);
        /* A slice that is missing has no block in use: the map was zeroed. */
        if (rc == 0 && found && slice.mv_size != ASH_SLICE_BYTES)
            rc = ash__fail(err, ASH_ECORRUPT, "the block map of segment %08x is damaged",
                           (unsigned)segment);
        if (rc == 0 && found)
            memcpy(map + (size_t)i * ASH_SLICE_BYTES, slice.mv_data, ASH_SLICE_BYTES);
    }
    return rc;
}

/* ash_segments_options.load: the map of used blocks as the last commit has it. */
static int load_map(void *ctx, uint32_t segment, uint8_t *map, uint32_t blocks, ash_error *err)
{
    ash_snapshot *snap = NULL;
    /* Without waiting for a commit: the writer itself may be the one that loads. */
    int rc = ash__snapshot_begin(ctx, &snap, err);
    if (rc == 0)
        rc = ash__space_read(snap, segment, map, blocks, err);
    ash__snapshot_close(snap);
    return rc;
}

/* One row a segment: opening takes no longer for what is in them. */
static int load_segments(ash_engine *e, ash_snapshot *snap, ash_error *err)
{
    uint8_t from[4];
    ash_row row;
    int rc = 0;
    for (uint32_t id = 1; rc == 0; id++) {
        ash__put_be32(from, id);
        rc = ash__row_seek(snap, ASH_DB_SPACE, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0 || !row.found)
            return rc;
        /* The loop goes on behind this id, and so behind the rows of its slices. */
        id = ash__get_be32(row.key.mv_data);
        if (row.key.mv_size != 4 || row.value.mv_size != 8 || id == 0 || id > (1 << 24) ||
            ash__get_le32(row.value.mv_data) > MAX_SEGMENT_BLOCKS)
            return ash__fail(err, ASH_ECORRUPT, "the list of segments is damaged");
        ash__segments_add(e->segments, id, ash__get_le32(row.value.mv_data),
                          ash__get_le32((const uint8_t *)row.value.mv_data + 4));
    }
    return rc;
}

static int require_folder(void *ctx, ash_error *err)
{
    return ash__folder_require(ctx, err);
}

static void open_segments(ash_engine *e)
{
    char *folder = ash__path_join(e->folder, "segments");
    ash_segments_options opts = {.folder = folder,
                                 .segment_bytes = e->opts.segment_bytes,
                                 .read_only = e->opts.read_only,
                                 .spare_bytes = ASH_RESERVE_BYTES,
                                 .load = load_map,
                                 .require = require_folder,
                                 .ctx = e};
    memcpy(opts.store_id, e->store_id, 16);
    e->segments = ash__segments_new(&opts);
    ash__free(folder);
}

static int load_state(ash_engine *e, ash_error *err)
{
    ash_snapshot *snap = NULL;
    ash_row row;
    MDB_val value;
    bool found;
    int rc = ash__snapshot_begin(e, &snap, err);
    if (rc == 0)
        atomic_store(&e->newest_commit, ash__snapshot_commit(snap));
    if (rc == 0)
        rc = load_segments(e, snap, err);
    if (rc == 0)
        rc = ash__row_get(snap, ASH_DB_META, ash__bytes("open", 4), &value, &e->was_unclean, err);
    if (rc == 0)
        rc = ash__row_get(snap, ASH_DB_META, ash__bytes("sequence", 8), &value, &found, err);
    if (rc == 0) {
        e->boot_sequence = found && value.mv_size == 8 ? ash__get_le64(value.mv_data) : 1;
        if (e->was_unclean)
            /* Its numbers were not recorded; 2^40 are more than a run can give. */
            e->boot_sequence += sequence_gap;
        atomic_store(&e->next_sequence, e->boot_sequence);
        rc = ash__oplog_load(e, snap, err);
    }
    if (rc == 0)
        rc = ash__row_seek(snap, ASH_DB_DROPS, ash__bytes(NULL, 0), &row, err);
    if (rc == 0)
        e->writer.drops_pending = row.found;
    ash__snapshot_close(snap);
    return rc;
}

static ash_engine *engine_new(const char *folder, const ash_engine_options *opts)
{
    ash_engine *e = ash__new(ash_engine);
    /* For as long as there is a mapping of the store's files. */
    ash__faults_enable();
    e->folder = ash__strdup(folder);
    e->opened_ms = ash__clock_ms();
    e->lock = (ash_folder_lock)ASH_FOLDER_LOCK_INIT;
    e->journal.fd = -1;
    e->reserve_fd = -1;
    e->version = ASH_FORMAT_PLAIN;
    take_options(e, opts);
    ash__mutex_init(&e->snapshots_lock, ASH_RANK_SNAPSHOTS);
    ash__mutex_init(&e->cache_lock, ASH_RANK_CATALOG);
    ash__mutex_init(&e->queue.lock, ASH_RANK_QUEUE);
    ash__cond_init(&e->queue.work);
    ash__cond_init(&e->queue.committed);
    ash__mutex_init(&e->watch_lock, ASH_RANK_WATCH);
    ash__cond_init(&e->watch_cond);
    ash__mutex_init(&e->pins_lock, ASH_RANK_PINS);
    ash__mutex_init(&e->damage_lock, ASH_RANK_DAMAGE);
    return e;
}

static void engine_free(ash_engine *e)
{
    ash__cache_release(e);
    ash__path_release(e);
    ash__soundness_release(e);
    /* Nobody has a view of them any more; snapshots are closed, pins freed. */
    ash__segments_free(e->segments);
    ash__snapshots_release(e);
    if (e->env != NULL)
        ash__lmdb_env_close(e->env);
    ash__tidy_readers(e);
    ash__reserve_close(e);
    ash__journal_close(&e->journal);
    ash__folder_release(e);
    ash__mutex_release(&e->damage_lock);
    ash__mutex_release(&e->pins_lock);
    ash__cond_release(&e->watch_cond);
    ash__mutex_release(&e->watch_lock);
    ash__cond_release(&e->queue.committed);
    ash__cond_release(&e->queue.work);
    ash__mutex_release(&e->queue.lock);
    ash__mutex_release(&e->cache_lock);
    ash__mutex_release(&e->snapshots_lock);
    ash__buffer_release(&e->writer.redo);
    ash__free(e->folder);
    ash__free(e);
    ash__faults_disable();
}

/* *pending: the journal holds something that a reader cannot carry over. */
static int open_once(const char *folder, const ash_engine_options *opts, ash_engine **out,
                     bool *pending, ash_error *err)
{
    ash_engine *e = engine_new(folder, opts);
    int rc = ash__folder_prepare(e, err);
    if (rc == 0)
        rc = ash__env_open(e, err);
    if (rc == 0)
        rc = open_databases(e, err);
    if (rc == 0)
        rc = ash__journal_recover(e, pending, err);
    if (rc == 0 && *pending && e->opts.read_only)
        rc = ash__fail(err, ASH_EREADONLY,
                       "store %s was not closed: open it for writing first, so that its "
                       "journal is carried over",
                       e->folder);
    if (rc == 0) {
        open_segments(e);
        rc = load_state(e, err);
    }
    if (rc == 0)
        /* Before the writer runs, which must not touch what is known to be damaged. */
        ash__soundness_load(e);
    if (rc == 0 && !e->opts.read_only)
        rc = ash__writer_start(e, err);
    if (rc != 0) {
        engine_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

int ash__engine_open(const char *folder, const ash_engine_options *opts, ash_engine **out,
                     ash_error *err)
{
    bool pending = false;
    *out = NULL;
    int rc = open_once(folder, opts, out, &pending, err);
    /* Only the journal stands in the way. */
    if (rc != ASH_EREADONLY || !pending)
        return rc;
    /* A reader may have the right to write all the same. */
    ash_engine_options writing = *opts;
    writing.read_only = false;
    writing.must_exist = true;
    /* Nothing but carrying over. */
    writing.trim_slack_bytes = -1;
    ash_error why = ASH_ERROR_INIT;
    /* It carries the journal over; closing marks the store as closed. */
    int written = open_once(folder, &writing, out, &pending, &why);
    if (written == ASH_ENOSPC || written == ASH_ECORRUPT) {
        if (err != NULL)
            *err = why;
        return written;
    }
    if (written != 0)
        return rc;
    ash__engine_close(*out);
    *out = NULL;
    return open_once(folder, opts, out, &pending, err);
}

void ash__engine_close(ash_engine *e)
{
    if (e == NULL)
        return;
    ash__writer_stop(e);
    /* The writer has ended, so that nobody else is in the files. */
    ash__trim_at_close(e);
    ash__tidy_at_close(e);
    engine_free(e);
}

bool ash__engine_was_unclean(const ash_engine *e)
{
    return e->was_unclean;
}

uint64_t ash__engine_boot_sequence(const ash_engine *e)
{
    return e->boot_sequence;
}

size_t ash__engine_inline_max(const ash_engine *e)
{
    (void)e;
    return ASH_INLINE_MAX;
}
