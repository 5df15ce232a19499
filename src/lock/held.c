/* SPDX-License-Identifier: Apache-2.0 */
/* Holding a lock: how long that lasts by this machine's clock, renewing, ending, proving it. */
#include "lock/brief.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

/* The server counts a life from a moment behind the one at which the request was sent, so ours ends
 * first; the margin is for clocks that run at different speeds. */
static int64_t margin(int64_t life_ms)
{
    return life_ms / 50 + 20;
}

void ash__lock_set_life(ash_lock *lock, int64_t sent_ms)
{
    const ash_lock_settings *s = &lock->settings;
    ash__mutex_assert_held(&lock->collection->mutex);
    int64_t life = s->life_ms > 0 ? s->life_ms : s->lease_ms;
    lock->until_ms = sent_ms + life - margin(life);
    /* The manual's `expires-soon` comes after about 90 % of a life. */
    lock->soon_ms = s->life_ms > 0 ? sent_ms + (lock->until_ms - sent_ms) * 9 / 10 : 0;
    lock->renew_ms = s->life_ms > 0 ? 0 : sent_ms + life / 3;
    ash__lock_due(lock->collection, lock->soon_ms > 0 ? lock->soon_ms : lock->renew_ms);
}

static bool held(const ash_lock *lock)
{
    return lock->state == ASH_LOCK_READING || lock->state == ASH_LOCK_WRITING;
}

void ash__lock_drop(ash_lock *lock, bool give_back)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_resource *r = lock->resource;
    ash__mutex_assert_held(&c->mutex);
    /* The entry stands while other readers of ours are in it; the next reader joins those. */
    if (!lock->grant.write && r->members > 0 && bson_oid_equal(&r->join, &lock->grant.h))
        r->members--;
    if (give_back) {
        ash_lock_return *item = ash__new(ash_lock_return);
        ash__lock_grant_copy(&lock->grant, &item->grant);
        item->next = c->returns;
        c->returns = item;
        ash__cond_signal(&c->worker_wake);
    }
    ash__lock_grant_release(&lock->grant);
    lock->state = ASH_LOCK_FREE;
    lock->soon_ms = lock->renew_ms = 0;
}

/* Takes the lock for an operation on its document; the grant is copied, since the timer may end it
 * meanwhile. */
static int begin(ash_lock *lock, ash_lock_grant *g, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    int rc = 0;
    ash__mutex_lock(&c->mutex);
    ash__lock_acquire_busy(lock);
    if (held(lock) && ash__clock_ms() < lock->until_ms) {
        ash__lock_grant_copy(&lock->grant, g);
        g->shared = !g->write && lock->resource->members > 1 &&
                    bson_oid_equal(&lock->resource->join, &g->h);
    } else {
        rc = ash__fail(err, ASH_ESTATE, held(lock) ? "lock has expired" : "lock is not held");
        ash__lock_release_busy(lock);
    }
    ash__mutex_unlock(&c->mutex);
    return rc;
}

/* Freed, or even granted anew, while the store was asked? */
static bool still(const ash_lock *lock, const ash_lock_grant *g)
{
    return held(lock) && ash__lock_same_grant(&lock->grant, g);
}

static void finish(ash_lock *lock, ash_lock_grant *g)
{
    ash__lock_grant_release(g);
    ash__lock_release_busy(lock);
    ash__mutex_unlock(&lock->collection->mutex);
    ash__lock_deliver(lock);
}

/* The document as npm's package shows it after a removal: free, for ever. */
static void show_removed(bson_t *doc)
{
    bson_t shown = BSON_INITIALIZER;
    bson_copy_to_excluding_noinit(doc, &shown, "expires", "write_lock", NULL);
    BSON_APPEND_DATE_TIME(&shown, "expires", INT64_C(8000000000000000));
    BSON_APPEND_BOOL(&shown, "write_lock", false);
    bson_destroy(doc);
    bson_copy_to(&shown, doc);
    bson_destroy(&shown);
}

