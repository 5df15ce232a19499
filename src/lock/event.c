/* SPDX-License-Identifier: Apache-2.0 */
/* Events: queued under the mutex, handed to the program without it. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

struct ash_lock_event_item {
    struct ash_lock_event_item *next;
    ash_lock_event event;
    bson_t *doc;
};

static void free_item(struct ash_lock_event_item *item)
{
    if (item == NULL)
        return;
    if (item->doc != NULL)
        bson_destroy(item->doc);
    ash__free(item);
}

static struct ash_lock_event_item *pop(ash_lock *lock)
{
    struct ash_lock_event_item *item = lock->first_event;
    if (item == NULL)
        return NULL;
    lock->first_event = item->next;
    if (lock->first_event == NULL)
        lock->last_event = &lock->first_event;
    lock->event_count--;
    return item;
}

void ash__lock_event_push(ash_lock *lock, ash_lock_event_kind kind, const bson_t *doc,
                          const ash_error *err)
{
    struct ash_lock_event_item *item = ash__new(struct ash_lock_event_item);
    ash__mutex_assert_held(&lock->collection->mutex);
    item->event.size = sizeof item->event;
    item->event.kind = kind;
    item->doc = doc != NULL ? bson_copy(doc) : NULL;
    item->event.document = item->doc;
    if (err != NULL)
        item->event.error = *err;
    /* A program that takes no events must not fill the memory with them: the oldest go. */
    if (lock->fn == NULL && lock->event_count >= ASH_LOCK_QUEUE_MAX) {
        free_item(pop(lock));
        lock->events_dropped++;
    }
    *lock->last_event = item;
    lock->last_event = &item->next;
    lock->event_count++;
    ash__cond_broadcast(&lock->changed);
}

/* Who finds nobody delivering does it, also for those who come meanwhile: so events keep their
 * order, never run two at once, and a callback may call whatever it likes. */
void ash__lock_deliver(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    struct ash_lock_event_item *item;
    ash__mutex_lock(&c->mutex);
    if (lock->fn == NULL || lock->delivering) {
        ash__mutex_unlock(&c->mutex);
        return;
    }
    lock->delivering = true;
    while ((item = pop(lock)) != NULL) {
        ash__mutex_unlock(&c->mutex);
        /* Without the mutex: the callback may call anything, also on this lock. */
        lock->fn(lock->fn_ctx, lock, &item->event);
        free_item(item);
        ash__mutex_lock(&c->mutex);
    }
    lock->delivering = false;
    /* A lease is watched for breaks, but not before the callback has seen the grant and, maybe, asked
     * for the token: where there is but one way to the store left, the stream would take it. */
    if (lock->renew_ms > 0)
        ash__lock_want_watch(c);
    ash__cond_broadcast(&lock->changed);
    ash__mutex_unlock(&c->mutex);
}

void ash__lock_events_release(ash_lock *lock)
{
    struct ash_lock_event_item *item;
    while ((item = pop(lock)) != NULL)
        free_item(item);
    if (lock->lent != NULL)
        bson_destroy(lock->lent);
}

void ash_lock_on_event(ash_lock *lock, ash_lock_event_fn fn, void *ctx)
{
    ash__mutex_lock(&lock->collection->mutex);
    lock->fn = fn;
    lock->fn_ctx = ctx;
    ash__mutex_unlock(&lock->collection->mutex);
}

int ash_lock_next_event(ash_lock *lock, int64_t timeout_ms, ash_lock_event *out, ash_error *err)
{
    ash_lock_collection *c = lock->collection;
    int64_t deadline = timeout_ms > 0 ? ash__clock_deadline(timeout_ms) : 1; /* long past */
    struct ash_lock_event_item *item;
    const ash_lock_event none = ASH_LOCK_EVENT_INIT;
    int rc = ash__out_copy(out, &none, sizeof none, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&c->mutex);
    if (lock->fn != NULL) {
        ash__mutex_unlock(&c->mutex);
        return ash__fail(err, ASH_ESTATE, "events of this lock go to its callback");
    }
    while (lock->first_event == NULL) {
        if (!ash__cond_wait_until(&lock->changed, &c->mutex, deadline))
            break;
    }
    item = pop(lock);
    if (item != NULL) {
        if (lock->lent != NULL)
            bson_destroy(lock->lent);
        (void)ash__out_copy(out, &item->event, sizeof item->event, NULL);
        /* The caller may look at the document until it asks for the next event. */
        lock->lent = item->doc;
        item->doc = NULL;
        free_item(item);
    }
    ash__mutex_unlock(&c->mutex);
    return 0;
}

int64_t ash_lock_events_dropped(const ash_lock *lock)
{
    ash__mutex_lock(&lock->collection->mutex);
    int64_t dropped = lock->events_dropped;
    ash__mutex_unlock(&lock->collection->mutex);
    return dropped;
}
