/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that asks the store on behalf of locks that no thread of the program works on. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/mem.h"

/* Renewals first, since a lease runs out; then writers, whom nobody overtakes; readers may be
 * thousands. */
static bool is_urgent(const ash_lock *lock)
{
    return lock->state != ASH_LOCK_WAITING || lock->want == ASH_LOCK_WANT_WRITE;
}

void ash__lock_make_ready(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    ash_lock **at = &c->ready_head;
    ash__mutex_assert_held(&c->mutex);
    if (lock->ready)
        return;
    lock->ready = true;
    if (is_urgent(lock))
        while (*at != NULL && is_urgent(*at))
            at = &(*at)->next_ready;
    else if (c->ready_tail != NULL)
        at = &c->ready_tail->next_ready;
    lock->next_ready = *at;
    *at = lock;
    if (lock->next_ready == NULL)
        c->ready_tail = lock;
    ash__cond_signal(&c->worker_wake);
}

void ash__lock_unready(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    ash_lock **at = &c->ready_head, *before = NULL;
    ash__mutex_assert_held(&c->mutex);
    if (!lock->ready)
        return;
    while (*at != lock) {
        before = *at;
        at = &(*at)->next_ready;
    }
    *at = lock->next_ready;
    if (c->ready_tail == lock)
        c->ready_tail = before;
    lock->ready = false;
}

/* Lets the mutex go meanwhile. */
static void serve(ash_lock_collection *c, ash_lock *lock)
{
    ash__mutex_assert_held(&c->mutex);
    bool waiting = lock->state == ASH_LOCK_WAITING && lock->async;
    bool leased = lock->renew_ms > 0 && lock->renew_asked &&
                  (lock->state == ASH_LOCK_READING || lock->state == ASH_LOCK_WRITING);
    bool ask = !lock->busy && (waiting || leased);
    if (!ask && lock->first_event == NULL)
        return;
    if (ask) {
        lock->busy = true;
        lock->renew_asked = false;
        ash__mutex_unlock(&c->mutex);
        if (waiting)
            ash__lock_step(lock, NULL);
        else
            ash__lock_heartbeat(lock);
        ash__mutex_lock(&c->mutex);
        ash__lock_release_busy(lock);
    }
    lock->pins++; /* no longer busy, but not to be freed before its events are delivered */
    ash__mutex_unlock(&c->mutex);
    ash__lock_deliver(lock);
    ash__mutex_lock(&c->mutex);
    lock->pins--;
    ash__cond_broadcast(&lock->changed);
}

/* If it cannot be given back now, its life in the document ends by itself. */
static void give_back(ash_lock_collection *c, ash_lock_return *item)
{
    bson_t doc;
    ash__mutex_assert_held(&c->mutex);
    ash__mutex_unlock(&c->mutex);
    if (ash__lock_give(c, &item->grant, &doc, NULL) == 0)
        bson_destroy(&doc);
    ash__mutex_lock(&c->mutex);
    const ash_lock_news news = {&item->grant.doc_id, ASH_LOCK_CHANCE_ANY, NULL};
    ash__lock_wake_document(c, &news);
    ash__lock_grant_release(&item->grant);
    ash__free(item);
}

void *ash__lock_worker(void *collection)
{
    ash_lock_collection *c = collection;
    ash__mutex_lock(&c->mutex);
    for (;;) {
        ash_lock *lock = c->ready_head;
        ash_lock_return *item = c->returns;
        if (item != NULL) {
            c->returns = item->next;
            give_back(c, item);
        } else if (lock != NULL) {
            ash__lock_unready(lock);
            serve(c, lock);
        } else if (c->closing) { /* only when nothing is left to give back */
            break;
        } else {
            ash__cond_wait(&c->worker_wake, &c->mutex);
        }
    }
    ash__mutex_unlock(&c->mutex);
    return NULL;
}
