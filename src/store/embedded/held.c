/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/held.h"

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
    ash__mutex_lock(&s->lock);
    h->next = s->held;
    h->link = &s->held;
    if (h->next != NULL)
        h->next->link = &h->next;
    s->held = h;
    ash__mutex_unlock(&s->lock);
    return h;
}

ash_view *ash__held_borrow(ash_held *h)
{
    ash__mutex_lock(&h->store->lock);
    ash_view *view = h->view;
    h->in_use = view != NULL;
    ash__mutex_unlock(&h->store->lock);
    return view;
}

void ash__held_give_back(ash_held *h)
{
    ash__mutex_lock(&h->store->lock);
    h->in_use = false;
    h->used_at_ms = ash__clock_ms();
    ash__mutex_unlock(&h->store->lock);
}

void ash__held_free(ash_held *h)
{
    if (h == NULL)
        return;
    ash__mutex_lock(&h->store->lock);
    *h->link = h->next;
    if (h->next != NULL)
        h->next->link = h->link;
    ash__mutex_unlock(&h->store->lock);
    if (h->view != NULL)
        ash__snapshot_close(h->view);
    ash__free(h);
}

/* One lapsed view, taken out of its holder, or NULL. */
static ash_view *take_lapsed(ash_embedded *s, int64_t before_ms)
{
    ash_view *view = NULL;
    ash__mutex_lock(&s->lock);
    for (ash_held *h = s->held; h != NULL && view == NULL; h = h->next) {
        if (h->in_use || h->view == NULL || h->used_at_ms > before_ms)
            continue;
        view = h->view;
        h->view = NULL;
    }
    ash__mutex_unlock(&s->lock);
    return view;
}

void ash__held_lapse(ash_embedded *s)
{
    int64_t before_ms = ash__clock_ms() - s->pin_timeout_ms;
    for (ash_view *v; (v = take_lapsed(s, before_ms)) != NULL;)
        ash__snapshot_close(v);
}
