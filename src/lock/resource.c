/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: who of this process waits for one, in which order, and whom a change calls. */
#include "lock/lock.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static uint32_t bucket_of(const uint8_t *key, uint32_t len)
{
    return (uint32_t)(ash__checksum(key, len) % ASH_LOCK_BUCKETS);
}

ash_lock_resource *ash__lock_resource_get(ash_lock_collection *c, const bson_value_t *id)
{
    bson_t key = BSON_INITIALIZER;
    ash__mutex_assert_held(&c->mutex);
    BSON_APPEND_VALUE(&key, "", id);
    const uint8_t *bytes = bson_get_data(&key);
    ash_lock_resource **bucket = &c->buckets[bucket_of(bytes, key.len)];
    ash_lock_resource *r = *bucket;
    /* By bytes: 1 and 1.0 are two resources here, and meet in the document. */
    while (r != NULL && (r->key_len != key.len || memcmp(r->key, bytes, key.len) != 0))
        r = r->next;
    if (r == NULL) {
        r = ash__new(ash_lock_resource);
        r->key = ash__memdup(bytes, key.len);
        r->key_len = key.len;
        r->next = *bucket;
        *bucket = r;
    }
    r->locks++;
    bson_destroy(&key);
    return r;
}

void ash__lock_resource_put(ash_lock_collection *c, ash_lock_resource *r)
{
    ash__mutex_assert_held(&c->mutex);
    ash_assert(r->locks > 0);
    if (--r->locks > 0)
        return;
    ash_assert(r->head == NULL && r->members == 0);
    ash_lock_resource **at = &c->buckets[bucket_of(r->key, r->key_len)];
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (r->doc_id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&r->doc_id);
    ash__free(r->key);
    ash__free(r);
}

void ash__lock_resource_enlist(ash_lock *lock)
{
    ash_lock_resource *r = lock->resource;
    ash_lock_collection *c = lock->collection;
    ash__mutex_assert_held(&c->mutex);
    lock->prev_waiter = r->tail;
    lock->next_waiter = NULL;
    if (r->tail != NULL)
        r->tail->next_waiter = lock;
    else
        r->head = lock;
    r->tail = lock;
    lock->listed = true;
    if (!r->waiting) {
        r->waiting = true;
        r->next_waiting = c->waiting;
        c->waiting = r;
    }
}

static void stop_waiting(ash_lock_collection *c, ash_lock_resource *r)
{
    ash_lock_resource **at = &c->waiting;
    while (*at != r)
        at = &(*at)->next_waiting;
    *at = r->next_waiting;
    r->waiting = false;
}

static ash_lock *first_of(const ash_lock_resource *r, enum ash_lock_want want)
{
    ash_lock *at = r->head;
    while (at != NULL && at->want != want)
        at = at->next_waiter;
    return at;
}

bool ash__lock_is_head(const ash_lock *lock)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    return first_of(lock->resource, lock->want) == lock;
}

/* The next one in the line has nobody to try for it any more, so it tries itself. */
void ash__lock_resource_leave(ash_lock *lock)
{
    ash_lock_resource *r = lock->resource;
    bool was_head = ash__lock_is_head(lock);
    if (!lock->listed)
        return;
    if (lock->prev_waiter != NULL)
        lock->prev_waiter->next_waiter = lock->next_waiter;
    else
        r->head = lock->next_waiter;
    if (lock->next_waiter != NULL)
        lock->next_waiter->prev_waiter = lock->prev_waiter;
    else
        r->tail = lock->prev_waiter;
    lock->listed = false;
    if (r->head == NULL)
        stop_waiting(lock->collection, r);
    else if (was_head)
        ash__lock_nudge(first_of(r, lock->want));
}

void ash__lock_nudge(ash_lock *lock)
{
    if (lock == NULL || lock->woken)
        return;
    ash__mutex_assert_held(&lock->collection->mutex);
    lock->woken = true;
    if (lock->async) /* no thread of its own waits */
        ash__lock_make_ready(lock);
    else
        ash__cond_broadcast(&lock->changed);
}

/* One reader is sent ahead: when it gets in, it calls others. */
void ash__lock_resource_wake(ash_lock_resource *r, ash_lock_chance chance)
{
    if ((chance & ASH_LOCK_CHANCE_WRITE) != 0)
        ash__lock_nudge(first_of(r, ASH_LOCK_WANT_WRITE));
    if ((chance & ASH_LOCK_CHANCE_READ) != 0)
        ash__lock_nudge(first_of(r, ASH_LOCK_WANT_READ));
}

/* Two, who call two each: all of them soon, but not thousands in vain when readers are out again
 * before all have tried. */
void ash__lock_wake_readers(ash_lock_resource *r)
{
    int called = 0;
    for (ash_lock *at = r->head; at != NULL && called < 2; at = at->next_waiter) {
        if (at->want != ASH_LOCK_WANT_READ || at->woken)
            continue;
        ash__lock_nudge(at);
        called++;
    }
}

void ash__lock_wake_all(ash_lock_collection *c)
{
    ash__mutex_assert_held(&c->mutex);
    for (ash_lock_resource *r = c->waiting; r != NULL; r = r->next_waiting)
        ash__lock_resource_wake(r, ASH_LOCK_CHANCE_ANY);
}

bool ash__lock_same_value(const bson_value_t *a, const bson_value_t *b)
{
    bson_t x = BSON_INITIALIZER, y = BSON_INITIALIZER;
    BSON_APPEND_VALUE(&x, "", a);
    BSON_APPEND_VALUE(&y, "", b);
    bool same = bson_equal(&x, &y);
    bson_destroy(&x);
    bson_destroy(&y);
    return same;
}

void ash__lock_wake_document(ash_lock_collection *c, const bson_value_t *doc_id,
                             ash_lock_chance chance)
{
    ash__mutex_assert_held(&c->mutex);
    for (ash_lock_resource *r = c->waiting; r != NULL; r = r->next_waiting) {
        /* One that has not seen its document yet is woken by any. */
        if (r->doc_id.value_type == BSON_TYPE_EOD || ash__lock_same_value(&r->doc_id, doc_id))
            ash__lock_resource_wake(r, chance);
    }
}
