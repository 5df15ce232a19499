/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/kit/kept_snapshot.h"

#include "base/clock.h"

/* All fields are guarded by the store's lock. */
struct ash_held {
    ash_embedded *store;
    ash_view *view; /* NULL: lapsed */
    bool in_use;
    int64_t used_at_ms;
    struct ash_held *next;
    struct ash_held **link; /* what points at us */
};

ash_held *ash__held_new(ash_embedded *s, ash_view *view)
{
    ash_held *h = ash__new(ash_held);
    *h = (ash_held){.store = s, .view = view, .used_at_ms = ash__clock_ms()};
    ash__monitor_lock(s->monitor);
    h->next = s->held;
    h->link = &s->held;
    if (h->next != NULL)
        h->next->link = &h->next;
    s->held = h;
    ash__monitor_unlock(s->monitor);
    return h;
}

ash_view *ash__held_borrow(ash_held *h)
{
    ash__monitor_lock(h->store->monitor);
    ash_view *view = h->view;
    h->in_use = view != NULL;
    ash__monitor_unlock(h->store->monitor);
    return view;
}

void ash__held_give_back(ash_held *h)
{
    ash__monitor_lock(h->store->monitor);
    h->in_use = false;
    h->used_at_ms = ash__clock_ms();
    ash__monitor_unlock(h->store->monitor);
}

void ash__held_free(ash_held *h)
{
    if (h == NULL)
        return;
    ash__monitor_lock(h->store->monitor);
    *h->link = h->next;
    if (h->next != NULL)
        h->next->link = h->link;
    ash__monitor_unlock(h->store->monitor);
    if (h->view != NULL)
        ash__snapshot_close(h->view);
    ash__free(h);
}

/* One view that nobody uses, and that is too old by either rule, taken out of its holder; or NULL.
 */
static ash_view *take_lapsed(ash_embedded *s, int64_t before_ms, uint64_t before_commit)
{
    ash_view *view = NULL;
    ash__monitor_lock(s->monitor);
    for (ash_held *h = s->held; h != NULL && view == NULL; h = h->next) {
        if (h->in_use || h->view == NULL ||
            (h->used_at_ms > before_ms && ash__view_commit(h->view) >= before_commit))
            continue;
        view = h->view;
        h->view = NULL;
    }
    ash__monitor_unlock(s->monitor);
    return view;
}

static void lapse(ash_embedded *s, uint64_t before_commit)
{
    int64_t before_ms = ash__clock_ms() - s->pin_timeout_ms;
    for (ash_view *v; (v = take_lapsed(s, before_ms, before_commit)) != NULL;)
        ash__snapshot_close(v);
}

void ash__held_lapse(ash_embedded *s)
{
    lapse(s, 0);
}

void ash__held_lapse_before(ash_embedded *s, uint64_t commit)
{
    lapse(s, commit);
}

uint64_t ash__held_oldest(ash_embedded *s)
{
    uint64_t oldest = UINT64_MAX;
    ash__monitor_lock(s->monitor);
    for (const ash_held *h = s->held; h != NULL; h = h->next)
        if (h->view != NULL && ash__view_commit(h->view) < oldest)
            oldest = ash__view_commit(h->view);
    ash__monitor_unlock(s->monitor);
    return oldest;
}
