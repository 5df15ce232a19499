/* SPDX-License-Identifier: Apache-2.0 */
/* The writer thread: runs applies one after the other in an open transaction, answers those that
 * need no more, and makes durable what others wait for.
 *
 *   QUEUED --writer_main--> RUNNING --settle--------------------> DONE
 *      |                       |                                   ^
 *      |                       |                                   |  answer_settled:
 *      |                       |                                   |  flush (the journal has it),
 *      |                       |                                   |  finish (LMDB has it, or the
 *      |                       \--settle--> APPLIED ---------------/  batch was lost)
 *      |                                       |
 *      \--await--> (removed) <-----await------/
 *
 * settle has three ways to DONE: APPLIED is all that was asked; nothing was changed, and nothing
 * was there to be seen that is not durable (!w->fresh); or the apply broke the batch, which
 * give_up ends for all who wait for it.  Everything else waits in APPLIED.
 *
 * await removes whose time is over: what is QUEUED is not made then; what is APPLIED has run, and
 * becomes durable all the same, which its caller learns as ASH_ETIMEOUT or, with a turn, by
 * turn->late.  What is RUNNING cannot be taken back: it is impatient, and leaves when settled. */
#include "engine/journal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

enum {
    BATCH_WORK = 10000,             /* rows */
    BATCH_BYTES = 64 * 1024 * 1024, /* of metadata and inline documents */
    DROP_EVERY = 100,               /* applies between turns of drops when the queue never ends */
    GATHER_MS = 5, /* how long a busy queue may delay those who wait for the disk */
    READERS_ALWAYS = 256,
    READERS_OFTEN = 100 /* of 256; half is where a commit costs no more than record and commit */
};

static void list_push(ash_apply_list *list, ash_apply *apply)
{
    /* It may have been in another list before. */
    apply->next = NULL;
    if (list->last != NULL)
        list->last->next = apply;
    else
        list->first = apply;
    list->last = apply;
}

static ash_apply *list_pop(ash_apply_list *list)
{
    ash_apply *apply = list->first;
    if (apply != NULL) {
        list->first = apply->next;
        if (list->first == NULL)
            list->last = NULL;
    }
    return apply;
}

static void list_remove(ash_apply_list *list, ash_apply *apply)
{
    ash_apply *before = NULL;
    for (ash_apply *at = list->first; at != apply; at = at->next)
        before = at;
    if (before != NULL)
        before->next = apply->next;
    else
        list->first = apply->next;
    if (list->last == apply)
        list->last = before;
}

static void done(ash_apply *apply)
{
    apply->state = APPLY_DONE;
    /* Under the lock and in the order of the changes: that is the order in which they are told. */
    ash__turn_place(apply->turn);
    ash__cond_signal(&apply->cond);
}

static void answer_settled(ash_queue *q, int rc, const ash_error *err)
{
    for (ash_apply *apply; (apply = list_pop(&q->settled)) != NULL;) {
        if (rc != 0) {
            apply->result = rc;
            apply->error = *err;
        }
        done(apply);
    }
    q->flush_by = 0;
}

/* The batch has ended, well or not: everybody who waits for it goes on.  But what the journal
 * answered for is not lost, and snapshots wait until a later batch has committed it. */
static void finish(ash_writer *w, ash_queue *q, int rc, const ash_error *err)
{
    bool owed = w->redo_safe > 0;
    ash__mutex_assert_held(&q->lock);
    answer_settled(q, rc, err);
    /* Those were answered as applied, and nobody of them waits any more: all that is left is to
     * count them. */
    if (rc != 0 && q->acked > 0)
        q->loss_error = *err;
    if (rc != 0)
        q->losses += q->acked;
    else
        q->commits++;
    q->acked = 0;
    q->commit_wanted = false;
    q->commit_by = owed ? ash__clock_ms() + w->engine->opts.interval_ms : 0;
    /* Snapshots wait for q->ended; what only the journal has would not be seen in one. */
    if (!owed) {
        q->ended = q->applied;
        q->stuck = 0;
        q->answered_early = false;
    }
    ash__cond_broadcast(&q->committed);
}

