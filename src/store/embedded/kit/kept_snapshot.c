/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots that outlive a call, in a list by which the sweeper finds those that nobody has
 * touched. */

#include "store/embedded/kit/kept_snapshot.h"

#include "base/clock.h"

/* All fields are guarded by the store's lock. */
struct ash_kept_snapshot {
    ash_embedded *store;
    ash_snapshot *snap; /* NULL: lapsed */
    bool in_use;
    int64_t used_at_ms;
    struct ash_kept_snapshot *next;
    struct ash_kept_snapshot **link; /* what points at us */
};

ash_kept_snapshot *ash__kept_snapshot_new(ash_embedded *s, ash_snapshot *snap)
{
    ash_kept_snapshot *k = ash__new(ash_kept_snapshot);
    *k = (ash_kept_snapshot){.store = s, .snap = snap, .used_at_ms = ash__clock_ms()};
    ash__monitor_lock(s->monitor);
    k->next = s->kept;
    k->link = &s->kept;
    if (k->next != NULL)
        k->next->link = &k->next;
    s->kept = k;
    ash__monitor_unlock(s->monitor);
    return k;
}

ash_snapshot *ash__kept_snapshot_borrow(ash_kept_snapshot *k)
{
    ash__monitor_lock(k->store->monitor);
    ash_snapshot *snap = k->snap;
    /* While it is lent the sweeper leaves it alone, however old it is. */
    k->in_use = snap != NULL;
    ash__monitor_unlock(k->store->monitor);
    return snap;
}

void ash__kept_snapshot_give_back(ash_kept_snapshot *k)
{
    ash__monitor_lock(k->store->monitor);
    k->in_use = false;
    k->used_at_ms = ash__clock_ms();
    ash__monitor_unlock(k->store->monitor);
}

void ash__kept_snapshot_free(ash_kept_snapshot *k)
{
    if (k == NULL)
        return;
    ash__monitor_lock(k->store->monitor);
    *k->link = k->next;
    if (k->next != NULL)
        k->next->link = k->link;
    ash__monitor_unlock(k->store->monitor);
    if (k->snap != NULL)
        ash__snapshot_close(k->snap);
    ash__free(k);
}

/* One that nobody uses, and that is too old by either rule, taken out of its holder; or NULL.
 */
static ash_snapshot *take_lapsed(ash_embedded *s, int64_t before_ms, uint64_t before_commit)
{
    ash_snapshot *snap = NULL;
    ash__monitor_lock(s->monitor);
    for (ash_kept_snapshot *k = s->kept; k != NULL && snap == NULL; k = k->next) {
        if (k->in_use || k->snap == NULL ||
            (k->used_at_ms > before_ms && ash__snapshot_commit(k->snap) >= before_commit))
            continue;
        snap = k->snap;
        k->snap = NULL;
    }
    ash__monitor_unlock(s->monitor);
    return snap;
}

static void lapse(ash_embedded *s, uint64_t before_commit)
{
    int64_t before_ms = ash__clock_ms() - s->pin_timeout_ms;
    /* One at a time: closing is done without the monitor, and the list may change meanwhile. */
    for (ash_snapshot *snap; (snap = take_lapsed(s, before_ms, before_commit)) != NULL;)
        ash__snapshot_close(snap);
}

void ash__kept_snapshots_lapse(ash_embedded *s)
{
    lapse(s, 0);
}

void ash__kept_snapshots_lapse_before(ash_embedded *s, uint64_t commit)
{
    lapse(s, commit);
}

uint64_t ash__kept_snapshots_oldest(ash_embedded *s)
{
    uint64_t oldest = UINT64_MAX;
    ash__monitor_lock(s->monitor);
    for (const ash_kept_snapshot *k = s->kept; k != NULL; k = k->next)
        if (k->snap != NULL && ash__snapshot_commit(k->snap) < oldest)
            oldest = ash__snapshot_commit(k->snap);
    ash__monitor_unlock(s->monitor);
    return oldest;
}
