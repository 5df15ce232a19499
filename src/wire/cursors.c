/* SPDX-License-Identifier: Apache-2.0 */
/* The table of cursors: hash chains by id under one lock.  Cursors are freed when it has been given
 * up, since closing one goes into the store. */
#include "wire/cursors.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/ops.h"
#include "wire/operations.h"

#include <inttypes.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    SHARES = 4096 /* more than there are connections, mostly, so that each has one of its own */
};

/* A client may have a batch, and ask for the next one elsewhere, before the thread that sent it has
 * put the cursor back. */
#define GIVE_BACK_MS 500

struct ash_cursor_table {
    ash_mutex lock; /* guards all below, and the table's part of each cursor */
    ash_cond given; /* a cursor is no longer in use */
    ash_wire_cursor *buckets[BUCKETS];
    size_t max;
    ash_cursor_counts counts;
};

ash_wire_cursor *ash__wire_cursor_new(ash_cursor *cursor, const char *ns)
{
    ash_wire_cursor *w = ash__new(ash_wire_cursor);
    w->cursor = cursor;
    w->ns = ash__strdup(ns);
    w->limit_left = -1;
    w->created_ms = ash__clock_wall_ms();
    return w;
}

void ash__wire_cursor_free(ash_wire_cursor *w)
{
    if (w == NULL)
        return;
    ash_cursor_free(w->cursor);
    ash__free(w->ns);
    ash__buffer_release(&w->joined);
    ash__free(w);
}

static void free_list(ash_wire_cursor *list)
{
    while (list != NULL) {
        ash_wire_cursor *next = list->next;
        ash__wire_cursor_free(list);
        list = next;
    }
}

ash_cursor_table *ash__cursors_new(size_t max_cursors)
{
    ash_cursor_table *t = ash__new(ash_cursor_table);
    ash__mutex_init(&t->lock, ASH_RANK_CONNECTION);
    ash__cond_init(&t->given);
    t->max = max_cursors;
    return t;
}

void ash__cursors_free(ash_cursor_table *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (ash_wire_cursor *w = t->buckets[i]; w != NULL; w = w->next)
            ash_assert(!w->busy);
        free_list(t->buckets[i]);
    }
    ash__cond_release(&t->given);
    ash__mutex_release(&t->lock);
    ash__free(t);
}

static ash_wire_cursor **find(ash_cursor_table *t, int64_t id)
{
    ash__mutex_assert_held(&t->lock);
    ash_wire_cursor **link = &t->buckets[(uint64_t)id % BUCKETS];
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

static ash_wire_cursor *unlink_at(ash_cursor_table *t, ash_wire_cursor **link)
{
    ash_wire_cursor *w = *link;
    ash__mutex_assert_held(&t->lock);
    *link = w->next;
    w->next = NULL;
    t->counts.open--;
    t->counts.no_timeout -= w->no_timeout ? 1 : 0;
    return w;
}

static size_t share_of(const ash_wire_cursor *w)
{
    return (size_t)((uint64_t)w->connection_id % SHARES);
}

/* The share with the most cursors at rest. */
static size_t largest_share(const ash_cursor_table *t)
{
    /* Counted anew: a table is full rarely, and then 10,000 cursors are soon looked at. */
    uint32_t counts[SHARES] = {0};
    size_t largest = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const ash_wire_cursor *w = t->buckets[i]; w != NULL; w = w->next)
            if (!w->busy)
                counts[share_of(w)]++;
    for (size_t i = 0; i < SHARES; i++)
        if (counts[i] > counts[largest])
            largest = i;
    return largest;
}

/* The longest unused of one share's cursors at rest, or of the orphans if there are any. */
static ash_wire_cursor **least_needed(ash_cursor_table *t, size_t share)
{
    ash_wire_cursor **least = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (ash_wire_cursor **link = &t->buckets[i]; *link != NULL; link = &(*link)->next) {
            const ash_wire_cursor *w = *link;
            if (w->busy || (!w->orphan && share_of(w) != share))
                continue;
            if (least == NULL || (w->orphan && !(*least)->orphan) ||
                (w->orphan == (*least)->orphan && w->used_ms < (*least)->used_ms))
                least = link;
        }
    return least;
}

/* Room for one cursor in a full table: whoever opens many gives up its own before those of others.
 * NULL when there is room, or when all are in use. */
