/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for a lock, from the first try to a grant, a refusal or the end of the time. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum { NOT_YET = 1 };

void ash__lock_acquire_busy(ash_lock *lock)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    while (lock->busy)
        ash__cond_wait(&lock->changed, &lock->collection->mutex);
    lock->busy = true;
}

void ash__lock_release_busy(ash_lock *lock)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    lock->busy = false;
    /* Called while somebody else had it in hand: the worker passed it over then. */
    if (lock->woken && lock->async && lock->state == ASH_LOCK_WAITING)
        ash__lock_make_ready(lock);
    ash__cond_broadcast(&lock->changed);
}

/* ---- when to try again ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The earliest `exp` in a list of entries that is still to come, or NEVER. */
static int64_t first_expiry(const bson_t *doc, const char *field, int64_t server_now)
{
    bson_iter_t list, entry, at;
    int64_t first = ASH_LOCK_NEVER;
    if (!bson_iter_init_find(&list, doc, field) || !BSON_ITER_HOLDS_ARRAY(&list) ||
        !bson_iter_recurse(&list, &entry))
        return first;
    while (bson_iter_next(&entry)) {
        if (!BSON_ITER_HOLDS_DOCUMENT(&entry) || !bson_iter_recurse(&entry, &at) ||
            !bson_iter_find(&at, "exp") || !BSON_ITER_HOLDS_DATE_TIME(&at))
            continue;
        if (bson_iter_date_time(&at) >= server_now)
            first = earlier(first, bson_iter_date_time(&at));
    }
    return first;
}

/* Wall time of the server at which the document may allow more than it does now. */
static int64_t next_chance(const ash_lock *lock, const bson_t *doc, int64_t server_now)
{
    int64_t at = first_expiry(doc, "holders", server_now);
    int64_t expires = ash__lock_date(doc, "expires");
    int64_t turn = ash__lock_date(doc, "turn");
    at = earlier(at, first_expiry(doc, "waiters", server_now));
    /* A foreign holder is believed for so long, and "for ever" must not overflow. */
    if (expires < ASH_LOCK_NEVER / 2 && expires + lock->settings.grace_ms >= server_now)
        at = earlier(at, expires + lock->settings.grace_ms);
    if (turn >= server_now)
        at = earlier(at, turn);
    return at;
}

static int64_t jitter(int64_t ms)
{
    uint32_t random;
    ash__random(&random, sizeof random);
    /* An eighth up or down: processes that began together do not stay together. */
    return ms - ms / 8 + (int64_t)(random % (uint64_t)(ms / 4 + 1));
}

/* The queue in the document begins with it. */
static bool is_first_in_queue(const ash_lock *lock, const bson_t *doc)
{
    bson_iter_t iter, at;
    return lock->want == ASH_LOCK_WANT_WRITE && bson_iter_init(&iter, doc) &&
           bson_iter_find_descendant(&iter, "waiters.0.h", &at) && BSON_ITER_HOLDS_OID(&at) &&
           bson_oid_equal(bson_iter_oid(&at), &lock->h);
}

/* Waiting writers must be heard of before their entries lapse; readers are only covered against
 * a notification that was lost. */
static int64_t fallback_ms(const ash_lock *lock)
{
    int64_t poll = lock->settings.poll_ms;
    if (lock->want == ASH_LOCK_WANT_READ && lock->collection->watching)
        poll *= 4;
    return jitter(poll);
}

void ash__lock_plan(ash_lock *lock, const bson_t *doc)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_assert_held(&c->mutex);
    int64_t now = ash__clock_ms();
    int64_t server_now = now + c->server_offset_ms;
    /* The first looks out for the others; but each writer has an entry to keep fresh. */
    bool first = ash__lock_is_head(lock) || is_first_in_queue(lock, doc);
    lock->due_ms = ASH_LOCK_NEVER;
    if (first) {
        int64_t chance = next_chance(lock, doc, server_now);
        /* One more, since entries are good through the millisecond in which they end. */
        if (chance != ASH_LOCK_NEVER)
            lock->due_ms = now + (chance - server_now) + 2;
    }
    if (first || lock->want == ASH_LOCK_WANT_WRITE)
        lock->due_ms = earlier(lock->due_ms, now + fallback_ms(lock));
    lock->due_ms = earlier(lock->due_ms, lock->deadline_ms);
    if (lock->async)
        ash__lock_due(c, lock->due_ms);
    else
        ash__cond_broadcast(&lock->changed);
}

