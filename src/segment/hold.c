/* SPDX-License-Identifier: Apache-2.0 */
/* Freed blocks that a reader may still see.  Two things keep one from being used again: its hold,
 * until no snapshot is older than the commit that freed it, and pins, which readers set on the
 * blocks they look at between snapshots. */
#include "segment/internal.h"

#include "base/mem.h"

#include <string.h>

enum { FIRST_CHAINS = 1024 };

static ash_pin **pin_chain(ash_segments *s, uint64_t key)
{
    /* 2^64 divided by the golden ratio spreads keys that differ in a few low bits over the upper
     * half, which is taken. */
    return &s->pins[(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (s->pin_chains - 1)];
}

static void pin_link(ash_segments *s, ash_pin *pin)
{
    ash_pin **chain = pin_chain(s, pin->key);
    pin->next = *chain;
    *chain = pin;
}

/* A download pins all the records of its file at once, and files can be large. */
static void add_chains(ash_segments *s)
{
    ash_pin **old = s->pins;
    uint64_t old_chains = s->pin_chains;
    s->pin_chains = old_chains == 0 ? FIRST_CHAINS : 2 * old_chains;
    s->pins = ash__alloc_array(s->pin_chains, sizeof *s->pins);
    for (uint64_t i = 0; i < old_chains; i++) {
        while (old[i] != NULL) {
            ash_pin *pin = old[i];
            old[i] = pin->next;
            pin_link(s, pin);
        }
    }
    ash__free(old);
}

static ash_pin *find_pin(ash_segments *s, uint64_t key)
{
    ash_pin *pin = s->pin_chains > 0 ? *pin_chain(s, key) : NULL;
    while (pin != NULL && pin->key != key)
        pin = pin->next;
    return pin;
}

static uint64_t pin_key(uint32_t segment, uint32_t block)
{
    return (uint64_t)segment << 32 | block;
}

void ash__segments_pin(ash_segments *s, uint32_t segment, uint32_t block)
{
    uint64_t key = pin_key(segment, block);
    ash__mutex_lock(&s->lock);
    ash_pin *pin = find_pin(s, key);
    if (pin == NULL) {
        if (s->pin_count == s->pin_chains)
            add_chains(s);
        pin = ash__new(ash_pin);
        pin->key = key;
        pin_link(s, pin);
        s->pin_count++;
    }
    pin->refs++;
    ash__mutex_unlock(&s->lock);
}

void ash__segments_unpin(ash_segments *s, uint32_t segment, uint32_t block)
{
    uint64_t key = pin_key(segment, block);
    ash__mutex_lock(&s->lock);
    ash_pin *pin = find_pin(s, key);
    ash_assert(pin != NULL);
    if (--pin->refs == 0) {
        ash_pin **link = pin_chain(s, key);
        while (*link != pin)
            link = &(*link)->next;
        *link = pin->next;
        /* Its hold was reaped while it was pinned; nobody else frees it now. */
        if (pin->waiting_blocks > 0) {
            s->waiting_blocks -= pin->waiting_blocks;
            ash__space_free(s, (ash_extent){segment, block, pin->waiting_blocks});
        }
        s->pin_count--;
        ash__free(pin);
    }
    ash__mutex_unlock(&s->lock);
}

void ash__segments_hold(ash_segments *s, ash_extent extent, uint64_t txn)
{
    ash__mutex_lock(&s->lock);
    /* Since ash__segments_unmark it was counted there, as neither used nor free. */
    s->staged_blocks -= extent.blocks;
    if (s->hold_first + s->hold_count == s->hold_capacity) {
        /* Grown only when less than half of it is free in front; else moving makes room enough. */
        if (s->hold_first < s->hold_count || s->hold_capacity == 0) {
            s->hold_capacity = s->hold_capacity * 2 + 64;
            s->holds = ash__realloc_array(s->holds, s->hold_capacity, sizeof *s->holds);
        }
        memmove(s->holds, s->holds + s->hold_first, s->hold_count * sizeof *s->holds);
        s->hold_first = 0;
    }
    s->holds[s->hold_first + s->hold_count++] = (ash_hold){extent, txn};
    ash__mutex_unlock(&s->lock);
}

void ash__segments_reap(ash_segments *s, uint64_t oldest)
{
    ash__mutex_lock(&s->lock);
    /* Holds come in the order of commits, so the first that has to stay ends the search. */
    while (s->hold_count > 0 && s->holds[s->hold_first].txn <= oldest) {
        ash_extent extent = s->holds[s->hold_first].extent;
        s->hold_first++;
        s->hold_count--;
        ash_pin *pin = find_pin(s, pin_key(extent.segment, extent.block));
        if (pin != NULL) {
            pin->waiting_blocks = extent.blocks;
            s->waiting_blocks += extent.blocks;
        } else {
            ash__space_free(s, extent);
        }
    }
    ash__mutex_unlock(&s->lock);
}

void ash__segments_stats(ash_segments *s, ash_segments_stats *out)
{
    memset(out, 0, sizeof *out);
    ash__mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->table_count; i++) {
        const ash_segment *seg = s->table[i];
        if (seg == NULL)
            continue;
        out->files++;
        out->blocks += seg->blocks - 1;
        out->used += seg->used;
        /* Without a map there are no spans, and nothing of it can be staged or held. */
        if (!seg->loaded)
            out->free += seg->blocks - 1 - seg->used;
        for (uint32_t j = 0; j < seg->span_count; j++)
            out->free += seg->spans[j].blocks;
    }
    for (size_t i = 0; i < s->hold_count; i++)
        out->held += s->holds[s->hold_first + i].extent.blocks;
    out->held += s->waiting_blocks;
    out->free += s->punching_blocks;
    out->staged = s->staged_blocks;
    out->pins = s->pin_count;
    ash__mutex_unlock(&s->lock);
}