static int call(ash_writer *w, ash_apply *apply)
{
    int rc = ash__batch_begin(w, &apply->error);
    bool atomic = (apply->terms.flags & ASH_APPLY_ATOMIC) != 0;
    if (rc == 0 && atomic)
        rc = ash__nest_begin(w, &apply->error);
    if (rc != 0)
        return rc;
    int depth = w->depth;
    rc = apply->fn(w, apply->ctx, &apply->error);
    /* Entries of the catalogue are good until the next change of it, and the fn is through. */
    ash__snapshot_forget(&w->snap);
    /* The whole batch is given up with its transactions, the nested one too. */
    if (w->broken != 0)
        return rc;
    ash_assert(w->depth == depth);
    if (atomic) {
        int ended = ash__nest_end(w, rc == 0, rc == 0 ? &apply->error : NULL);
        rc = rc == 0 ? ended : rc;
    }
    return rc;
}

/* Without the lock. */
static void run_one(ash_writer *w, ash_apply *apply, bool *changed)
{
    /* Cleared to learn whether this fn changes something, and put together again below. */
    bool before = w->depth > 0 && w->changed;
    w->changed = false;
    apply->result = call(w, apply);
    *changed = w->changed;
    w->fresh = w->fresh || w->changed;
    w->changed = w->changed || before;
}

static void give_up(ash_writer *w, ash_queue *q)
{
    ash_error err = w->broken_error;
    int rc = w->broken;
    ash__log(ASH_LOG_ERROR, "a batch of changes was given up: %s", err.text);
    ash__batch_abort(w);
    finish(w, q, rc, &err);
}

static void settle(ash_writer *w, ash_queue *q, ash_apply *apply, bool changed)
{
    ash__mutex_assert_held(&q->lock);
    q->applies++;
    if (w->broken != 0) {
        apply->result = w->broken;
        apply->error = w->broken_error;
        give_up(w, q);
        done(apply);
        return;
    }
    if (changed) {
        q->applied++;
        if (q->commit_by == 0)
            q->commit_by = ash__clock_ms() + w->engine->opts.interval_ms;
    } else if (!w->fresh) {
        /* It failed or only looked, and nothing undurable was there to be seen. */
        done(apply);
        return;
    }
    /* What changed nothing, and what failed, too: it saw what those before it have not told yet. */
    if (apply->terms.ack == ASH_ACK_APPLIED) {
        q->acked += changed;
        done(apply);
        return;
    }
    /* From the first of them on: later ones must not put it off. */
    if (q->settled.first == NULL)
        q->flush_by = ash__clock_ms() + GATHER_MS;
    apply->state = APPLY_APPLIED;
    list_push(&q->settled, apply);
    /* Its time was over while it ran; awake it leaves with what there is to say. */
    if (apply->impatient)
        ash__cond_signal(&apply->cond);
}

/* The batch was committed, or could not be. */
static void conclude(ash_writer *w, ash_queue *q, int rc, const ash_error *err)
{
    if (rc != 0 && w->redo_safe > 0) {
        q->stuck = rc;
        q->stuck_error = *err;
        /* Whoever waits for a commit sees by this that one was tried since he came. */
        q->stuck_times++;
    }
    finish(w, q, rc, err);
}

/* What the journal answered for is in no transaction since the last one failed. */
static bool is_owed(const ash_writer *w)
{
    return w->depth == 0 && w->redo_safe > 0;
}

static bool must_commit(const ash_writer *w, const ash_queue *q)
{
    if (!is_owed(w) && (w->depth == 0 || !w->changed))
        return false;
    if (w->batch_work >= BATCH_WORK || w->batch_bytes >= BATCH_BYTES || q->commit_wanted)
        return true;
    /* At the end a commit is tried once; what the journal holds is carried over by the next
     * opening. */
    if (q->stop && q->waiting.first == NULL)
        return q->stuck == 0;
    return q->commit_by != 0 && ash__clock_ms() >= q->commit_by;
}

