/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/kit/held_state.h"

#include "base/clock.h"
#include "store/embedded/kit/oplog.h"

enum { WAIT_SLICE_MS = 20, TRIES = 3 };

/* All fields are guarded by the store's monitor; the view belongs to the owner while depth > 0. */
struct ash_past {
    ash_view *view;  /* NULL: the place is free */
    uint64_t time;   /* by which it is asked for */
    uint64_t newest; /* change that it sees */
    int64_t taken_ms;
    int64_t used_ms;
    bool in_the_way; /* nobody finds it any more, and the last reading closes it */
    int depth;       /* readings in it */
    pthread_t owner;
};

static ash_past *find(ash_embedded *s, uint64_t time)
{
    for (int i = 0; s->past != NULL && i < ASH_PAST_MAX; i++)
        if (s->past[i].view != NULL && s->past[i].time == time && !s->past[i].in_the_way)
            return &s->past[i];
    return NULL;
}

static bool has_lapsed(const ash_past *p, int64_t now)
{
    return p->depth == 0 && (p->in_the_way || now - p->used_ms >= ASH_PAST_REST_MS ||
                             now - p->taken_ms >= ASH_PAST_AGE_MS);
}

/* A place for a new state, whose former view is the caller's to close; NULL when all are in use. */
static ash_past *make_place(ash_embedded *s, ash_view **former)
{
    ash_past *best = NULL;
    if (s->past == NULL)
        s->past = ash__alloc_array(ASH_PAST_MAX, sizeof *s->past);
    for (int i = 0; i < ASH_PAST_MAX; i++) {
        ash_past *p = &s->past[i];
        if (p->depth > 0)
            continue;
        if (best == NULL || p->view == NULL || (best->view != NULL && p->used_ms < best->used_ms))
            best = p;
        if (p->view == NULL)
            break;
    }
    *former = best != NULL ? best->view : NULL;
    return best;
}

static bool touch_held(ash_embedded *s, uint64_t time)
{
    ash__monitor_lock(s->monitor);
    ash_past *p = find(s, time);
    if (p != NULL)
        p->used_ms = ash__clock_ms();
    ash__monitor_unlock(s->monitor);
    return p != NULL;
}

static int log_mark(ash_writer *w, void *ctx, ash_error *err)
{
    (void)ctx;
    return ash__oplog_write_mark(w, err);
}

/* Keep the view under a time.  *taken false: another state has that time already. */
static int keep(ash_embedded *s, ash_view *view, uint64_t newest, uint64_t time, bool *taken,
                ash_error *err)
{
    ash_view *unused = view;
    int64_t now = ash__clock_ms();
    int rc = 0;
    ash__monitor_lock(s->monitor);
    ash_past *p = find(s, time);
    *taken = p == NULL || p->newest == newest;
    if (p == NULL) {
        p = make_place(s, &unused);
        if (p != NULL)
            *p = (ash_past){.view = view, .time = time, .newest = newest, .taken_ms = now};
    }
    if (p == NULL) {
        unused = view;
        rc = ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_SNAPSHOT_UNAVAILABLE,
                              "there are already %d states of the store that are being read",
                              ASH_PAST_MAX);
    } else if (*taken) {
        p->used_ms = now;
    }
    ash__monitor_unlock(s->monitor);
    ash__snapshot_close(unused);
    return rc;
}

/* The time by which a new state may be kept: its newest change's, or the one that was asked for if
 * nothing changed since. */
static int choose_time(ash_embedded *s, uint64_t asked, uint64_t newest, uint64_t *out,
                       ash_error *err)
{
    *out = asked != 0 ? asked : newest;
    if (asked > ash__oplog_time(s->engine))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "readConcern atClusterTime must not be greater than the current "
                                "clusterTime");
    if (asked != 0 && asked < newest)
        return ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_SNAPSHOT_TOO_OLD,
                                "the state of the store at that time is not held (any longer)");
    return 0;
}

static int hold_new(ash_embedded *s, uint64_t asked, uint64_t *out, bool *taken, ash_error *err)
{
    ash_view *view = NULL;
    uint64_t oldest, newest = 0;
    int rc = ash__snapshot_open(s->engine, &view, err);
    if (rc == 0)
        rc = ash__oplog_bounds(view, &oldest, &newest, err);
    if (rc == 0)
        rc = choose_time(s, asked, newest, out, err);
    if (rc != 0) {
        ash__snapshot_close(view);
        return rc;
    }
    return keep(s, view, newest, *out, taken, err);
}