static ash_wire_cursor *make_place(ash_cursor_table *t)
{
    ash__mutex_assert_held(&t->lock);
    if (t->counts.open < t->max)
        return NULL;
    ash_wire_cursor **link = least_needed(t, largest_share(t));
    return link != NULL ? unlink_at(t, link) : NULL;
}

int ash__cursors_add(ash_cursor_table *t, ash_wire_cursor *w, volatile int *cancel, ash_error *err)
{
    int rc = 0;
    ash__mutex_lock(&t->lock);
    ash_wire_cursor *displaced = make_place(t);
    if (t->counts.open >= t->max) {
        rc = ash__fail(err, ASH_ENOMEM, "there are already %zu open cursors", t->counts.open);
    } else {
        ash_wire_cursor **link;
        do {
            /* At random, as clients are told apart by nothing else; positive, since 0 tells a
             * driver that there is no cursor. */
            ash__random(&w->id, sizeof w->id);
            w->id &= INT64_MAX;
            link = find(t, w->id);
        } while (w->id == 0 || *link != NULL);
        w->busy = true;
        w->cancel = cancel;
        *link = w;
        t->counts.open++;
        t->counts.total_opened++;
        t->counts.no_timeout += w->no_timeout ? 1 : 0;
        t->counts.pinned++;
    }
    ash__mutex_unlock(&t->lock);
    ash__wire_cursor_free(displaced);
    return rc;
}

static int check_take(const ash_wire_cursor *w, int64_t id, const ash_cursor_user *user,
                      ash_error *err)
{
    const ash_session_id *session = user->session;
    /* To others a killed one is gone, though its command still has it. */
    if (w == NULL || w->killed)
        return ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_CURSOR_NOT_FOUND,
                                "cursor id %" PRId64 " not found", id);
    if (strcmp(w->ns, user->ns) != 0)
        return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                                "cursor id %" PRId64 " belongs to namespace %s, not to %s", id,
                                w->ns, user->ns);
    if (memcmp(&w->who, user->who, sizeof w->who) != 0)
        return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                                "cursor id %" PRId64 " was not created by the authenticated user",
                                id);
    if (w->has_session != (session != NULL) ||
        (session != NULL && memcmp(&w->session, session, sizeof *session) != 0))
        return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                                "cursor id %" PRId64 " belongs to another session", id);
    if (w->busy)
        return ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_LOCATION_CURSOR_IN_USE,
                                "cursor id %" PRId64 " is already in use", id);
    return 0;
}

int ash__cursors_take(ash_cursor_table *t, int64_t id, const ash_cursor_user *user,
                      ash_wire_cursor **out, ash_error *err)
{
    int64_t until = ash__clock_deadline(GIVE_BACK_MS);
    *out = NULL;
    ash__mutex_lock(&t->lock);
    /* Looked up again after each wait: it may have ended meanwhile. */
    ash_wire_cursor *w = *find(t, id);
    while (w != NULL && w->busy && !w->killed && !ash__is_cancelled(user->cancel) &&
           ash__cond_wait_until(&t->given, &t->lock, until))
        w = *find(t, id);
    int rc = check_take(w, id, user, err);
    if (rc == 0) {
        w->busy = true;
        w->cancel = user->cancel;
        w->connection_id = user->connection_id;
        w->orphan = false;
        t->counts.pinned++;
        *out = w;
    }
    ash__mutex_unlock(&t->lock);
    return rc;
}

static void leave(ash_cursor_table *t, ash_wire_cursor *w, bool end)
{
    ash_wire_cursor *gone = NULL;
    ash__mutex_lock(&t->lock);
    ash_assert(w->busy);
    w->busy = false;
    w->cancel = NULL;
    w->used_ms = ash__clock_ms();
    t->counts.pinned--;
    if (end || w->killed)
        gone = unlink_at(t, find(t, w->id));
    /* Whoever waits may wait for another cursor. */
    ash__cond_broadcast(&t->given);
    ash__mutex_unlock(&t->lock);
    ash__wire_cursor_free(gone);
}

void ash__cursors_give(ash_cursor_table *t, ash_wire_cursor *w)
{
    leave(t, w, false);
}

void ash__cursors_end(ash_cursor_table *t, ash_wire_cursor *w)
{
    leave(t, w, true);
}