/* Somebody waits for the disk, and nobody else comes first. */
static bool must_flush(const ash_writer *w, const ash_queue *q)
{
    return w->depth > 0 && w->changed && q->settled.first != NULL &&
           (q->waiting.first == NULL || ash__clock_ms() >= q->flush_by);
}

/* A store gets its journal when it turns out that it would use it. */
static void maybe_introduce(ash_writer *w, ash_queue *q)
{
    const ash_engine *e = w->engine;
    ash__mutex_assert_held(&q->lock);
    if (e->journal.fd >= 0 || e->journal.failed || e->opts.journal_after < 0 ||
        ++q->waited < (unsigned)e->opts.journal_after || w->depth > 0 || w->redo_safe > 0)
        return;
    /* Where there is no room, it is thought of again after as many commits. */
    q->waited = 0;
    ash__mutex_unlock(&q->lock);
    ash__journal_introduce(w);
    ash__mutex_lock(&q->lock);
}

/* Gives the lock up meanwhile, as those below do: nothing waits for a disk under it. */
static void commit(ash_writer *w, ash_queue *q)
{
    ash_error err = ASH_ERROR_INIT;
    ash__mutex_assert_held(&q->lock);
    /* Asked before: conclude() answers them. */
    bool waited = q->settled.first != NULL;
    ash__mutex_unlock(&q->lock);
    int rc = ash__batch_begin(w, &err);
    if (rc == 0)
        rc = ash__batch_commit(w, &err);
    if (rc != 0)
        ash__log(ASH_LOG_ERROR, "a commit failed: %s", err.text);
    ash__mutex_lock(&q->lock);
    conclude(w, q, rc, &err);
    if (rc == 0 && waited)
        maybe_introduce(w, q);
}

/* A record of the journal is one flush instead of two, but then readers have to wait for a commit:
 * not worth it when they follow after each change, or somebody waits for changes. */
static bool may_journal(ash_writer *w, ash_queue *q)
{
    /* A moving average over some eight flushes. */
    int seen = q->read_since ? READERS_ALWAYS : 0;
    q->readers_follow = (unsigned)((int)q->readers_follow + (seen - (int)q->readers_follow) / 8);
    q->read_since = false;
    return q->stuck == 0 &&
           (w->engine->opts.journal_always ||
            (q->readers_follow < READERS_OFTEN && atomic_load(&w->engine->watchers) == 0));
}

static void flush(ash_writer *w, ash_queue *q)
{
    ash_error err = ASH_ERROR_INIT;
    ash__mutex_assert_held(&q->lock);
    bool committed, journal = may_journal(w, q);
    ash__mutex_unlock(&q->lock);
    int rc = ash__batch_flush(w, journal, &committed, &err);
    if (rc != 0)
        ash__log(ASH_LOG_ERROR, "a commit failed: %s", err.text);
    ash__mutex_lock(&q->lock);
    /* It did not go into the journal after all: no room, or too much for a record. */
    if (committed) {
        conclude(w, q, rc, &err);
        if (rc == 0)
            maybe_introduce(w, q);
        return;
    }
    answer_settled(q, 0, NULL);
    q->flushes++;
    /* They are durable, along with those that waited. */
    q->acked = 0;
    q->answered_early = true;
}

