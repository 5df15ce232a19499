/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's transactions: one for the batch, more inside it for savepoints. */
#include "engine/journal.h"

#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

int ash__writer_break(ash_writer *w, int code, const ash_error *err)
{
    /* The first reason is the one that explains the others. */
    if (w->broken == 0) {
        w->broken = code;
        if (err != NULL)
            w->broken_error = *err;
        else
            ash__fail(&w->broken_error, code, "cannot change the metadata");
    }
    return code;
}

static void push(ash_writer *w, MDB_txn *txn)
{
    w->nest[w->depth++] = (ash_nest){txn, w->undo_count, w->placed_count, w->redo.len, w->changed};
    w->snap.txn = txn;
}

int ash__batch_begin(ash_writer *w, ash_error *err)
{
    MDB_txn *txn = NULL;
    if (w->depth > 0)
        return 0;
    /* A census of another thread may have found damage since the last batch. */
    if (atomic_load(&w->engine->unwritable))
        return ash__soundness_refuse(w->engine, err);
    /* Between the transactions, when the disk may have room again; not right before a commit that
     * needs it. */
    ash__reserve_refill(w->engine);
    int rc = ash__lmdb_txn_begin(w->engine->env, NULL, 0, &txn);
    ash__soundness_heed(w->engine, rc);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot begin a transaction");
    /* What the journal answered for and LMDB has lost with the transaction before. */
    int result = ash__redo_apply(w->engine, txn, (ash_doc){w->redo.data, w->redo_safe}, err);
    if (result != 0) {
        ash__txn_abort(w->engine, txn);
        return result;
    }
    w->undo_count = w->redo_undo;
    w->redo.len = w->redo_safe;
    /* The first commit of a run marks the store as open, by LMDB: only then may a journal matter to
     * the next opening. */
    w->redo_over = !w->marked_open || !ash__journal_is_usable(&w->engine->journal);
    w->placed_count = w->count_changes = 0;
    w->batch_work = w->batch_bytes = 0;
    /* What was answered has to find room. */
    w->deletes = w->redo_safe > 0;
    w->changed = w->redo_safe > 0;
    w->fresh = false;
    push(w, txn);
    w->snap.txn_id = mdb_txn_id(txn);
    return 0;
}

int ash__nest_begin(ash_writer *w, ash_error *err)
{
    MDB_txn *txn = NULL;
    ash_assert(w->depth > 0 && w->depth < ASH_NEST_MAX);
    /* What is remembered from here on belongs to the new transaction. */
    bool changed = w->changed;
    /* They would be added to the nested transaction, and be lost with it. */
    int result = ash__counts_flush(w, err);
    w->changed = changed;
    if (result != 0)
        return result;
    int rc = ash__lmdb_txn_begin(w->engine->env, w->snap.txn, 0, &txn);
    if (rc != 0) {
        ash__soundness_heed(w->engine, rc);
        result = ash__lmdb_fail(rc, err, "cannot begin a nested transaction");
        return ash__writer_break(w, result, err);
    }
    push(w, txn);
    return 0;
}

/* Bring the block maps back to where they were.  give: what was written may be overwritten. */
static void undo_to(ash_writer *w, size_t count, bool give)
{
    ash_segments *s = w->engine->segments;
    while (w->undo_count > count) {
        ash_undo *undo = &w->undo[--w->undo_count];
        /* Newest first, so that a block which was freed and taken again passes through the same
         * states backward. */
        if (undo->was_marked) {
            ash_assert(ash__segments_unmark(s, undo->extent, NULL) == 0);
            /* Otherwise a durable state may point there: it stays taken until the store is opened
             * anew. */
            if (give)
                ash__segments_give(s, undo->extent);
        } else {
            ash__segments_mark(s, undo->extent);
            atomic_fetch_sub(&w->engine->freed_blocks, undo->extent.blocks);
        }
    }
}

int ash__nest_end(ash_writer *w, bool keep, ash_error *err)
{
    ash_assert(w->depth > 1);
    ash_nest nest = w->nest[--w->depth];
    w->snap.txn = w->nest[w->depth - 1].txn;
    if (keep) {
        int rc = ash__lmdb_txn_commit(nest.txn);
        if (rc == 0)
            return 0;
        ash__soundness_heed(w->engine, rc);
        int result = ash__lmdb_fail(rc, err, "cannot end a nested transaction");
        return ash__writer_break(w, result, err);
    }
    ash__txn_abort(w->engine, nest.txn);
    /* The others were written when the nested one began. */
    w->count_changes = 0;
    undo_to(w, nest.undo_count, true);
    w->placed_count = nest.placed_count;
    /* Once it is over there are no changes to go back to. */
    if (!w->redo_over)
        w->redo.len = nest.redo_len;
    w->changed = nest.changed;
    return 0;
}

