/* SPDX-License-Identifier: Apache-2.0 */
/* An open hash of record ids; 0 is no id, so it marks a free place. */

#include "store/embedded/kit/rid_set.h"

#include "base/mem.h"

static size_t slot_of(const ash_rid_set *set, uint64_t rid)
{
    /* Ids are numbered one after the other; the multiplication spreads neighbours. */
    size_t at = (size_t)((rid * UINT64_C(0x9E3779B97F4A7C15)) >> 17) & (set->capacity - 1);
    while (set->slots[at] != 0 && set->slots[at] != rid)
        at = (at + 1) & (set->capacity - 1);
    return at;
}

static void grow(ash_rid_set *set)
{
    ash_rid_set bigger = {.capacity = set->capacity == 0 ? 64 : 2 * set->capacity};
    bigger.slots = ash__alloc_array(bigger.capacity, sizeof *bigger.slots);
    bigger.count = set->count;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i] != 0)
            bigger.slots[slot_of(&bigger, set->slots[i])] = set->slots[i];
    ash__free(set->slots);
    *set = bigger;
}

bool ash__rid_set_add(ash_rid_set *set, uint64_t rid)
{
    /* Half empty, so that probing stays short. */
    if (2 * (set->count + 1) > set->capacity)
        grow(set);
    size_t at = slot_of(set, rid);
    if (set->slots[at] == rid)
        return false;
    set->slots[at] = rid;
    set->count++;
    return true;
}

void ash__rid_set_release(ash_rid_set *set)
{
    ash__free(set->slots);
    *set = (ash_rid_set){0};
}

void ash__rid_list_add(ash_rid_list *list, uint64_t rid)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        list->rids = ash__realloc_array(list->rids, list->capacity, sizeof *list->rids);
    }
    list->rids[list->count++] = rid;
}

void ash__rid_list_release(ash_rid_list *list)
{
    ash__free(list->rids);
    *list = (ash_rid_list){0};
}
