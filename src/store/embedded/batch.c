/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/batch.h"

#include "base/mem.h"

#include <string.h>

void ash__batch_memory_init(ash_batch_memory *m, ash_engine *engine)
{
    *m = (ash_batch_memory){.arena = ash__arena_new(), .pins = ash__pins_new(engine)};
}

void ash__batch_memory_begin(ash_batch_memory *m, size_t max_docs, size_t max_bytes)
{
    ash__batch_memory_rest(m);
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
    if (m->count == 0)
        return true;
    return !ash__batch_memory_is_full(m) && m->bytes + len <= m->max_bytes;
}

void ash__batch_memory_add_view(ash_batch_memory *m, ash_doc doc)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity == 0 ? 64 : 2 * m->capacity;
        m->docs = ash__realloc_array(m->docs, m->capacity, sizeof *m->docs);
    }
    m->docs[m->count++] = doc;
    m->bytes += doc.len;
}

void ash__batch_memory_add_copy(ash_batch_memory *m, ash_doc doc)
{
    uint8_t *copy = ash__arena_alloc(m->arena, doc.len);
    memcpy(copy, doc.data, doc.len);
    ash__batch_memory_add_view(m, (ash_doc){copy, doc.len});
}

void ash__batch_memory_add_record(ash_batch_memory *m, ash_view *v, const ash_record *r)
{
    if (r->place.segment == 0) {
        ash__batch_memory_add_copy(m, r->doc);
        return;
    }
    ash__pins_add(m->pins, v, &r->place);
    ash__batch_memory_add_view(m, r->doc);
}

void ash__batch_memory_give(const ash_batch_memory *m, bool exhausted, ash_batch *out)
{
    *out = (ash_batch){.docs = m->docs, .count = m->count, .exhausted = exhausted};
}

void ash__batch_memory_rest(ash_batch_memory *m)
{
    ash__pins_clear(m->pins);
    ash__arena_reset(m->arena);
    m->count = 0;
    m->bytes = 0;
}

void ash__batch_memory_release(ash_batch_memory *m)
{
    ash__pins_free(m->pins);
    ash__arena_free(m->arena);
    ash__free(m->docs);
    *m = (ash_batch_memory){0};
}
