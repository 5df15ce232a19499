/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of a batch while they are in the caller's hands: small ones in an arena, large ones
 * pinned where they lie. */

#include "store/embedded/kit/batch.h"

#include "base/mem.h"

#include <string.h>

void ash__batch_memory_init(ash_batch_memory *m, ash_embedded *s)
{
    *m = (ash_batch_memory){.store = s};
    ash__monitor_lock(s->monitor);
    m->next = s->batches;
    m->link = &s->batches;
    if (m->next != NULL)
        m->next->link = &m->next;
    s->batches = m;
    ash__monitor_unlock(s->monitor);
}

static void set_out(ash_batch_memory *m, bool out)
{
    ash__monitor_lock(m->store->monitor);
    /* Under the monitor, for the sweeper touches the same pins (touch_all). */
    m->out = out;
    if (m->pins != NULL)
        ash__pins_hold(m->pins, out);
    if (m->also != NULL)
        ash__pins_hold(m->also, out);
    ash__monitor_unlock(m->store->monitor);
}

void ash__batch_memory_keep(ash_batch_memory *m, ash_pins *pins)
{
    ash__monitor_lock(m->store->monitor);
    m->also = pins;
    if (pins != NULL && m->out)
        ash__pins_hold(pins, true);
    ash__monitor_unlock(m->store->monitor);
}

void ash__batch_memory_touch_all(ash_embedded *s)
{
    ash__monitor_lock(s->monitor);
    for (ash_batch_memory *m = s->batches; m != NULL; m = m->next) {
        if (!m->out)
            continue;
        if (m->pins != NULL)
            ash__pins_touch(m->pins);
        if (m->also != NULL)
            ash__pins_touch(m->also);
    }
    ash__monitor_unlock(s->monitor);
}

static void clear(ash_batch_memory *m)
{
    if (m->pins != NULL)
        ash__pins_clear(m->pins);
    if (m->arena != NULL)
        ash__arena_reset(m->arena);
    m->count = 0;
    m->bytes = 0;
}

/* `out` stays as it is until give: no harm comes from pins that live a little longer. */
void ash__batch_memory_begin(ash_batch_memory *m, size_t max_docs, size_t max_bytes)
{
    clear(m);
    m->max_docs = max_docs;
    m->max_bytes = max_bytes;
}

bool ash__batch_memory_is_full(const ash_batch_memory *m)
{
    return (m->max_docs != 0 && m->count >= m->max_docs) ||
           (m->count > 0 && m->bytes >= m->max_bytes);
}

bool ash__batch_memory_fits(const ash_batch_memory *m, size_t len)
{
    /* One document always fits, or a cursor would come to a halt before it. */
    if (m->count == 0)
        return true;
    return !ash__batch_memory_is_full(m) && m->bytes + len <= m->max_bytes;
}

void ash__batch_memory_add_view(ash_batch_memory *m, ash_doc doc)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity == 0 ? 8 : 2 * m->capacity;
        m->docs = ash__realloc_array(m->docs, m->capacity, sizeof *m->docs);
    }
    m->docs[m->count++] = doc;
    m->bytes += doc.len;
}

void ash__batch_memory_add_copy(ash_batch_memory *m, ash_doc doc)
{
    if (m->arena == NULL)
        m->arena = ash__arena_new();
    uint8_t *copy = ash__arena_alloc(m->arena, doc.len);
    memcpy(copy, doc.data, doc.len);
    ash__batch_memory_add_view(m, (ash_doc){copy, doc.len});
}

static ash_pins *pins_of(ash_batch_memory *m)
{
    if (m->pins == NULL) {
        /* Many batches have no large document and need no pins. */
        ash_pins *pins = ash__pins_new(m->store->engine);
        ash__monitor_lock(m->store->monitor);
        m->pins = pins;
        ash__pins_hold(pins, m->out);
        ash__monitor_unlock(m->store->monitor);
    }
    return m->pins;
}

void ash__batch_memory_add_record(ash_batch_memory *m, ash_snapshot *snap, const ash_record *r)
{
    if (r->place.segment == 0) {
        ash__batch_memory_add_copy(m, r->doc);
        return;
    }
    ash__pins_add(pins_of(m), snap, &r->place);
    ash__batch_memory_add_view(m, r->doc);
}

void ash__batch_memory_give(ash_batch_memory *m, bool exhausted, ash_batch *out)
{
    if (m->out != (m->count > 0))
        set_out(m, m->count > 0);
    *out = (ash_batch){.docs = m->docs, .count = m->count, .exhausted = exhausted};
}

void ash__batch_memory_hold(ash_batch_memory *m)
{
    if (!m->out)
        set_out(m, true);
}

void ash__batch_memory_rest(ash_batch_memory *m)
{
    if (m->out)
        set_out(m, false);
    clear(m);
}

void ash__batch_memory_release(ash_batch_memory *m)
{
    if (m->store == NULL)
        return;
    ash__monitor_lock(m->store->monitor);
    /* Out of the sweeper's reach before the pins go. */
    *m->link = m->next;
    if (m->next != NULL)
        m->next->link = m->link;
    ash__monitor_unlock(m->store->monitor);
    ash__pins_free(m->pins);
    ash__arena_free(m->arena);
    ash__free(m->docs);
    *m = (ash_batch_memory){0};
}