/* ---- the outcome ---- */

static void remember_doc_id(ash_lock *lock, const bson_t *doc)
{
    bson_iter_t at;
    bson_value_t *known = &lock->resource->doc_id;
    if (!bson_iter_init_find(&at, doc, "_id"))
        return;
    if (known->value_type != BSON_TYPE_EOD)
        bson_value_destroy(known);
    bson_value_copy(bson_iter_value(&at), known);
}

/* doc, or NULL: as the request left the document. */
static void end_request(ash_lock *lock, ash_lock_state state, const bson_t *doc)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    ash_lock_resource *r = lock->resource;
    ash_lock *heir = ash__lock_resource_leave(lock);
    r->queued -= lock->queued;
    /* Who is the first now has nobody to try for it any more.  What a queued one would learn from a
     * try, the document says already. */
    if (heir != NULL && doc != NULL && heir->queued && state == ASH_LOCK_WRITING)
        ash__lock_plan(heir, doc);
    else
        ash__lock_nudge(heir);
    /* Those who stayed outside the queue enter it now. */
    if (r->queued == 0)
        ash__lock_nudge(r->lines[ASH_LOCK_WANT_WRITE].head);
    lock->want = ASH_LOCK_WANT_NOTHING;
    lock->woken = lock->called = lock->queued = lock->cancel = false;
    lock->state = state;
}

static void join_members(ash_lock *lock)
{
    ash_lock_resource *r = lock->resource;
    const ash_lock_grant *g = &lock->grant;
    if (g->write || lock->alone)
        return;
    /* The entry that the grant was counted in: one that stood, or our own. */
    if (r->members > 0 && bson_oid_equal(&r->join, &g->h)) {
        r->members++;
        return;
    }
    bson_oid_copy(&g->h, &r->join);
    r->members = 1;
}

void ash__lock_accept(ash_lock *lock, const ash_lock_grant *g, int64_t sent_ms)
{
    /* What g points to is the lock's from here on. */
    lock->grant = *g;
    remember_doc_id(lock, g->doc);
    ash__lock_set_life(lock, sent_ms);
    join_members(lock);
    end_request(lock, g->write ? ASH_LOCK_WRITING : ASH_LOCK_READING, g->doc);
    ash__lock_event_push(lock, ASH_LOCK_LOCKED, g->doc, NULL);
}

/* A wait ends soon after its time also when the store does not answer. */
static void limit(const ash_lock *lock, int64_t from_ms, const volatile int *cancel)
{
    if (lock->collection->remote)
        ash__lock_limit(from_ms + ASH_LOCK_ANSWER_MS, cancel);
}

/* Where nobody answers, the entry in the queue ends by itself. */
static void withdraw(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    bson_t doc;
    bool found = false;
    limit(lock, ash__clock_ms(), NULL);
    int rc = ash__lock_withdraw(lock, &doc, &found, NULL);
    ash__lock_limit(0, NULL);
    if (rc != 0 || !found)
        return;
    /* The others of this process need not wait for the news, which not every store tells. */
    ash__mutex_lock(&c->mutex);
    ash__lock_note_answer(lock->resource, &doc);
    ash__lock_wake_by(lock->resource, &doc, ash__clock_ms() + c->server_offset_ms);
    ash__mutex_unlock(&c->mutex);
    bson_destroy(&doc);
}

/* Leave the queue in the document first: the next writer may be waiting for that. */
static int give_up(ash_lock *lock, int code, const bson_t *doc, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash_error why = ASH_ERROR_INIT;
    if (lock->queued)
        withdraw(lock);
    if (code == ASH_EINTERRUPTED)
        ash__fail(&why, code, "waiting for the lock was cancelled");
    else
        ash__lock_refuse(doc, &why);
    ash__mutex_lock(&c->mutex);
    end_request(lock, ASH_LOCK_FREE, NULL);
    ash__lock_event_push(lock, code == ASH_EINTERRUPTED ? ASH_LOCK_ERROR : ASH_LOCK_TIMED_OUT, NULL,
                         &why);
    ash__mutex_unlock(&c->mutex);
    if (err != NULL)
        *err = why;
    return code;
}