int ash__past_hold(ash_embedded *s, uint64_t time, const ash_op *op, uint64_t *out, ash_error *err)
{
    bool taken = false;
    int rc = ash__op_check(op, err);
    *out = time;
    if (rc != 0 || (time != 0 && touch_held(s, time)))
        return rc;
    for (int i = 0; rc == 0 && !taken && i < TRIES; i++) {
        rc = hold_new(s, time, out, &taken, err);
        /* A change got the very time by which an older state is held: step past it. */
        if (rc == 0 && !taken && !s->read_only)
            rc = ash__engine_apply(s->engine, log_mark, NULL, ASH_ACK_APPLIED, 0, op->deadline_ms,
                                   err);
    }
    if (rc == 0 && !taken)
        rc = ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_SNAPSHOT_UNAVAILABLE,
                              "no state of the store could be held");
    return rc;
}

int ash__past_enter(ash_embedded *s, const ash_op *op, ash_past **out, ash_view **view,
                    ash_error *err)
{
    int rc = 0;
    ash_past *p;
    ash__monitor_lock(s->monitor);
    while ((p = find(s, op->at_time)) != NULL && p->depth > 0 &&
           !pthread_equal(p->owner, pthread_self()) && (rc = ash__op_check(op, err)) == 0)
        ash__monitor_wait_until(s->monitor, ash__clock_ms() + WAIT_SLICE_MS);
    if (rc == 0 && p == NULL)
        rc = ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_SNAPSHOT_TOO_OLD,
                              "the state of the store at that time is not held (any longer)");
    if (rc == 0) {
        p->depth++;
        p->owner = pthread_self();
        *out = p;
        *view = p->view;
    }
    ash__monitor_unlock(s->monitor);
    return rc;
}

void ash__past_leave(ash_embedded *s, ash_past *p)
{
    ash_view *unwanted = NULL;
    ash__monitor_lock(s->monitor);
    p->used_ms = ash__clock_ms();
    if (--p->depth == 0) {
        if (p->in_the_way) {
            unwanted = p->view;
            p->view = NULL;
        }
        ash__monitor_wake_all(s->monitor);
    }
    ash__monitor_unlock(s->monitor);
    ash__snapshot_close(unwanted);
}

/* A view that may be closed, or NULL. */
static ash_view *take(ash_embedded *s, bool all)
{
    ash_view *view = NULL;
    int64_t now = ash__clock_ms();
    ash__monitor_lock(s->monitor);
    for (int i = 0; s->past != NULL && view == NULL && i < ASH_PAST_MAX; i++) {
        ash_past *p = &s->past[i];
        if (p->view == NULL || !(all || has_lapsed(p, now)))
            continue;
        view = p->view;
        p->view = NULL;
    }
    ash__monitor_unlock(s->monitor);
    return view;
}

void ash__past_lapse(ash_embedded *s)
{
    for (ash_view *v; (v = take(s, false)) != NULL;)
        ash__snapshot_close(v);
}

uint64_t ash__past_oldest(ash_embedded *s)
{
    uint64_t oldest = UINT64_MAX;
    ash__monitor_lock(s->monitor);
    for (int i = 0; s->past != NULL && i < ASH_PAST_MAX; i++) {
        const ash_past *p = &s->past[i];
        if (p->view != NULL && !p->in_the_way && ash__view_commit(p->view) < oldest)
            oldest = ash__view_commit(p->view);
    }
    ash__monitor_unlock(s->monitor);
    return oldest;
}

void ash__past_lapse_before(ash_embedded *s, uint64_t commit)
{
    ash__monitor_lock(s->monitor);
    for (int i = 0; s->past != NULL && i < ASH_PAST_MAX; i++) {
        ash_past *p = &s->past[i];
        p->in_the_way = p->in_the_way || (p->view != NULL && ash__view_commit(p->view) < commit);
    }
    ash__monitor_unlock(s->monitor);
    ash__past_lapse(s);
}

void ash__past_release(ash_embedded *s)
{
    for (ash_view *v; (v = take(s, true)) != NULL;)
        ash__snapshot_close(v);
    ash__free(s->past);
    s->past = NULL;
}
