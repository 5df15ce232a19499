/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots that are found by their time.  One is read by one thread at a time, and lapses only
 * when nobody reads in it. */

#include "store/embedded/kit/dated_snapshot.h"

#include "base/clock.h"
#include "store/embedded/kit/oplog.h"

enum { WAIT_SLICE_MS = 20, TRIES = 3 };

/* Guarded by the store's monitor; the snapshot belongs to the owner while depth > 0. */
struct ash_dated_snapshot {
    ash_snapshot *snap; /* NULL: the place is free */
    uint64_t time;      /* by which it is asked for */
    uint64_t newest;    /* change that it sees */
    int64_t taken_ms;
    int64_t used_ms;
    bool in_the_way; /* nobody finds it any more, and the last reading closes it */
    int depth;       /* readings in it */
    pthread_t owner;
};

static ash_dated_snapshot *find(ash_embedded *s, uint64_t time)
{
    ash__monitor_assert_held(s->monitor);
    for (int i = 0; s->dated != NULL && i < ASH_DATED_SNAPSHOTS_MAX; i++)
        if (s->dated[i].snap != NULL && s->dated[i].time == time && !s->dated[i].in_the_way)
            return &s->dated[i];
    return NULL;
}

static bool has_lapsed(const ash_dated_snapshot *d, int64_t now)
{
    return d->depth == 0 && (d->in_the_way || now - d->used_ms >= ASH_DATED_SNAPSHOT_REST_MS ||
                             now - d->taken_ms >= ASH_DATED_SNAPSHOT_AGE_MS);
}

/* A place for a new one, whose former snapshot is the caller's to close; NULL: all are in use. */
static ash_dated_snapshot *make_place(ash_embedded *s, ash_snapshot **former)
{
    ash_dated_snapshot *best = NULL;
    ash__monitor_assert_held(s->monitor);
    if (s->dated == NULL)
        s->dated = ash__alloc_array(ASH_DATED_SNAPSHOTS_MAX, sizeof *s->dated);
    for (int i = 0; i < ASH_DATED_SNAPSHOTS_MAX; i++) {
        ash_dated_snapshot *d = &s->dated[i];
        if (d->depth > 0)
            continue;
        /* A free place, else the one that was unused for longest. */
        if (best == NULL || d->snap == NULL || (best->snap != NULL && d->used_ms < best->used_ms))
            best = d;
        if (d->snap == NULL)
            break;
    }
    *former = best != NULL ? best->snap : NULL;
    return best;
}

static bool touch_held(ash_embedded *s, uint64_t time)
{
    ash__monitor_lock(s->monitor);
    ash_dated_snapshot *d = find(s, time);
    if (d != NULL)
        d->used_ms = ash__clock_ms();
    ash__monitor_unlock(s->monitor);
    return d != NULL;
}

static int log_mark(ash_writer *w, void *ctx, ash_error *err)
{
    (void)ctx;
    return ash__oplog_write_mark(w, err);
}

/* Keep the snapshot under a time.  *taken false: another has that time already. */
static int keep(ash_embedded *s, ash_snapshot *snap, uint64_t newest, uint64_t time, bool *taken,
                ash_error *err)
{
    ash_snapshot *unused = snap;
    int64_t now = ash__clock_ms();
    int rc = 0;
    ash__monitor_lock(s->monitor);
    ash_dated_snapshot *d = find(s, time);
    /* Under one time there may be one state only, which the newest change tells. */
    *taken = d == NULL || d->newest == newest;
    if (d == NULL) {
        d = make_place(s, &unused);
        if (d != NULL)
            *d =
                (ash_dated_snapshot){.snap = snap, .time = time, .newest = newest, .taken_ms = now};
    }
    if (d == NULL) {
        unused = snap;
        rc = ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_SNAPSHOT_UNAVAILABLE,
                              "there are already %d states of the store that are being read",
                              ASH_DATED_SNAPSHOTS_MAX);
    } else if (*taken) {
        d->used_ms = now;
    }
    ash__monitor_unlock(s->monitor);
    /* Not under the monitor: the engine takes locks of its own. */
    ash__snapshot_close(unused);
    return rc;
}

/* The time by which a new one may be kept: its newest change's, or the one that was asked for if
 * nothing changed since. */
static int choose_time(ash_embedded *s, uint64_t asked, uint64_t newest, uint64_t *out,
                       ash_error *err)
{
    *out = asked != 0 ? asked : newest;
    if (asked > ash__oplog_time(s->engine))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "readConcern atClusterTime must not be greater than the current "
                                "clusterTime");
    /* What it was like then is gone: only the present can still be held. */
    if (asked != 0 && asked < newest)
        return ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_SNAPSHOT_TOO_OLD,
                                "the state of the store at that time is not held (any longer)");
    return 0;
}

static int hold_new(ash_embedded *s, uint64_t asked, uint64_t *out, bool *taken, ash_error *err)
{
    ash_snapshot *snap = NULL;
    uint64_t oldest, newest = 0;
    int rc = ash__snapshot_open(s->engine, &snap, err);
    if (rc == 0)
        rc = ash__oplog_bounds(snap, &oldest, &newest, err);
    if (rc == 0)
        rc = choose_time(s, asked, newest, out, err);
    if (rc != 0) {
        ash__snapshot_close(snap);
        return rc;
    }
    return keep(s, snap, newest, *out, taken, err);
}