static void drop_turn(ash_writer *w, ash_queue *q)
{
    ash_error err = ASH_ERROR_INIT;
    ash__mutex_assert_held(&q->lock);
    ash__mutex_unlock(&q->lock);
    int rc = ash__batch_begin(w, &err);
    if (rc == 0)
        rc = ash__drops_turn(w, &err);
    /* It may use the reserve: what it deletes makes room. */
    w->deletes = true;
    ash__snapshot_forget(&w->snap);
    ash__mutex_lock(&q->lock);
    if (rc != 0) {
        ash__log(ASH_LOG_ERROR, "dropped data could not be deleted: %s", err.text);
        w->drops_pending = false;
    }
    if (w->broken != 0)
        give_up(w, q);
    else if (w->changed && q->commit_by == 0)
        q->commit_by = ash__clock_ms() + w->engine->opts.interval_ms;
    w->fresh = w->fresh || w->changed;
    /* What failed for want of room is worth another try, damage is not. */
    if (rc != 0)
        w->drops_undone = rc == ASH_ENOSPC;
}

/* The last commit of a run that ends well. */
static void mark_closed(ash_writer *w)
{
    uint8_t sequence[8];
    ash_error err = ASH_ERROR_INIT;
    int rc = 0;
    /* A run that changed nothing has nothing to unmark, but for what the one before left. */
    bool marked = w->marked_open || w->engine->was_unclean;
    if (marked)
        rc = ash__batch_begin(w, &err);
    if (marked && rc == 0) {
        ash__put_le64(sequence, atomic_load(&w->engine->next_sequence));
        rc = ash__row_put(w, ASH_DB_META, ash__bytes("sequence", 8),
                          ash__bytes(sequence, sizeof sequence), &err);
        if (rc == 0)
            rc = ash__row_delete(w, ASH_DB_META, ash__bytes("open", 4), &err);
        w->marked_open = true;
        w->deletes = true;
        if (rc == 0)
            rc = ash__batch_commit(w, &err);
    }
    if (rc != 0)
        ash__log(ASH_LOG_ERROR, "the store was not marked as closed: %s", err.text);
    ash__batch_abort(w);
    w->engine->closed_well = rc == 0 && w->engine->queue.stuck == 0;
}

static void *writer_main(void *arg)
{
    ash_writer *w = arg;
    ash_queue *q = &w->engine->queue;
    int since_drop = 0;
    ash__mutex_lock(&q->lock);
    for (;;) {
        if (must_commit(w, q)) {
            commit(w, q);
            continue;
        }
        if (must_flush(w, q)) {
            flush(w, q);
            continue;
        }
        if (q->commit_wanted) {
            q->commit_wanted = false;
            q->ended = q->applied;
            ash__cond_broadcast(&q->committed);
        }
        bool drop_now = w->drops_pending && since_drop >= DROP_EVERY;
        ash_apply *apply = drop_now ? NULL : list_pop(&q->waiting);
        if (apply != NULL) {
            bool changed;
            apply->state = APPLY_RUNNING;
            ash__mutex_unlock(&q->lock);
            run_one(w, apply, &changed);
            ash__mutex_lock(&q->lock);
            settle(w, q, apply, changed);
            /* Drops get a turn now and then even when the queue is never empty. */
            since_drop++;
        } else if (q->stop && q->waiting.first == NULL) {
            break;
        } else if (w->drops_pending) {
            drop_turn(w, q);
            since_drop = 0;
        } else {
            /* Nothing to commit: until somebody comes. */
            ash__cond_wait_until(&q->work, &q->lock, w->changed || is_owed(w) ? q->commit_by : 0);
        }
    }
    ash__mutex_unlock(&q->lock);
    ash__pack_at_close(w);
    mark_closed(w);
    return NULL;
}

int ash__writer_start(ash_engine *e, ash_error *err)
{
    ash_writer *w = &e->writer;
    w->engine = e;
    w->snap.engine = e;
    w->snap.is_writer = true;
    ash__reserve_open(e);
    int rc = ash__thread_start(&e->writer_thread, 0, writer_main, w);
    if (rc != 0)
        return ash__fail_errno(err, rc, "cannot start the writer");
    e->writer_runs = true;
    return 0;
}

