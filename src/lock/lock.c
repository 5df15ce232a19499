/* SPDX-License-Identifier: Apache-2.0 */
/* Lock objects: made, asked what they hold, freed with all that they may still have to do. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

static int check_id(const bson_value_t *id, ash_error *err)
{
    switch (id->value_type) {
    case BSON_TYPE_EOD:
    case BSON_TYPE_ARRAY:
    case BSON_TYPE_REGEX:
    case BSON_TYPE_UNDEFINED:
        return ash__fail(err, ASH_EINVAL, "a value of this type cannot be the id of a resource");
    default:
        return 0;
    }
}

static void link_lock(ash_lock *lock)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    lock->resource = ash__lock_resource_get(c, &lock->id);
    lock->next_open = c->open;
    lock->link_open = &c->open;
    if (c->open != NULL)
        c->open->link_open = &lock->next_open;
    c->open = lock;
    ash__mutex_unlock(&c->mutex);
}

int ash_lock_new(ash_lock_collection *c, const bson_value_t *id, const ash_lock_options *opts,
                 ash_lock **out, ash_error *err)
{
    ash_lock_options o;
    ash_lock_settings settings;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = check_id(id, err);
    if (rc == 0 && (o.db != NULL || o.root != NULL || o.write_concern != NULL))
        rc = ash__fail(err, ASH_EINVAL, "db, root and write concern belong to the lock collection");
    if (rc == 0)
        rc = ash__lock_settings_from(&o, &c->settings, &settings, err);
    if (rc != 0)
        return rc;
    ash_lock *lock = ash__new(ash_lock);
    lock->collection = c;
    lock->settings = settings;
    lock->fn = o.on_event;
    lock->fn_ctx = o.event_ctx;
    lock->state = ASH_LOCK_FREE;
    lock->last_event = &lock->first_event;
    bson_value_copy(id, &lock->id);
    ash__cond_init(&lock->changed);
    link_lock(lock);
    *out = lock;
    return 0;
}

static void end_waiting(ash_lock *lock)
{
    ash_lock_cancel(lock);
    ash__mutex_lock(&lock->collection->mutex);
    while (lock->state == ASH_LOCK_WAITING)
        ash__cond_wait(&lock->changed, &lock->collection->mutex);
    ash__mutex_unlock(&lock->collection->mutex);
}

void ash_lock_free(ash_lock *lock)
{
    if (lock == NULL)
        return;
    ash_lock_collection *c = lock->collection;
    /* A request that waits may be granted while it is being cancelled, so it ends first. */
    end_waiting(lock);
    if (ash_lock_get_state(lock) != ASH_LOCK_FREE)
        ash_lock_release(lock, NULL);
    ash__mutex_lock(&c->mutex);
    /* The worker, a callback or the timer may still have the lock in hand. */
    while (lock->busy || lock->delivering || lock->pins > 0)
        ash__cond_wait(&lock->changed, &c->mutex);
    ash__lock_unready(lock);
    if (lock->state != ASH_LOCK_FREE) /* the release did not get through: the worker tries */
        ash__lock_drop(lock, true);
    *lock->link_open = lock->next_open;
    if (lock->next_open != NULL)
        lock->next_open->link_open = lock->link_open;
    ash__lock_resource_put(c, lock->resource);
    ash__mutex_unlock(&c->mutex);
    /* Nobody else has the lock any more, so its events need no mutex. */
    ash__lock_events_release(lock);
    if (lock->shown != NULL)
        bson_destroy(lock->shown);
    if (lock->settings.meta != NULL)
        bson_destroy(lock->settings.meta);
    if (lock->fence_id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&lock->fence_id);
    bson_value_destroy(&lock->id);
    ash__cond_release(&lock->changed);
    ash__free(lock);
}

ash_lock_state ash_lock_get_state(const ash_lock *lock)
{
    ash__mutex_lock(&lock->collection->mutex);
    ash_lock_state state = lock->state;
    ash__mutex_unlock(&lock->collection->mutex);
    return state;
}

static bool held_now(const ash_lock *lock)
{
    return (lock->state == ASH_LOCK_READING || lock->state == ASH_LOCK_WRITING) &&
           ash__clock_ms() < lock->until_ms;
}

bool ash_lock_is_held(const ash_lock *lock)
{
    ash__mutex_lock(&lock->collection->mutex);
    bool held = held_now(lock);
    ash__mutex_unlock(&lock->collection->mutex);
    return held;
}

const bson_t *ash_lock_document(ash_lock *lock)
{
    ash__mutex_lock(&lock->collection->mutex);
    if (lock->shown != NULL)
        bson_destroy(lock->shown);
    /* A copy, since a renewal replaces the grant's at any moment. */
    lock->shown = held_now(lock) ? bson_copy(lock->grant.doc) : NULL;
    ash__mutex_unlock(&lock->collection->mutex);
    return lock->shown;
}

int64_t ash_lock_remaining_ms(const ash_lock *lock)
{
    int64_t remaining = 0;
    ash__mutex_lock(&lock->collection->mutex);
    if (held_now(lock))
        /* A lease is renewed for as long as the process lives. */
        remaining = lock->renew_ms > 0 ? INT64_MAX : lock->until_ms - ash__clock_ms();
    ash__mutex_unlock(&lock->collection->mutex);
    return remaining;
}
