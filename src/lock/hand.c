/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/hand.h"

#include "base/mem.h"
#include "lock/lock.h"

#include <string.h>

/* The lock object forgets its grant, which stays in the document. */
static void let_go(ash_lock *lock, ash_lock_hand *out)
{
    ash_lock_collection *c = lock->collection;
    ash__mutex_lock(&c->mutex);
    ash__lock_acquire_busy(lock);
    *out = (ash_lock_hand){.write = lock->grant.write, .writes = lock->grant.writes};
    bson_oid_copy(&lock->grant.h, &out->h);
    bson_value_copy(&lock->grant.doc_id, &out->doc_id);
    ash__lock_drop(lock, false);
    ash__lock_release_busy(lock);
    ash__mutex_unlock(&c->mutex);
}

int ash__lock_hand_take(ash_lock_collection *c, const ash_lock_wish *wish, ash_lock_hand *out,
                        ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_lock *lock = NULL;
    o.lock_expiration_s = (double)wish->life_ms / 1000;
    /* Lives that are shorter than it would be made longer. */
    o.polling_interval_s = 0.5;
    o.meta_data = wish->meta;
    int rc = ash_lock_new(c, wish->id, &o, &lock, err);
    if (rc == 0) {
        /* Whoever gives it back knows of no others in it. */
        lock->alone = true;
        rc = wish->write ? ash_lock_obtain_write(lock, err) : ash_lock_obtain_read(lock, err);
    }
    if (rc == 0)
        let_go(lock, out);
    ash_lock_free(lock);
    return rc;
}

/* As grants are inside of this folder; borrows from hand. */
static ash_lock_grant grant_of(const ash_lock_hand *hand)
{
    ash_lock_grant g = {.write = hand->write, .writes = hand->writes, .doc_id = hand->doc_id};
    bson_oid_copy(&hand->h, &g.h);
    return g;
}

int ash__lock_hand_renew(ash_lock_collection *c, const ash_lock_hand *hand, int64_t life_ms,
                         ash_error *err)
{
    ash_lock_grant g = grant_of(hand);
    bson_t doc;
    int rc = ash__lock_extend(c, &g, life_ms, &doc, err);
    if (rc == 0)
        bson_destroy(&doc);
    return rc;
}

int ash__lock_hand_release(ash_lock_collection *c, const ash_lock_hand *hand, ash_error *err)
{
    ash_lock_grant g = grant_of(hand);
    bson_t doc;
    int rc = ash__lock_give(c, &g, &doc, err);
    if (rc == 0)
        bson_destroy(&doc);
    return rc;
}

void ash__lock_hand_filter(const ash_lock_hand *hand, bson_t *filter)
{
    ash_lock_grant g = grant_of(hand);
    ash__lock_ownership(&g, filter);
}

void ash__lock_hand_fence(const char *collection, const ash_lock_hand *hand, ash_fence *out)
{
    *out = (ash_fence)ASH_FENCE_INIT;
    out->collection = collection;
    out->lock_id = &hand->doc_id;
    out->writes = hand->writes;
    out->shared = !hand->write;
}

void ash__lock_hand_free(ash_lock_hand *hand)
{
    bson_value_destroy(&hand->doc_id);
    memset(hand, 0, sizeof *hand);
}