void ash__writer_stop(ash_engine *e)
{
    ash_writer *w = &e->writer;
    if (!e->writer_runs)
        return;
    ash__mutex_lock(&e->queue.lock);
    e->queue.stop = true;
    ash__cond_signal(&e->queue.work);
    ash__mutex_unlock(&e->queue.lock);
    pthread_join(e->writer_thread, NULL);
    ash__snapshot_forget(&w->snap);
    ash__free(w->snap.colls.items);
    ash__free(w->undo);
    ash__free(w->placed);
    ash__key_sets_release(w);
    e->writer_runs = false;
}

static int await(ash_queue *q, ash_apply *apply, ash_error *err)
{
    ash__mutex_assert_held(&q->lock);
    while (apply->state != APPLY_DONE) {
        /* While fn runs it cannot be taken back, so its end is waited for. */
        int64_t until =
            apply->impatient && apply->state == APPLY_RUNNING ? 0 : apply->terms.deadline_ms;
        if (ash__cond_wait_until(&apply->cond, &q->lock, until) || apply->state == APPLY_DONE)
            continue;
        apply->impatient = true;
        if (apply->state == APPLY_QUEUED) {
            list_remove(&q->waiting, apply);
            return ash__fail(err, ASH_ETIMEOUT, "timed out before the change was made");
        }
        if (apply->state == APPLY_APPLIED) {
            list_remove(&q->settled, apply);
            if (apply->turn == NULL)
                return ash__fail(err, ASH_ETIMEOUT, "timed out waiting for the disk");
            /* Whoever has a turn can tell that it was made and is not durable yet; others get the
             * error above. */
            apply->turn->late = apply->result == 0;
            break;
        }
    }
    if (apply->result != 0 && err != NULL)
        *err = apply->error;
    return apply->result;
}

int ash__engine_apply(ash_engine *e, ash_apply_fn fn, void *ctx, const ash_apply_terms *terms,
                      ash_error *err)
{
    static const ash_apply_terms none = {.ack = ASH_ACK_APPLIED};
    ash_queue *q = &e->queue;
    if (terms == NULL)
        terms = &none;
    if (!e->writer_runs)
        return ash__fail(err, ASH_EREADONLY, "store %s was opened for reading only", e->folder);
    /* It would wait for itself. */
    ash_assert(!pthread_equal(pthread_self(), e->writer_thread));
    ash_apply apply = {.fn = fn,
                       .ctx = ctx,
                       .terms = *terms,
                       .error = ASH_ERROR_INIT,
                       .turn = ash__turn_current()};
    /* Nobody waits for what is told after this change, too. */
    ash__turn_leave(apply.turn);
    ash__cond_init(&apply.cond);
    ash__mutex_lock(&q->lock);
    list_push(&q->waiting, &apply);
    ash__cond_signal(&q->work);
    /* Under the lock, so that changes are told of in the order of the queue. */
    ash__turn_queued(apply.turn);
    int rc = await(q, &apply, err);
    ash__mutex_unlock(&q->lock);
    ash__cond_release(&apply.cond);
    return rc;
}

static int change_nothing(ash_writer *w, void *ctx, ash_error *err)
{
    (void)w, (void)ctx, (void)err;
    return 0;
}

int ash__engine_flush(ash_engine *e, int64_t deadline_ms, ash_error *err)
{
    const ash_apply_terms terms = {.ack = ASH_ACK_DURABLE, .deadline_ms = deadline_ms};
    return ash__engine_apply(e, change_nothing, NULL, &terms, err);
}

uint64_t ash__engine_losses(const ash_engine *e)
{
    /* To look takes the lock, which is not const. */
    ash_queue *q = (ash_queue *)(uintptr_t)&e->queue;
    ash__mutex_lock(&q->lock);
    uint64_t losses = q->losses;
    ash__mutex_unlock(&q->lock);
    return losses;
}

ash_error ash__engine_loss_error(const ash_engine *e)
{
    ash_queue *q = (ash_queue *)(uintptr_t)&e->queue;
    ash__mutex_lock(&q->lock);
    ash_error error = q->loss_error;
    ash__mutex_unlock(&q->lock);
    return error;
}