/* The document as it was when the lock had gone from one of this process to the next, between the
 * two. */
static void show_released(bson_t *doc, int64_t writes)
{
    bson_t shown = BSON_INITIALIZER;
    bson_iter_t at;
    bool wide = bson_iter_init_find(&at, doc, "writes") && BSON_ITER_HOLDS_INT64(&at);
    bson_copy_to_excluding_noinit(doc, &shown, "expires", "write_lock", "writes", "meta", "holders",
                                  NULL);
    BSON_APPEND_DATE_TIME(&shown, "expires", ash__lock_date(doc, "last.at"));
    BSON_APPEND_BOOL(&shown, "write_lock", false);
    if (wide)
        BSON_APPEND_INT64(&shown, "writes", writes);
    else
        BSON_APPEND_INT32(&shown, "writes", (int32_t)writes);
    BSON_APPEND_NULL(&shown, "meta");
    BCON_APPEND(&shown, "holders", "[", "]");
    bson_destroy(doc);
    bson_copy_to(&shown, doc);
    bson_destroy(&shown);
}

/* How a hold ends. */
typedef struct ending {
    bool remove;
    ash_lock *heir; /* may get it next; busy meanwhile; or NULL */
    ash_lock_passing passing;
    int64_t sent_ms;
    bson_t doc; /* when it went well */
} ending;

/* One of this process who is first in the document's queue, as far as is known. */
static ash_lock *choose_heir(const ash_lock *lock)
{
    const ash_lock_resource *r = lock->resource;
    ash__mutex_assert_held(&lock->collection->mutex);
    ash_lock *at = r->lines[ASH_LOCK_WANT_WRITE].head;
    while (at != NULL && !(at->queued && bson_oid_equal(&at->h, &r->first)))
        at = at->next_waiter;
    return at != NULL && at->async && !at->busy && !at->cancel ? at : NULL;
}

static int pass_on(ash_lock_collection *c, const ash_lock_grant *g, ending *e, ash_error *err)
{
    e->sent_ms = ash__clock_ms();
    /* The heir's time must not pass by while the store does not answer. */
    if (c->remote)
        ash__lock_limit(e->sent_ms + ASH_LOCK_ANSWER_MS, NULL);
    int rc = ash__lock_pass(e->heir, g, &e->passing, err);
    ash__lock_limit(0, NULL);
    if (e->passing.done)
        e->doc = e->passing.doc;
    if (e->passing.heir_rc != 0)
        ash__lock_fail(e->heir, e->passing.heir_rc, &e->passing.heir_why);
    return rc;
}

static int let_go(ash_lock_collection *c, const ash_lock_grant *g, ending *e, ash_error *err)
{
    int rc = 0;
    if (e->remove) {
        rc = ash__lock_delete(c, g, &e->doc, err);
        if (rc == 0)
            show_removed(&e->doc);
        return rc;
    }
    if (e->heir != NULL)
        rc = pass_on(c, g, e, err);
    if (rc == 0 && !e->passing.done)
        rc = ash__lock_give(c, g, &e->doc, err);
    return rc;
}

static bool is_inherited(const ending *e)
{
    return e->passing.done && e->passing.heir_rc == 0;
}

static void settle_heir(ending *e)
{
    bool waits = !is_inherited(e) && e->passing.heir_rc == 0;
    if (is_inherited(e))
        ash__lock_accept(e->heir, &e->passing.grant, e->sent_ms);
    else if (waits)
        ash__lock_nudge(e->heir);
    ash__lock_release_busy(e->heir);
    if (!waits && e->heir->fn != NULL) /* the worker delivers */
        ash__lock_make_ready(e->heir);
}

