/* SPDX-License-Identifier: Apache-2.0 */
/* Of all indexes only those of chunks are read: where a payload is gone, they alone still say which
 * chunk it was. */
#include "engine/salvage/internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool ash__salvage_is_chunk_index(ash_doc item)
{
    static const char *const fields[] = {"files_id", "n"};
    ash_value spec = ash__doc_get(item, "spec");
    ash_doc key = ash__doc_empty;
    size_t i = 0;
    if (spec.type == BSON_TYPE_DOCUMENT && !ash__value_truthy(ash__doc_get(item, "rids")) &&
        ash__doc_get(ash__value_doc(spec), "key").type == BSON_TYPE_DOCUMENT &&
        ash__value_truthy(ash__doc_get(ash__value_doc(spec), "unique")) &&
        ash__value_is_missing(ash__doc_get(ash__value_doc(spec), "collation")))
        key = ash__value_doc(ash__doc_get(ash__value_doc(spec), "key"));
    for (ash_doc_iter it = ash__doc_iter(key); ash__doc_iter_next(&it); i++) {
        double direction = 0;
        if (i == 2 || strcmp(it.name, fields[i]) != 0 ||
            !ash__value_as_double(it.value, &direction) || direction <= 0)
            return false;
    }
    return i == 2;
}

static bool is_wanted(const ash_salvage *s, uint32_t index)
{
    for (size_t i = 0; i < s->coll_count; i++) {
        if (s->colls[i].chunk_index == index)
            return true;
    }
    return false;
}

/* An entry of a unique index that is not long: rid and check. */
void ash__salvage_visit_index(void *ctx, const ash_pages_row *row)
{
    ash_salvage *s = ctx;
    ash_salvage_entries *e = &s->entries;
    if (row->key.len <= 4 || row->key.len == ASH_KEY_MAX ||
        row->value.len != ASH_RID_BYTES + ASH_CHECK_BYTES ||
        ash__get_le32(row->value.data + ASH_RID_BYTES) !=
            (uint32_t)ash__row_sum(row->key.data, row->key.len, row->value.data, ASH_RID_BYTES))
        return;
    uint32_t index = ash__get_be32(row->key.data);
    /* Entries come index by index, mostly. */
    if (index != e->last_index) {
        e->last_index = index;
        e->last_wanted = is_wanted(s, index);
    }
    if (!e->last_wanted)
        return;
    e->items = ash__grow_array(e->items, e->count, &e->capacity, sizeof *e->items);
    e->items[e->count++] = (ash_salvage_entry){ash__checksum(row->key.data, row->key.len),
                                               ash__get_be64(row->value.data)};
}

static int by_hash(const void *a, const void *b)
{
    const ash_salvage_entry *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

void ash__salvage_sort_entries(ash_salvage *s)
{
    if (s->entries.count > 0)
        qsort(s->entries.items, s->entries.count, sizeof *s->entries.items, by_hash);
}

static uint64_t rid_of(const void *record)
{
    return ((const ash_salvage_record *)record)->rid;
}

static const ash_salvage_record *find_record(const ash_salvage *s, uint32_t coll_id, uint64_t rid)
{
    size_t count;
    const ash_salvage_record *r = ash__salvage_records(s, coll_id, &count);
    size_t at = ash__first_not_below(r, count, sizeof *r, rid, rid_of);
    return at < count && r[at].rid == rid ? &r[at] : NULL;
}

const ash_salvage_record *ash__salvage_chunk_record(const ash_salvage *s,
                                                    const ash_salvage_coll *chunks,
                                                    ash_value files_id, int64_t n)
{
    ash_buffer key = ASH_BUFFER_INIT;
    ash_value_box box;
    uint8_t index[4];
    const ash_salvage_record *r = NULL;
    if (chunks->chunk_index == 0 || s->entries.count == 0)
        return NULL;
    ash__put_be32(index, chunks->chunk_index);
    ash__buffer_append(&key, index, sizeof index);
    ash__keycode_append(&key, files_id, false, NULL);
    ash__keycode_append(&key, ash__box_int64(&box, n), false, NULL);
    /* A hash in place of the key: there may be many millions of chunks. */
    ash_salvage_entry wanted = {ash__checksum(key.data, key.len), 0};
    const ash_salvage_entry *found =
        bsearch(&wanted, s->entries.items, s->entries.count, sizeof wanted, by_hash);
    if (found != NULL)
        r = find_record(s, chunks->id, found->rid);
    ash__buffer_release(&key);
    return r;
}