/* Kills the cursor at *link.  One at rest is put on *gone, and *link is the next one then. */
static bool kill_at(ash_cursor_table *t, ash_wire_cursor **link, ash_wire_cursor **gone)
{
    ash_wire_cursor *w = *link;
    ash__mutex_assert_held(&t->lock);
    if (w->busy) {
        w->killed = true;
        ash__cancel(w->cancel);
        return false;
    }
    unlink_at(t, link);
    w->next = *gone;
    *gone = w;
    return true;
}

bool ash__cursors_kill(ash_cursor_table *t, int64_t id, const char *ns, const ash_who *who)
{
    ash_wire_cursor *gone = NULL;
    ash__mutex_lock(&t->lock);
    ash_wire_cursor **link = find(t, id);
    /* killCursors tells of each cursor once. */
    bool found = *link != NULL && !(*link)->killed &&
                 (ns == NULL || strcmp((*link)->ns, ns) == 0) &&
                 (who == NULL || memcmp(&(*link)->who, who, sizeof *who) == 0);
    if (found)
        kill_at(t, link, &gone);
    ash__mutex_unlock(&t->lock);
    free_list(gone);
    return found;
}

typedef bool (*choose_fn)(const ash_wire_cursor *w, const void *arg);

static size_t kill_where(ash_cursor_table *t, choose_fn choose, const void *arg)
{
    ash_wire_cursor *gone = NULL;
    size_t count = 0;
    ash__mutex_lock(&t->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        ash_wire_cursor **link = &t->buckets[i];
        while (*link != NULL) {
            bool chosen = choose(*link, arg);
            count += chosen ? 1 : 0;
            if (!chosen || !kill_at(t, link, &gone))
                link = &(*link)->next;
        }
    }
    ash__mutex_unlock(&t->lock);
    free_list(gone);
    return count;
}

static bool of_session(const ash_wire_cursor *w, const void *arg)
{
    return w->has_session && memcmp(&w->session, arg, sizeof w->session) == 0;
}

void ash__cursors_kill_session(ash_cursor_table *t, const ash_session_id *session)
{
    kill_where(t, of_session, session);
}

/* killAllSessions ends sessions; cursors without one go on. */
static bool with_session(const ash_wire_cursor *w, const void *arg)
{
    (void)arg;
    return w->has_session;
}

void ash__cursors_kill_all(ash_cursor_table *t)
{
    kill_where(t, with_session, NULL);
}

static bool rested_too_long(const ash_wire_cursor *w, const void *arg)
{
    const int64_t *before_ms = arg;
    /* Only a client that is still there can want its cursor kept. */
    return !w->busy && !w->has_session && (!w->no_timeout || w->orphan) &&
           w->used_ms < before_ms[w->orphan ? 1 : 0];
}

void ash__cursors_expire(ash_cursor_table *t, int64_t before_ms, int64_t orphans_before_ms)
{
    int64_t before[2] = {before_ms, orphans_before_ms};
    /* Two holds of the lock: between them the number lags behind, which nobody can tell. */
    size_t count = kill_where(t, rested_too_long, before);
    ash__mutex_lock(&t->lock);
    t->counts.timed_out += (int64_t)count;
    ash__mutex_unlock(&t->lock);
}

void ash__cursors_leave(ash_cursor_table *t, int64_t connection_id)
{
    ash__mutex_lock(&t->lock);
    /* Every connection that ends comes by here, most of them without a cursor anywhere. */
    for (size_t i = 0; i < BUCKETS && t->counts.open > 0; i++)
        for (ash_wire_cursor *w = t->buckets[i]; w != NULL; w = w->next)
            if (w->connection_id == connection_id)
                w->orphan = true;
    ash__mutex_unlock(&t->lock);
}

bool ash__cursors_is_killed(ash_cursor_table *t, const ash_wire_cursor *w)
{
    ash__mutex_lock(&t->lock);
    bool killed = w->killed;
    ash__mutex_unlock(&t->lock);
    return killed;
}

bool ash__cursors_is_change_stream(ash_cursor_table *t, int64_t id)
{
    ash__mutex_lock(&t->lock);
    const ash_wire_cursor *w = *find(t, id);
    bool changes = w != NULL && w->changes;
    ash__mutex_unlock(&t->lock);
    return changes;
}

ash_cursor_counts ash__cursors_counts(ash_cursor_table *t)
{
    ash__mutex_lock(&t->lock);
    ash_cursor_counts counts = t->counts;
    ash__mutex_unlock(&t->lock);
    return counts;
}
