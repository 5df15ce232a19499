/* SPDX-License-Identifier: Apache-2.0 */
/* All chunks of a bucket, in one sorted list: by file and number, the best candidate for each
 * first. */

#include "store/embedded/salvage/chunks.h"

#include "base/hash.h"
#include "base/mem.h"
#include "bson/keycode.h"

#include <stdlib.h>
#include <string.h>

void ash__salvage_file_hash(ash_value id, uint8_t out[16])
{
    ash_buffer key = ASH_BUFFER_INIT;
    /* By the encoding of keys, so that ids which compare as equal are one file. */
    ash__keycode_append(&key, id, false, NULL);
    ash__checksum128(key.data, key.len, out);
    ash__buffer_release(&key);
}

static int by_file(const void *a, const void *b)
{
    const ash_salvage_chunk *x = a, *y = b;
    int order = memcmp(x->file, y->file, sizeof x->file);
    if (order != 0)
        return order;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    /* What the metadata points at comes first, then the newer record. */
    if (x->unclaimed != y->unclaimed)
        return x->unclaimed ? 1 : -1;
    uint64_t s = x->record->place.sequence, t = y->record->place.sequence;
    return (s < t) - (s > t);
}

static void sort(ash_salvage_chunks *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_file);
}

/* false: the document does not say which chunk it is. */
static bool add(ash_salvage_chunks *list, const ash_salvage_record *r, ash_doc doc, bool good)
{
    ash_salvage_chunk c = {.good = good, .unclaimed = r->offset == 0, .record = r};
    ash_value id = ash__doc_get(doc, "files_id"), data = ash__doc_get(doc, "data");
    if (ash__value_is_missing(id) || !ash__value_as_int64(ash__doc_get(doc, "n"), &c.n))
        return false;
    ash__salvage_file_hash(id, c.file);
    /* Data of another kind has no bytes, and fits an empty chunk alone. */
    if (data.type == BSON_TYPE_BINARY && ash__value_binary_content(data, &c.bytes) == NULL)
        c.bytes = UINT32_MAX; /* fits no file */
    list->items = ash__grow_array(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count++] = c;
    return true;
}

static void add_unplaced(ash_salvage_chunks *list, const ash_salvage_record *r)
{
    list->unplaced = ash__grow_array(list->unplaced, list->unplaced_count, &list->unplaced_capacity,
                                     sizeof *list->unplaced);
    list->unplaced[list->unplaced_count++] = r;
}

static void tell_unplaced(ash_salvaging *w, const ash_salvage_coll *c, const ash_salvage_record *r,
                          const ash_error *why)
{
    ash_builder facts;
    ash__finding_begin(&facts, "chunk", c->db, c->name);
    ash__builder_int64(&facts, "record", (int64_t)r->rid);
    ash__finding_place(&facts, r);
    ash__finding_tell(w, &facts, false, "%s.%s, record %llu, a chunk: %s", c->db, c->name,
                      (unsigned long long)r->rid, why->text);
}

int ash__salvage_chunks_load(ash_salvaging *w, const ash_salvage_coll *chunks,
                             ash_salvage_chunks *out, ash_error *err)
{
    size_t count;
    const ash_salvage_record *r = ash__salvage_records(w->from, chunks->id, &count);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        ash_doc doc;
        rc = ash__salvaging_step(w, err);
        if (rc != 0)
            break;
        bool good = ash__salvage_read(w->from, &r[i], &w->buf, &doc, NULL) == 0;
        if (!add(out, &r[i], doc, good) && !good)
            add_unplaced(out, &r[i]);
    }
    sort(out);
    return rc;
}

int ash__salvage_chunks_add_unclaimed(ash_salvaging *w, const ash_salvage_coll *chunks,
                                      ash_salvage_chunks *list, ash_error *err)
{
    const ash_salvage_record *r;
    size_t count;
    if (list->has_unclaimed)
        return 0;
    list->has_unclaimed = true;
    int rc = ash__salvage_unclaimed(w->from, chunks->id, &r, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        ash_doc doc;
        /* A damaged one that nothing points at is nobody's chunk. */
        if (ash__salvage_read(w->from, &r[i], &w->buf, &doc, NULL) == 0)
            add(list, &r[i], doc, true);
    }
    sort(list);
    return rc;
}

/* They are in the order of the records. */
void ash__salvage_chunks_placed(ash_salvage_chunks *list, const ash_salvage_record *r)
{
    size_t from = 0, to = list->unplaced_count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (list->unplaced[middle] < r)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == list->unplaced_count || list->unplaced[from] != r)
        return;
    list->unplaced_count--;
    memmove(list->unplaced + from, list->unplaced + from + 1,
            (list->unplaced_count - from) * sizeof(*list->unplaced));
}

void ash__salvage_chunks_tell(ash_salvaging *w, const ash_salvage_coll *chunks,
                              const ash_salvage_chunks *list)
{
    for (size_t i = 0; i < list->unplaced_count; i++) {
        ash_error why = ASH_ERROR_INIT;
        ash_doc doc;
        ash__salvage_read(w->from, list->unplaced[i], &w->buf, &doc, &why);
        tell_unplaced(w, chunks, list->unplaced[i], &why);
    }
}

void ash__salvage_chunks_release(ash_salvage_chunks *list)
{
    ash__free(list->items);
    ash__free(list->unplaced);
}

ash_salvage_chunk *ash__salvage_chunks_from(const ash_salvage_chunks *list, const uint8_t file[16],
                                            int64_t n)
{
    size_t from = 0, to = list->count;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = memcmp(list->items[middle].file, file, 16);
        if (order < 0 || (order == 0 && list->items[middle].n < n))
            from = middle + 1;
        else
            to = middle;
    }
    if (from == list->count || memcmp(list->items[from].file, file, 16) != 0)
        return NULL;
    return &list->items[from];
}

/* A whole chunk that the metadata points at decides, even when it has the wrong size.  Only where
 * there is none may an unclaimed one stand in. */
const ash_salvage_chunk *ash__salvage_chunks_pick(const ash_salvage_chunks *list,
                                                  const uint8_t file[16], int64_t n, uint32_t bytes,
                                                  const ash_salvage_chunk **bad)
{
    const ash_salvage_chunk *end = list->items + list->count;
    *bad = NULL;
    for (const ash_salvage_chunk *c = ash__salvage_chunks_from(list, file, n);
         c != NULL && c < end && c->n == n && memcmp(c->file, file, 16) == 0; c++) {
        if (c->good && c->bytes == bytes)
            return c;
        if (!c->unclaimed)
            *bad = c;
        if (c->good && !c->unclaimed)
            return NULL;
    }
    return NULL;
}