/* What is not in the journal of a batch that is no more. */
static void forget(ash_writer *w)
{
    w->redo.len = w->redo_safe;
    w->placed_count = 0;
    w->count_changes = 0;
    w->changed = false;
    w->fresh = false;
}

/* A batch is no more of which not all is in the journal. */
static void lose(ash_writer *w, bool give)
{
    undo_to(w, w->redo_undo, give);
    forget(w);
    w->drops_undone = true;
}

void ash__batch_abort(ash_writer *w)
{
    if (w->depth == 0)
        return;
    ash__txn_abort(w->engine, w->nest[0].txn); /* the nested ones with it */
    w->depth = 0;
    w->snap.txn = NULL;
    /* A record that may be in the journal would be carried over by the next opening, and point to
     * what was written over. */
    lose(w, !w->in_doubt);
    w->broken = 0;
}

static void remember(ash_writer *w, ash_extent extent, bool was_marked)
{
    if (w->undo_count == w->undo_capacity) {
        w->undo_capacity = w->undo_capacity * 2 + 64;
        w->undo = ash__realloc_array(w->undo, w->undo_capacity, sizeof *w->undo);
    }
    w->undo[w->undo_count++] = (ash_undo){extent, was_marked};
    if (!was_marked)
        atomic_fetch_add(&w->engine->freed_blocks, extent.blocks);
}

void ash__writer_use(ash_writer *w, const ash_placed *placed)
{
    if (w->placed_count == w->placed_capacity) {
        w->placed_capacity = w->placed_capacity * 2 + 64;
        w->placed = ash__realloc_array(w->placed, w->placed_capacity, sizeof *w->placed);
    }
    w->placed[w->placed_count++] = *placed;
    ash__segments_mark(w->engine->segments, placed->extent);
    remember(w, placed->extent, true);
}

int ash__writer_unuse(ash_writer *w, ash_extent extent, ash_error *err)
{
    int rc = ash__segments_unmark(w->engine->segments, extent, err);
    if (rc == 0)
        remember(w, extent, false);
    return rc;
}

static int save_change(void *ctx, const ash_segment_change *change, ash_error *err)
{
    ash_writer *w = ctx;
    uint8_t key[8], totals[8];
    ash__put_be32(key, change->segment);
    ash__put_be32(key + 4, change->slice);
    if (change->slice != UINT32_MAX)
        return ash__row_put(w, ASH_DB_SPACE, ash__bytes(key, 8),
                            ash__bytes(change->map, ASH_SLICE_BYTES), err);
    ash__put_le32(totals, change->blocks);
    ash__put_le32(totals + 4, change->used);
    return ash__row_put(w, ASH_DB_SPACE, ash__bytes(key, 4), ash__bytes(totals, sizeof totals),
                        err);
}

/* Sequences given out after an unclean end start above this run's, wherever it got to. */
int ash__writer_mark_open(ash_writer *w, ash_error *err)
{
    uint8_t sequence[8];
    ash__put_le64(sequence, w->engine->boot_sequence);
    int rc = ash__row_put(w, ASH_DB_META, ash__bytes("sequence", 8),
                          ash__bytes(sequence, sizeof sequence), err);
    if (rc == 0)
        rc = ash__row_put(w, ASH_DB_META, ash__bytes("open", 4), ash__bytes(NULL, 0), err);
    return rc;
}

/* Extents that this batch freed and did not use itself wait for readers; one that it both marked
 * and freed was never visible, but waits all the same. */
static void after_commit(ash_writer *w, uint64_t txn_id, uint64_t newest)
{
    ash_engine *e = w->engine;
    /* First: a snapshot that is opened from here on sees this commit. */
    atomic_store(&e->newest_commit, txn_id);
    ash__segments_saved(e->segments);
    for (size_t i = 0; i < w->undo_count; i++) {
        if (!w->undo[i].was_marked)
            /* Snapshots of commits before this one still see them. */
            ash__segments_hold(e->segments, w->undo[i].extent, txn_id);
    }
    w->undo_count = w->redo_undo = 0;
    atomic_store(&e->freed_blocks, 0);
    w->redo_safe = 0;
    w->in_doubt = false;
    forget(w);
    /* What a lost batch had deleted of them is there again. */
    w->drops_pending = w->drops_pending || w->drops_undone;
    w->drops_undone = false;
    /* Before reaping: what they let go can be used at once. */
    ash__pins_lapse(e);
    ash__segments_reap(e->segments, ash__snapshot_oldest(e));
    ash__oplog_committed(e, newest);
    w->marked_open = true;
    atomic_store(&e->marked_open, true);
}

