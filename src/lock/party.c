/* SPDX-License-Identifier: Apache-2.0 */
/* Those of this process who go by one move: thousands of readers would take as many to come in, and
 * be at the door when the next writer's turn has come; and a crowd of writers that stands in the
 * document's queue in one run can hand the lock on among themselves. */
#include "lock/lock.h"

#include "base/mem.h"

/* What the grant says of its holder has to be the same for all of them; and who has less time must
 * not wait for an answer as long as the leader would. */
static bool may_join(const ash_lock *leader, const ash_lock *lock)
{
    const ash_lock_settings *a = &leader->settings, *b = &lock->settings;
    return lock != leader && lock->async && !lock->busy && !lock->cancel && a->meta == NULL &&
           b->meta == NULL && a->life_ms == b->life_ms && a->lease_ms == b->lease_ms &&
           a->grace_ms == b->grace_ms && lock->deadline_ms >= leader->deadline_ms;
}

void ash__lock_party_gather(ash_lock *leader, ash_lock_party *p)
{
    ash_lock_resource *r = leader->resource;
    bool write = leader->want == ASH_LOCK_WANT_WRITE;
    int room = write ? ASH_LOCK_QUEUED_MAX - 1 - r->queued : ASH_LOCK_PARTY_MAX;
    ash__mutex_assert_held(&leader->collection->mutex);
    p->count = 0;
    ash_lock *at = r->lines[leader->want].head;
    for (; at != NULL && p->count < room; at = at->next_waiter) {
        if (at->queued || !may_join(leader, at))
            continue;
        at->busy = true;
        /* This try is theirs too; whoever calls them from here on tells of something newer. */
        at->woken = at->called = false;
        ash__lock_unready(at);
        p->members[p->count++] = at;
    }
}

void ash__lock_note_queued(ash_lock *leader, const ash_lock_party *p)
{
    ash_lock_resource *r = leader->resource;
    ash__mutex_assert_held(&leader->collection->mutex);
    r->queued += !leader->queued + p->count;
    leader->queued = true;
    for (int i = 0; i < p->count; i++)
        p->members[i]->queued = true;
}

void ash__lock_party_admit(ash_lock_party *p, const ash_lock_grant *g, int64_t sent_ms)
{
    for (int i = 0; i < p->count; i++) {
        ash_lock *lock = p->members[i];
        ash_lock_grant own;
        ash__lock_grant_copy(g, &own);
        own.doc = bson_copy(g->doc);
        own.count = g->count + 1 + i;
        own.token = 0; /* its own, when it asks */
        ash__lock_accept(lock, &own, sent_ms);
        ash__lock_release_busy(lock);
        if (lock->fn != NULL) /* the worker delivers */
            ash__lock_make_ready(lock);
    }
}

void ash__lock_party_refuse(ash_lock_party *p, const bson_t *doc)
{
    for (int i = 0; i < p->count; i++) {
        ash_lock *lock = p->members[i];
        ash__lock_plan(lock, doc);
        ash__lock_release_busy(lock);
    }
}

void ash__lock_party_dissolve(ash_lock_party *p)
{
    for (int i = 0; i < p->count; i++) {
        ash__lock_nudge(p->members[i]);
        ash__lock_release_busy(p->members[i]);
    }
}
