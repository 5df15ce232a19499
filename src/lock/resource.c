/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: who of this process waits for one, in which order, and whom a change calls. */
#include "lock/lock.h"

#include "base/clock.h"
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
    ash_assert(!r->waiting && r->members == 0);
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
    ash_lock_line *line = &r->lines[lock->want];
    ash__mutex_assert_held(&c->mutex);
    lock->prev_waiter = line->tail;
    lock->next_waiter = NULL;
    if (line->tail != NULL)
        line->tail->next_waiter = lock;
    else
        line->head = lock;
    line->tail = lock;
    line->count++;
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

bool ash__lock_is_head(const ash_lock *lock)
{
    ash__mutex_assert_held(&lock->collection->mutex);
    return lock->resource->lines[lock->want].head == lock;
}

bool ash__lock_is_crowded(const ash_lock_resource *r)
{
    const ash_lock *reader = r->lines[ASH_LOCK_WANT_READ].head;
    const ash_lock *writer = r->lines[ASH_LOCK_WANT_WRITE].head;
    return (reader != NULL && (writer != NULL || reader->next_waiter != NULL)) ||
           (writer != NULL && writer->next_waiter != NULL);
}

ash_lock *ash__lock_resource_leave(ash_lock *lock)
{
    ash_lock_resource *r = lock->resource;
    ash_lock_line *line = &r->lines[lock->want];
    if (!lock->listed)
        return NULL;
    bool was_head = ash__lock_is_head(lock);
    if (lock->prev_waiter != NULL)
        lock->prev_waiter->next_waiter = lock->next_waiter;
    else
        line->head = lock->next_waiter;
    if (lock->next_waiter != NULL)
        lock->next_waiter->prev_waiter = lock->prev_waiter;
    else
        line->tail = lock->prev_waiter;
    lock->listed = false;
    line->count--;
    if (r->lines[ASH_LOCK_WANT_READ].head == NULL && r->lines[ASH_LOCK_WANT_WRITE].head == NULL)
        stop_waiting(lock->collection, r);
    return was_head ? line->head : NULL;
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

/* One reader is sent ahead, and takes others along. */
void ash__lock_resource_wake(ash_lock_resource *r, ash_lock_chance chance)
{
    if ((chance & ASH_LOCK_CHANCE_WRITE) != 0)
        ash__lock_nudge(r->lines[ASH_LOCK_WANT_WRITE].head);
    if ((chance & ASH_LOCK_CHANCE_READ) != 0)
        ash__lock_nudge(r->lines[ASH_LOCK_WANT_READ].head);
}

void ash__lock_wake_writer(ash_lock_resource *r, const bson_oid_t *h)
{
    ash_lock *at = r->lines[ASH_LOCK_WANT_WRITE].head;
    while (at != NULL && !bson_oid_equal(&at->h, h))
        at = at->next_waiter;
    if (at != NULL)
        at->called = true;
    ash__lock_nudge(at);
}

/* The first of the document's queue goes when no reader is inside, and readers while it is their
 * turn; without a queue, whoever comes. */
void ash__lock_wake_by(ash_lock_resource *r, const bson_t *doc, int64_t server_now)
{
    bson_iter_t iter, first;
    bool read = ash__lock_int(doc, "read_locks") > 0;
    if (ash__lock_bool(doc, "write_lock"))
        return;
    if (!bson_iter_init(&iter, doc) || !bson_iter_find_descendant(&iter, "waiters.0.h", &first))
        ash__lock_resource_wake(r, read ? ASH_LOCK_CHANCE_READ : ASH_LOCK_CHANCE_ANY);
    else if (ash__lock_date(doc, "turn") >= server_now)
        ash__lock_resource_wake(r, ASH_LOCK_CHANCE_READ);
    else if (BSON_ITER_HOLDS_OID(&first) && !read)
        ash__lock_wake_writer(r, bson_iter_oid(&first));
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

/* A writer is called who may be dead by now, and our readers may not have seen its entry: they look
 * after one polling interval, when it has lapsed or will soon. */
static void hasten_reader(ash_lock_resource *r)
{
    ash_lock *reader = r->lines[ASH_LOCK_WANT_READ].head;
    if (reader == NULL)
        return;
    int64_t due = ash__clock_deadline(reader->settings.poll_ms);
    if (due >= reader->due_ms)
        return;
    reader->due_ms = due;
    if (reader->async)
        ash__lock_due(reader->collection, due);
    else
        ash__cond_broadcast(&reader->changed);
}

void ash__lock_wake_document(ash_lock_collection *c, const ash_lock_news *news)
{
    ash__mutex_assert_held(&c->mutex);
    for (ash_lock_resource *r = c->waiting; r != NULL; r = r->next_waiting) {
        /* One that has not seen its document yet is woken by any. */
        if (r->doc_id.value_type != BSON_TYPE_EOD &&
            !ash__lock_same_value(&r->doc_id, news->doc_id))
            continue;
        ash__lock_resource_wake(r, news->chance);
        if (news->next == NULL)
            continue;
        ash__lock_wake_writer(r, news->next);
        hasten_reader(r);
    }
}