/* LMDB gives an environment up when it could not write a meta page: nobody knows then which of two
 * states the next opening finds, so the space of both must stay as it is. */
static bool is_given_up(const ash_engine *e)
{
    MDB_txn *txn = NULL;
    int rc = ash__lmdb_txn_begin(e->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0)
        ash__lmdb_txn_abort(txn);
    return rc == MDB_PANIC;
}

/* Everything that a durable state of the batch has to have in it, and before it. */
static int prepare(ash_writer *w, ash_error *err)
{
    int rc = 0;
    ash_assert(w->depth == 1);
    /* Early, so that those who write payloads hold back while this syncs. */
    ash__segments_note_commit(w->engine->segments);
    if (atomic_load(&w->engine->unwritable))
        rc = ash__soundness_refuse(w->engine, err);
    if (rc == 0)
        rc = ash__folder_require(w->engine, err);
    if (rc == 0 && !w->marked_open)
        rc = ash__writer_mark_open(w, err);
    if (rc == 0)
        rc = ash__oplog_trim(w, err);
    if (rc == 0)
        rc = ash__counts_flush(w, err);
    /* The first of the two rules: payloads are durable before anything that points at them is. */
    for (size_t i = 0; rc == 0 && i < w->placed_count; i++)
        rc = ash__segments_sync(w->engine->segments, &w->placed[i], err);
    if (rc == 0)
        /* Last, when all of this batch is marked; one map row for many changes. */
        rc = ash__segments_changes(w->engine->segments, save_change, w, err);
    return rc;
}

int ash__batch_commit(ash_writer *w, ash_error *err)
{
    uint64_t txn_id = w->snap.txn_id, oldest, newest = 0;
    int result = prepare(w, err);
    /* Not the last time given out: its entry may have been undone. */
    if (result == 0)
        result = ash__oplog_bounds(&w->snap, &oldest, &newest, err);
    if (result != 0) {
        ash__batch_abort(w);
        return result;
    }
    /* Right before, so that nobody else takes the room meanwhile. */
    if (w->deletes)
        ash__reserve_use(w->engine);
    int rc = ash__lmdb_txn_commit(w->nest[0].txn);
    /* LMDB has freed the transaction either way. */
    w->depth = 0;
    w->snap.txn = NULL;
    if (rc != 0) {
        ash__soundness_heed(w->engine, rc);
        lose(w, !w->in_doubt && rc != ASH_LMDB_LOST && !is_given_up(w->engine));
        /* LMDB says so of a write that a full disk cut short. */
        if (rc == EIO && ash__reserve_is_disk_full(w->engine))
            rc = ENOSPC;
        return ash__lmdb_fail(rc, err, "cannot commit");
    }
    after_commit(w, txn_id, newest);
    return 0;
}

/* true: all of the batch is in the journal and durable. */
static bool write_journal(ash_writer *w)
{
    ash_error err = ASH_ERROR_INIT;
    ash_journal *j = &w->engine->journal;
    if (w->redo_over)
        return false;
    int rc = ash__journal_append(j, w->snap.txn_id - 1, w->redo.data + w->redo_safe,
                                 w->redo.len - w->redo_safe, &err);
    if (j->failed) {
        ash__log(ASH_LOG_ERROR, "%s goes on without its journal: %s", w->engine->folder, err.text);
        w->in_doubt = true;
    }
    return rc == 0;
}

int ash__batch_flush(ash_writer *w, bool may_journal, bool *committed, ash_error *err)
{
    *committed = true;
    if (!may_journal || w->redo_over || !ash__journal_has_room(w->engine))
        return ash__batch_commit(w, err);
    int rc = prepare(w, err);
    if (rc != 0) {
        ash__batch_abort(w);
        return rc;
    }
    if (!write_journal(w))
        return ash__batch_commit(w, err);
    w->redo_safe = w->redo.len;
    /* What it freed stays unusable until LMDB's commit: the journal's record is not the one that
     * frees. */
    w->redo_undo = w->undo_count;
    w->placed_count = 0;
    w->fresh = false;
    /* The rows are in the transaction, which stays open. */
    ash__segments_saved(w->engine->segments);
    *committed = false;
    return 0;
}

int ash__writer_savepoint(ash_writer *w, ash_error *err)
{
    return ash__nest_begin(w, err);
}

int ash__writer_savepoint_end(ash_writer *w, bool keep, ash_error *err)
{
    return ash__nest_end(w, keep, err);
}

ash_snapshot *ash__writer_snapshot(ash_writer *w)
{
    return &w->snap;
}