void ash__lock_fail(ash_lock *lock, int rc, const ash_error *why)
{
    ash_lock_collection *c = lock->collection;
    if (lock->queued && rc != ASH_ETIMEOUT) /* a store that is out of reach would not answer */
        withdraw(lock);
    ash__mutex_lock(&c->mutex);
    end_request(lock, ASH_LOCK_FREE, NULL);
    ash__lock_event_push(lock, ASH_LOCK_ERROR, NULL, why);
    ash__mutex_unlock(&c->mutex);
}

static int give_up_on_error(ash_lock *lock, int rc, const ash_error *why, ash_error *err)
{
    ash__lock_fail(lock, rc, why);
    if (err != NULL)
        *err = *why;
    return rc;
}

/* One try.  Readers of this process join the entry that stands, if it is of this writer's day. */
static int attempt(ash_lock *lock, bool wait, ash_lock_party *party, bson_t *doc, ash_lock_grant *g,
                   ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    bson_oid_t join;
    ash_lock_asking asking = {.wait = wait, .party = party};
    ash__mutex_lock(&c->mutex);
    lock->woken = false;
    if (wait && !lock->queued)
        ash__lock_party_gather(lock, party);
    if (lock->want == ASH_LOCK_WANT_READ && !lock->alone && lock->resource->members > 0) {
        bson_oid_copy(&lock->resource->join, &join);
        asking.join = &join;
    }
    asking.write = lock->want == ASH_LOCK_WANT_WRITE;
    asking.first = !lock->queued;
    asking.called = lock->called && lock->queued;
    lock->called = false;
    /* Noted before it is sent: when the answer is lost, the entry may be there all the same. */
    if (asking.write && wait)
        ash__lock_note_queued(lock, party);
    ash__mutex_unlock(&c->mutex);
    return ash__lock_try(lock, &asking, g, doc, err);
}

/* Writers of this process may have come into the document's queue in another order than into ours:
 * whoever is first there is to know. */
static void call_first_in_queue(ash_lock *lock, const bson_t *doc)
{
    bson_iter_t iter, at;
    bool free = ash__lock_int(doc, "read_locks") == 0 && !ash__lock_bool(doc, "write_lock");
    if (free && lock->want == ASH_LOCK_WANT_WRITE && !is_first_in_queue(lock, doc) &&
        bson_iter_init(&iter, doc) && bson_iter_find_descendant(&iter, "waiters.0.h", &at) &&
        BSON_ITER_HOLDS_OID(&at))
        ash__lock_wake_writer(lock->resource, bson_iter_oid(&at));
}

/* In a crowd of writers those of before stand in the document's queue, and this one enters it with
 * the next. */
static bool is_in_crowd(const ash_lock *lock)
{
    const ash_lock_resource *r = lock->resource;
    return lock->want == ASH_LOCK_WANT_WRITE && !lock->queued && r->queued > 0 &&
           r->lines[ASH_LOCK_WANT_WRITE].count > ASH_LOCK_QUEUED_MAX;
}

/* Somebody in front tries, and takes this one along. */
static bool stays_outside(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    bool follows = lock->want == ASH_LOCK_WANT_READ && lock->async && lock->settings.meta == NULL;
    bool outside = !ash__lock_is_head(lock) && (follows || is_in_crowd(lock));
    if (outside) {
        lock->woken = false;
        lock->due_ms = lock->deadline_ms;
        if (lock->async)
            ash__lock_due(c, lock->due_ms);
    }
    ash__mutex_unlock(&c->mutex);
    return outside;
}