/* Who may have it now; what the next tries go by (brief.h). */
static void tell_others(ash_lock *lock, ending *e, bool gone)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_resource *r = lock->resource;
    bool there = gone && !e->remove;
    r->known = there;
    r->busy = there && ash__lock_is_busy(&e->doc);
    if (there)
        ash__lock_note_answer(r, &e->doc);
    if (e->heir != NULL)
        settle_heir(e);
    if (is_inherited(e))
        return;
    if (there)
        ash__lock_wake_by(r, &e->doc, ash__clock_ms() + c->server_offset_ms);
    else
        ash__lock_resource_wake(r, ASH_LOCK_CHANCE_ANY);
}

static void push_end(ash_lock *lock, const ash_lock_grant *g, ending *e, int rc,
                     const ash_error *why)
{
    if (rc != 0) {
        ash__lock_event_push(lock, rc == ASH_ELOST ? ASH_LOCK_LOST : ASH_LOCK_ERROR, NULL, why);
        return;
    }
    if (e->passing.done)
        show_released(&e->doc, g->writes);
    ash__lock_event_push(lock, e->remove ? ASH_LOCK_REMOVED : ASH_LOCK_RELEASED, &e->doc, NULL);
    bson_destroy(&e->doc);
}

static int end_hold(ash_lock *lock, bool remove, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_grant g = {0};
    ash_error why = ASH_ERROR_INIT;
    ending e = {.remove = remove};
    int rc = begin(lock, &g, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&c->mutex);
    if (remove && !g.write) {
        rc = ash__fail(err, ASH_ESTATE, "a read lock cannot be removed, only released");
        finish(lock, &g);
        return rc;
    }
    e.heir = g.write && !remove ? choose_heir(lock) : NULL;
    if (e.heir != NULL)
        e.heir->busy = true;
    ash__mutex_unlock(&c->mutex);
    rc = let_go(c, &g, &e, &why);
    ash__mutex_lock(&c->mutex);
    if (still(lock, &g))
        /* Lost is lost; after any other failure the document may still say that it is held. */
        ash__lock_drop(lock, rc != 0 && rc != ASH_ELOST);
    tell_others(lock, &e, rc == 0);
    push_end(lock, &g, &e, rc, &why);
    finish(lock, &g);
    if (rc != 0 && err != NULL)
        *err = why;
    return rc;
}

int ash_lock_release(ash_lock *lock, ash_error *err)
{
    return end_hold(lock, false, err);
}

int ash_lock_remove(ash_lock *lock, ash_error *err)
{
    return end_hold(lock, true, err);
}

static int64_t life_of(const ash_lock *lock)
{
    return lock->settings.life_ms > 0 ? lock->settings.life_ms : lock->settings.lease_ms;
}

/* After an extension. */
static int take_extension(ash_lock *lock, const ash_lock_grant *g, int rc, const bson_t *doc,
                          int64_t sent, ash_error *why)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    if (!still(lock, g))
        return rc != 0 ? rc : ash__fail(why, ASH_ESTATE, "lock expired while it was renewed");
    if (rc == ASH_ELOST) {
        ash__lock_drop(lock, false);
        ash__lock_event_push(lock, ASH_LOCK_LOST, NULL, why);
    }
    if (rc == 0) {
        bson_destroy(lock->grant.doc);
        lock->grant.doc = bson_copy(doc);
        lock->grant.wanted = ash__lock_is_wanted(doc);
        ash__lock_set_life(lock, sent);
    }
    return rc;
}

int ash_lock_renew(ash_lock *lock, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_grant g = {0};
    ash_error why = ASH_ERROR_INIT;
    bson_t doc;
    int rc = begin(lock, &g, err);
    if (rc != 0)
        return rc;
    /* Read before it is sent: here the life must not begin later than on the server. */
    int64_t sent = ash__clock_ms();
    int extended = ash__lock_extend(c, &g, life_of(lock), &doc, &why);
    ash__mutex_lock(&c->mutex);
    rc = take_extension(lock, &g, extended, &doc, sent, &why);
    if (rc == 0)
        ash__lock_event_push(lock, ASH_LOCK_RENEWED, &doc, NULL);
    else if (rc != ASH_ELOST)
        ash__lock_event_push(lock, ASH_LOCK_ERROR, NULL, &why);
    finish(lock, &g);
    if (extended == 0)
        bson_destroy(&doc);
    if (rc != 0 && err != NULL)
        *err = why;
    return rc;
}

