/* SPDX-License-Identifier: Apache-2.0 */
/* What a dry run would have moved, by its id: what comes later is judged by it, as it would find
 * things so. */
#include "tree/rewind.h"

#include "base/hash.h"
#include "base/mem.h"

static ash_tree_moved *slot_of(const ash_tree_rewind *w, const bson_value_t *id)
{
    bson_t doc = BSON_INITIALIZER;
    bson_append_value(&doc, "", 0, id);
    size_t i = (size_t)ash__checksum(bson_get_data(&doc), doc.len);
    bson_destroy(&doc);
    for (i &= w->moved_capacity - 1; w->moved[i].id.value_type != BSON_TYPE_EOD;
         i = (i + 1) & (w->moved_capacity - 1))
        if (ash__same_id(&w->moved[i].id, id))
            break;
    return &w->moved[i];
}

static void make_room(ash_tree_rewind *w)
{
    ash_tree_moved *before = w->moved;
    size_t n = w->moved_capacity;
    if (2 * w->moved_count < n)
        return;
    w->moved_capacity = n > 0 ? 2 * n : 64;
    w->moved = ash__alloc_array(w->moved_capacity, sizeof *w->moved);
    for (size_t i = 0; i < n; i++)
        if (before[i].id.value_type != BSON_TYPE_EOD)
            *slot_of(w, &before[i].id) = before[i];
    ash__free(before);
}

void ash__rewind_remember(ash_tree_rewind *w, const bson_value_t *id, const char *to)
{
    make_room(w);
    ash_tree_moved *slot = slot_of(w, id);
    if (slot->id.value_type == BSON_TYPE_EOD) {
        bson_value_copy(id, &slot->id);
        w->moved_count++;
    }
    ash__free(slot->to);
    slot->to = to != NULL ? ash__strdup(to) : NULL;
}

const ash_tree_moved *ash__rewind_moved(const ash_tree_rewind *w, const bson_value_t *id)
{
    if (w->moved_count == 0)
        return NULL;
    const ash_tree_moved *slot = slot_of(w, id);
    return slot->id.value_type != BSON_TYPE_EOD ? slot : NULL;
}

void ash__rewind_forget(ash_tree_rewind *w)
{
    for (size_t i = 0; i < w->moved_capacity; i++)
        if (w->moved[i].id.value_type != BSON_TYPE_EOD) {
            bson_value_destroy(&w->moved[i].id);
            ash__free(w->moved[i].to);
        }
    ash__free(w->moved);
}