int ash__lock_step(ash_lock *lock, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_grant g = {0};
    ash_lock_party party = {.count = 0};
    ash_error why = ASH_ERROR_INIT;
    bson_t doc;
    int64_t sent = ash__clock_ms();
    /* The last try enters no queue, which it would have to leave again at once. */
    bool wait = sent < lock->deadline_ms;
    if (lock->cancel)
        return give_up(lock, ASH_EINTERRUPTED, NULL, err);
    if (wait && stays_outside(lock))
        return NOT_YET;
    limit(lock, wait ? lock->deadline_ms : sent, &lock->cancel_asking);
    int rc = attempt(lock, wait, &party, &doc, &g, &why);
    ash__lock_limit(0, NULL);
    if (rc < 0) { /* refused is 1 */
        ash__mutex_lock(&c->mutex);
        ash__lock_party_dissolve(&party);
        ash__mutex_unlock(&c->mutex);
    }
    if (rc == ASH_EINTERRUPTED && __atomic_load_n(&lock->cancel_asking, __ATOMIC_RELAXED) != 0)
        return give_up(lock, ASH_EINTERRUPTED, NULL, err);
    if (rc < 0)
        return give_up_on_error(lock, rc, &why, err);
    ash__mutex_lock(&c->mutex);
    if (rc == ASH_LOCK_GRANTED) {
        if (g.write)
            ash__lock_party_refuse(&party, g.doc);
        else
            ash__lock_party_admit(&party, &g, sent);
        ash__lock_accept(lock, &g, sent);
        ash__mutex_unlock(&c->mutex);
        return 0;
    }
    ash__lock_party_refuse(&party, &doc);
    remember_doc_id(lock, &doc);
    bool over = !wait || lock->cancel;
    int code = lock->cancel ? ASH_EINTERRUPTED : ASH_ELOCKED;
    if (!over) {
        ash__lock_plan(lock, &doc);
        call_first_in_queue(lock, &doc);
        ash__lock_want_watch(c);
    }
    ash__mutex_unlock(&c->mutex);
    rc = over ? give_up(lock, code, &doc, err) : NOT_YET;
    bson_destroy(&doc);
    return rc;
}

/* ---- asking ---- */

static int begin(ash_lock *lock, enum ash_lock_want want, bool async, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    if (lock->state != ASH_LOCK_FREE) {
        bool waiting = lock->state == ASH_LOCK_WAITING;
        ash__mutex_unlock(&c->mutex);
        return ash__fail(err, ASH_ESTATE,
                         waiting ? "this lock object waits for a lock already"
                                 : "this lock object holds a lock already");
    }
    lock->state = ASH_LOCK_WAITING;
    lock->want = want;
    lock->async = async;
    lock->cancel = lock->queued = lock->woken = lock->called = false;
    __atomic_store_n(&lock->cancel_asking, 0, __ATOMIC_RELAXED);
    lock->deadline_ms = ash__clock_ms() + lock->settings.time_out_ms;
    lock->due_ms = ASH_LOCK_NEVER;
    /* One of its own for each request, so that `last` in the document says whose grant it was. */
    bson_oid_init(&lock->h, NULL);
    ash__lock_resource_enlist(lock);
    if (async)
        ash__lock_nudge(lock);
    else
        ash__lock_acquire_busy(lock);
    ash__mutex_unlock(&c->mutex);
    return 0;
}

static void wait_for_chance(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    while (!lock->woken && !lock->cancel) {
        if (!ash__cond_wait_until(&lock->changed, &c->mutex, lock->due_ms))
            break;
    }
    ash__mutex_unlock(&c->mutex);
}

static int obtain(ash_lock *lock, enum ash_lock_want want, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    int rc = begin(lock, want, false, err);
    if (rc != 0)
        return rc;
    /* Busy to the end of the wait, so that nobody else asks for this object meanwhile. */
    while ((rc = ash__lock_step(lock, err)) == NOT_YET)
        wait_for_chance(lock);
    ash__mutex_lock(&c->mutex);
    ash__lock_release_busy(lock);
    ash__mutex_unlock(&c->mutex);
    ash__lock_deliver(lock);
    return rc;
}

int ash_lock_obtain_read(ash_lock *lock, ash_error *err)
{
    return obtain(lock, ASH_LOCK_WANT_READ, err);
}

int ash_lock_obtain_write(ash_lock *lock, ash_error *err)
{
    return obtain(lock, ASH_LOCK_WANT_WRITE, err);
}

int ash_lock_request_read(ash_lock *lock, ash_error *err)
{
    return begin(lock, ASH_LOCK_WANT_READ, true, err);
}

int ash_lock_request_write(ash_lock *lock, ash_error *err)
{
    return begin(lock, ASH_LOCK_WANT_WRITE, true, err);
}

void ash_lock_cancel(ash_lock *lock)
{
    ash__mutex_lock(&lock->collection->mutex);
    if (lock->state == ASH_LOCK_WAITING) {
        lock->cancel = true;
        __atomic_store_n(&lock->cancel_asking, 1, __ATOMIC_RELAXED);
        lock->woken = false; /* one that was called already may have looked before this */
        ash__lock_nudge(lock);
    }
    ash__mutex_unlock(&lock->collection->mutex);
}