int ash__dated_snapshot_hold(ash_embedded *s, uint64_t time, const ash_op *op, uint64_t *out,
                             ash_error *err)
{
    bool taken = false;
    int rc = ash__op_check(op, err);
    *out = time;
    /* One that is held is simply held longer. */
    if (rc != 0 || (time != 0 && touch_held(s, time)))
        return rc;
    for (int i = 0; rc == 0 && !taken && i < TRIES; i++) {
        rc = hold_new(s, time, out, &taken, err);
        /* A change got the very time by which an older state is held: step past it. */
        if (rc == 0 && !taken && !s->read_only)
            rc = ash__engine_apply(
                s->engine, log_mark, NULL,
                &(ash_apply_terms){.ack = ASH_ACK_APPLIED, .deadline_ms = op->deadline_ms}, err);
    }
    if (rc == 0 && !taken)
        rc = ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_SNAPSHOT_UNAVAILABLE,
                              "no state of the store could be held");
    return rc;
}

int ash__dated_snapshot_enter(ash_embedded *s, const ash_op *op, ash_dated_snapshot **out,
                              ash_snapshot **snap, ash_error *err)
{
    int rc = 0;
    ash_dated_snapshot *d;
    ash__monitor_lock(s->monitor);
    /* LMDB's snapshots are for one thread at a time, but one thread may begin several readings in
     * one.  Found again after each wait, since it may have lapsed. */
    while ((d = find(s, op->at_time)) != NULL && d->depth > 0 &&
           !pthread_equal(d->owner, pthread_self()) && (rc = ash__op_check(op, err)) == 0)
        ash__monitor_wait_until(s->monitor, ash__clock_ms() + WAIT_SLICE_MS);
    if (rc == 0 && d == NULL)
        rc = ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_SNAPSHOT_TOO_OLD,
                              "the state of the store at that time is not held (any longer)");
    if (rc == 0) {
        d->depth++;
        d->owner = pthread_self();
        *out = d;
        *snap = d->snap;
    }
    ash__monitor_unlock(s->monitor);
    return rc;
}

void ash__dated_snapshot_leave(ash_embedded *s, ash_dated_snapshot *d)
{
    ash_snapshot *unwanted = NULL;
    ash__monitor_lock(s->monitor);
    d->used_ms = ash__clock_ms();
    /* Lapsed while it was read: the last reader closes it. */
    if (--d->depth == 0) {
        if (d->in_the_way) {
            unwanted = d->snap;
            d->snap = NULL;
        }
        ash__monitor_wake_all(s->monitor);
    }
    ash__monitor_unlock(s->monitor);
    ash__snapshot_close(unwanted);
}

/* A snapshot that may be closed, or NULL. */
static ash_snapshot *take(ash_embedded *s, bool all)
{
    ash_snapshot *snap = NULL;
    int64_t now = ash__clock_ms();
    ash__monitor_lock(s->monitor);
    for (int i = 0; s->dated != NULL && snap == NULL && i < ASH_DATED_SNAPSHOTS_MAX; i++) {
        ash_dated_snapshot *d = &s->dated[i];
        if (d->snap == NULL || !(all || has_lapsed(d, now)))
            continue;
        snap = d->snap;
        d->snap = NULL;
    }
    ash__monitor_unlock(s->monitor);
    return snap;
}

void ash__dated_snapshots_lapse(ash_embedded *s)
{
    for (ash_snapshot *snap; (snap = take(s, false)) != NULL;)
        ash__snapshot_close(snap);
}

uint64_t ash__dated_snapshots_oldest(ash_embedded *s)
{
    uint64_t oldest = UINT64_MAX;
    ash__monitor_lock(s->monitor);
    for (int i = 0; s->dated != NULL && i < ASH_DATED_SNAPSHOTS_MAX; i++) {
        const ash_dated_snapshot *d = &s->dated[i];
        if (d->snap != NULL && !d->in_the_way && ash__snapshot_commit(d->snap) < oldest)
            oldest = ash__snapshot_commit(d->snap);
    }
    ash__monitor_unlock(s->monitor);
    return oldest;
}

void ash__dated_snapshots_lapse_before(ash_embedded *s, uint64_t commit)
{
    ash__monitor_lock(s->monitor);
    for (int i = 0; s->dated != NULL && i < ASH_DATED_SNAPSHOTS_MAX; i++) {
        ash_dated_snapshot *d = &s->dated[i];
        d->in_the_way =
            d->in_the_way || (d->snap != NULL && ash__snapshot_commit(d->snap) < commit);
    }
    ash__monitor_unlock(s->monitor);
    ash__dated_snapshots_lapse(s);
}

void ash__dated_snapshots_release(ash_embedded *s)
{
    for (ash_snapshot *snap; (snap = take(s, true)) != NULL;)
        ash__snapshot_close(snap);
    ash__free(s->dated);
    s->dated = NULL;
}
