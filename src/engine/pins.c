/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of pinned records.  The segments count pins by block; here is who holds which, and since
 * when nobody has asked for them. */
#include "engine/internal.h"

#include "base/clock.h"
#include "base/mem.h"

struct ash_pins {
    ash_engine *engine;
    struct ash_pins *next, *before; /* all sets of the engine */
    ash_pointer *places;            /* guarded by pins_lock, like the rest */
    size_t count;
    size_t capacity;
    int64_t touched;
    bool lapsed;
    bool held; /* somebody is reading: it does not lapse */
};

ash_pins *ash__pins_new(ash_engine *e)
{
    ash_pins *p = ash__new(ash_pins);
    p->engine = e;
    p->touched = ash__clock_coarse_ms();
    ash__mutex_lock(&e->pins_lock);
    p->next = e->pin_sets;
    if (p->next != NULL)
        p->next->before = p;
    e->pin_sets = p;
    ash__mutex_unlock(&e->pins_lock);
    return p;
}

static void release_all(ash_pins *p)
{
    ash__mutex_assert_held(&p->engine->pins_lock);
    for (size_t i = 0; i < p->count; i++)
        ash__segments_unpin(p->engine->segments, p->places[i].segment, p->places[i].block);
    p->count = 0;
}

void ash__pins_add(ash_pins *p, ash_snapshot *snap, const ash_pointer *place)
{
    ash_engine *e = p->engine;
    ash_assert(snap->engine == e);
    /* An inline document is copied by the caller; LMDB's pages cannot be pinned. */
    if (place->segment == 0)
        return;
    /* Adding to the set and pinning in one: in between it might lapse. */
    ash__mutex_lock(&e->pins_lock);
    p->touched = ash__clock_coarse_ms();
    if (p->count == p->capacity) {
        p->capacity = p->capacity * 2 + 16;
        p->places = ash__realloc_array(p->places, p->capacity, sizeof *p->places);
    }
    /* A set that lapsed once has lost records, and stays lapsed until it is cleared. */
    if (!p->lapsed) {
        p->places[p->count++] = *place;
        ash__segments_pin(e->segments, place->segment, place->block);
    }
    ash__mutex_unlock(&e->pins_lock);
}

bool ash__pins_touch(ash_pins *p)
{
    ash__mutex_lock(&p->engine->pins_lock);
    bool alive = !p->lapsed;
    p->touched = ash__clock_coarse_ms();
    ash__mutex_unlock(&p->engine->pins_lock);
    return alive;
}

int ash__pins_read(ash_pins *p, const ash_pointer *place, ash_doc *out, ash_error *err)
{
    ash_payload payload;
    size_t from = 0, to = place->len;
    /* Before anything is read: from here on it does not lapse for a while. */
    if (!ash__pins_touch(p))
        return ash__fail(err, ASH_ECURSOR, "the cursor was idle for too long");
    int rc = ash__pins_open(p, place, &payload, err);
    if (rc == 0)
        rc = ash__segments_verify(&payload, &from, &to, err);
    if (rc == 0)
        *out = (ash_doc){ash__payload_data(&payload), payload.len};
    return rc;
}

int ash__pins_open(ash_pins *p, const ash_pointer *place, ash_payload *out, ash_error *err)
{
    ash_place at = {place->segment, place->block, place->len, place->sequence};
    return ash__segments_open(p->engine->segments, &at, NULL, out, err);
}

int ash__pins_open_again(ash_pins *p, const ash_pointer *place, uint32_t piece, ash_payload *out,
                         ash_error *err)
{
    ash_place at = {place->segment, place->block, place->len, place->sequence};
    return ash__segments_open_again(p->engine->segments, &at, piece, out, err);
}

void ash__pins_hold(ash_pins *p, bool held)
{
    ash__mutex_lock(&p->engine->pins_lock);
    p->held = held;
    p->touched = ash__clock_coarse_ms();
    ash__mutex_unlock(&p->engine->pins_lock);
}

void ash__pins_clear(ash_pins *p)
{
    ash__mutex_lock(&p->engine->pins_lock);
    release_all(p);
    p->lapsed = false;
    p->touched = ash__clock_coarse_ms();
    ash__mutex_unlock(&p->engine->pins_lock);
}

void ash__pins_free(ash_pins *p)
{
    if (p == NULL)
        return;
    ash_engine *e = p->engine;
    ash__mutex_lock(&e->pins_lock);
    release_all(p);
    if (p->before != NULL)
        p->before->next = p->next;
    else
        e->pin_sets = p->next;
    if (p->next != NULL)
        p->next->before = p->before;
    ash__mutex_unlock(&e->pins_lock);
    ash__free(p->places);
    ash__free(p);
}

/* Let go of what the sets hold that nobody has touched for too long. */
void ash__pins_lapse(ash_engine *e)
{
    /* A client that never comes back must not keep space for ever. */
    int64_t oldest = ash__clock_coarse_ms() - e->opts.pin_timeout_ms;
    ash__mutex_lock(&e->pins_lock);
    for (ash_pins *p = e->pin_sets; p != NULL; p = p->next) {
        if (p->count > 0 && !p->held && p->touched < oldest) {
            release_all(p);
            p->lapsed = true;
        }
    }
    ash__mutex_unlock(&e->pins_lock);
}