/* Failures other than LOST are not the end yet: the timer asks again until the lease has passed. */
void ash__lock_heartbeat(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_grant g = {0};
    ash_error why = ASH_ERROR_INIT;
    bson_t doc;
    int64_t sent = ash__clock_ms();
    ash__mutex_lock(&c->mutex);
    bool on = held(lock); /* the timer may have ended it since the worker looked */
    if (on)
        ash__lock_grant_copy(&lock->grant, &g);
    ash__mutex_unlock(&c->mutex);
    if (!on)
        return;
    int extended = ash__lock_extend(c, &g, life_of(lock), &doc, &why);
    ash__mutex_lock(&c->mutex);
    take_extension(lock, &g, extended, &doc, sent, &why);
    if (extended == 0)
        bson_destroy(&doc);
    ash__lock_grant_release(&g);
    ash__mutex_unlock(&c->mutex);
}

/* The grant's token, asked for when it is first wanted.  The mutex is let go meanwhile. */
static int find_token(ash_lock *lock, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    ash_lock_grant g = {0};
    ash__mutex_assert_held(&c->mutex);
    ash__lock_acquire_busy(lock);
    int rc = held(lock) ? 0 : ash__fail(err, ASH_ESTATE, "lock is not held");
    if (rc == 0 && lock->grant.token == 0) {
        ash__lock_grant_copy(&lock->grant, &g);
        g.doc = bson_copy(lock->grant.doc);
        ash__mutex_unlock(&c->mutex);
        rc = ash__lock_find_token(c, &g, err);
        ash__mutex_lock(&c->mutex);
        if (rc == 0 && !still(lock, &g))
            rc = ash__fail(err, ASH_ESTATE, "lock ended while its token was asked for");
        if (rc == 0)
            lock->grant.token = g.token;
        ash__lock_grant_release(&g);
    }
    ash__lock_release_busy(lock);
    return rc;
}

int64_t ash_lock_token(const ash_lock *lock)
{
    /* The token belongs to the grant; that it is fetched late is nobody else's business. */
    ash_lock *asked = (ash_lock *)(uintptr_t)lock;
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    bool on = held(lock) && ash__clock_ms() < lock->until_ms && find_token(asked, NULL) == 0;
    int64_t token = on && held(lock) ? lock->grant.token : 0;
    ash__mutex_unlock(&c->mutex);
    return token;
}

/* *out, from a grant whose token is known. */
static void fill_fence(ash_lock *lock, ash_fence *out)
{
    ash_fence full = ASH_FENCE_INIT;
    ash__mutex_assert_held(&lock->collection->mutex);
    if (lock->fence_id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&lock->fence_id);
    bson_value_copy(&lock->grant.doc_id, &lock->fence_id);
    full.collection = lock->collection->name;
    full.lock_id = &lock->fence_id;
    full.writes = lock->grant.writes;
    full.token = lock->grant.token;
    (void)ash__out_copy(out, &full, sizeof full, NULL);
}

int ash_lock_fence(ash_lock *lock, ash_fence *out, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    const ash_fence none = ASH_FENCE_INIT;
    int rc = ash__out_copy(out, &none, sizeof none, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&c->mutex);
    /* Also past its end by our clock: the commit asks the document, which knows better. */
    if (lock->state == ASH_LOCK_WRITING)
        rc = find_token(lock, err);
    else
        rc = ash__fail(err, ASH_ESTATE,
                       lock->state == ASH_LOCK_READING ? "a read lock does not allow changes"
                                                       : "lock is not held");
    if (rc == 0)
        fill_fence(lock, out);
    ash__mutex_unlock(&c->mutex);
    return rc;
}
