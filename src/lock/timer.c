/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that knows what is due when: ends of lives, renewals, tries of requests that nobody
 * waits for in a call.  It touches no document; what takes the store goes to the worker. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/mem.h"

/* Locks whose events wait to be delivered when the mutex is free again. */
struct outbox {
    ash_lock **locks;
    size_t count, room;
};

static void send(struct outbox *box, ash_lock *lock, ash_lock_event_kind kind, const bson_t *doc,
                 const ash_error *why)
{
    ash__lock_event_push(lock, kind, doc, why);
    if (box->count == box->room) {
        box->room = box->room == 0 ? 16 : 2 * box->room;
        box->locks = ash__realloc_array(box->locks, box->room, sizeof(ash_lock *));
    }
    lock->pins++; /* it must not be freed before its events are delivered */
    box->locks[box->count++] = lock;
}

static void end_life(ash_lock *lock, struct outbox *box)
{
    ash_error why = ASH_ERROR_INIT;
    bson_t *doc = bson_copy(lock->grant.doc);
    bool lease = lock->renew_ms > 0;
    /* Given back although it has ended: on the server it has not quite, and others wait. */
    ash__lock_drop(lock, true);
    if (lease) {
        ash__fail(&why, ASH_ELOST, "lease of the lock ran out before it could be renewed");
        send(box, lock, ASH_LOCK_LOST, NULL, &why);
    } else {
        send(box, lock, ASH_LOCK_EXPIRED, doc, NULL);
    }
    bson_destroy(doc);
}

static int64_t look_at_held(ash_lock *lock, int64_t now, struct outbox *box)
{
    if (now >= lock->until_ms) {
        end_life(lock, box);
        return ASH_LOCK_NEVER;
    }
    /* The earliest of its end, the warning before it, and the next renewal. */
    int64_t due = lock->until_ms;
    if (lock->soon_ms > 0 && now >= lock->soon_ms) {
        lock->soon_ms = 0;
        send(box, lock, ASH_LOCK_EXPIRES_SOON, lock->grant.doc, NULL);
    } else if (lock->soon_ms > 0) {
        due = lock->soon_ms;
    }
    if (lock->renew_ms > 0 && now >= lock->renew_ms) {
        /* If that fails, again after a tenth of the lease. */
        lock->renew_ms = now + lock->settings.lease_ms / 10 + 1;
        lock->renew_asked = true;
        ash__lock_make_ready(lock);
    }
    if (lock->renew_ms > 0 && lock->renew_ms < due)
        due = lock->renew_ms;
    return due;
}

static int64_t look_at(ash_lock *lock, int64_t now, struct outbox *box)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    switch (lock->state) {
    case ASH_LOCK_READING:
    case ASH_LOCK_WRITING:
        return look_at_held(lock, now, box);
    case ASH_LOCK_WAITING:
        if (!lock->async)
            return ASH_LOCK_NEVER;
        if (now < lock->due_ms)
            return lock->due_ms;
        lock->due_ms = ASH_LOCK_NEVER;
        ash__lock_nudge(lock);
        return ASH_LOCK_NEVER;
    case ASH_LOCK_FREE:
        break;
    }
    return ASH_LOCK_NEVER;
}

static void deliver_all(ash_lock_collection *c, struct outbox *box)
{
    for (size_t i = 0; i < box->count; i++) {
        ash__lock_deliver(box->locks[i]);
        ash__mutex_lock(&c->mutex);
        box->locks[i]->pins--;
        ash__cond_broadcast(&box->locks[i]->changed);
        ash__mutex_unlock(&c->mutex);
    }
    box->count = 0;
}

void *ash__lock_timer(void *collection)
{
    ash_lock_collection *c = collection;
    struct outbox box = {0};
    ash__mutex_lock(&c->mutex);
    while (!c->closing) {
        int64_t now = ash__clock_ms();
        if (now < c->next_due_ms) {
            ash__cond_wait_until(&c->timer_wake, &c->mutex,
                                 c->next_due_ms == ASH_LOCK_NEVER ? 0 : c->next_due_ms);
            continue;
        }
        /* Every lock says anew when it is due; that goes through all, but only when one was. */
        c->next_due_ms = ASH_LOCK_NEVER;
        for (ash_lock *lock = c->open; lock != NULL; lock = lock->next_open)
            ash__lock_due(c, look_at(lock, now, &box));
        if (box.count == 0)
            continue; /* without letting the mutex go: something may be due at once */
        ash__mutex_unlock(&c->mutex);
        deliver_all(c, &box);
        ash__mutex_lock(&c->mutex);
    }
    ash__mutex_unlock(&c->mutex);
    ash__free(box.locks);
    return NULL;
}

void ash__lock_due(ash_lock_collection *c, int64_t due_ms)
{
    ash__mutex_assert_held(&c->mutex);
    if (due_ms >= c->next_due_ms)
        return;
    c->next_due_ms = due_ms;
    ash__cond_signal(&c->timer_wake);
}
