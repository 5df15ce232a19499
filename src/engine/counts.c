/* SPDX-License-Identifier: Apache-2.0 */
/* How many records and entries there are, so that count() and stats need not walk.  Rows of
 * collections are written with each change, since the record ids come from them; those of indexes
 * are gathered, as one document touches many. */
#include "engine/internal.h"

#include <string.h>

int ash__counts_get(const ash_snapshot *snap, uint32_t coll_id, ash_counts *out, ash_error *err)
{
    uint8_t key[5];
    MDB_val value;
    bool found;
    memset(out, 0, sizeof *out);
    ash__letter_key(key, 'C', coll_id);
    int rc = ash__row_get(snap, ASH_DB_COUNTS, ash__bytes(key, sizeof key), &value, &found, err);
    if (rc != 0 || !found)
        return rc;
    if (value.mv_size != 32)
        return ash__fail(err, ASH_ECORRUPT, "the counts of collection %u are damaged",
                         (unsigned)coll_id);
    const uint8_t *at = value.mv_data;
    out->count = ash__get_le64(at);
    out->data_bytes = ash__get_le64(at + 8);
    out->storage_bytes = ash__get_le64(at + 16);
    out->last_rid = ash__get_le64(at + 24);
    return 0;
}

int ash__counts_put(ash_writer *w, uint32_t coll_id, const ash_counts *counts, ash_error *err)
{
    uint8_t key[5], value[32];
    ash__letter_key(key, 'C', coll_id);
    ash__put_le64(value, counts->count);
    ash__put_le64(value + 8, counts->data_bytes);
    ash__put_le64(value + 16, counts->storage_bytes);
    ash__put_le64(value + 24, counts->last_rid);
    return ash__row_put(w, ASH_DB_COUNTS, ash__bytes(key, sizeof key),
                        ash__bytes(value, sizeof value), err);
}

static int read_pair(const ash_snapshot *snap, char letter, uint32_t id, uint64_t out[2],
                     ash_error *err)
{
    uint8_t key[5];
    MDB_val value;
    bool found;
    out[0] = out[1] = 0;
    ash__letter_key(key, letter, id);
    int rc = ash__row_get(snap, ASH_DB_COUNTS, ash__bytes(key, sizeof key), &value, &found, err);
    if (rc != 0 || !found)
        return rc;
    if (value.mv_size != 16)
        return ash__fail(err, ASH_ECORRUPT, "the counts of index %u are damaged", (unsigned)id);
    out[0] = ash__get_le64(value.mv_data);
    out[1] = ash__get_le64((const uint8_t *)value.mv_data + 8);
    return 0;
}

static ash_count_change *find_change(ash_writer *w, char letter, uint32_t id)
{
    for (size_t i = 0; i < w->count_changes; i++) {
        if (w->counts[i].letter == letter && w->counts[i].id == id)
            return &w->counts[i];
    }
    return NULL;
}

int ash__counts_pair(const ash_snapshot *snap, char letter, uint32_t id, uint64_t out[2],
                     ash_error *err)
{
    int rc = read_pair(snap, letter, id, out, err);
    const ash_count_change *c =
        rc == 0 && snap->is_writer ? find_change(&snap->engine->writer, letter, id) : NULL;
    if (c != NULL) {
        out[0] += c->by[0];
        out[1] += c->by[1];
    }
    return rc;
}

int ash__counts_add(ash_writer *w, char letter, uint32_t id, int64_t n, int64_t bytes,
                    ash_error *err)
{
    ash_count_change *c = find_change(w, letter, id);
    /* Room for some is enough: when it is full, all are written and it begins anew. */
    if (c == NULL && w->count_changes == ASH_COUNT_CHANGES) {
        int rc = ash__counts_flush(w, err);
        if (rc != 0)
            return rc;
    }
    if (c == NULL) {
        c = &w->counts[w->count_changes++];
        *c = (ash_count_change){.letter = letter, .id = id};
    }
    /* Negative ones wrap around, and the sum does so back. */
    c->by[0] += (uint64_t)n;
    c->by[1] += (uint64_t)bytes;
    w->changed = true;
    return 0;
}

static int flush_one(ash_writer *w, const ash_count_change *c, ash_error *err)
{
    uint64_t pair[2];
    uint8_t key[5], value[16];
    int rc = read_pair(&w->snap, c->letter, c->id, pair, err);
    if (rc != 0)
        /* The rows of documents are in the transaction already; their counts must not be left out.
         */
        return ash__writer_break(w, rc, err);
    ash__letter_key(key, c->letter, c->id);
    ash__put_le64(value, pair[0] + c->by[0]);
    ash__put_le64(value + 8, pair[1] + c->by[1]);
    return ash__row_put(w, ASH_DB_COUNTS, ash__bytes(key, sizeof key),
                        ash__bytes(value, sizeof value), err);
}

int ash__counts_flush(ash_writer *w, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->count_changes; i++)
        rc = flush_one(w, &w->counts[i], err);
    w->count_changes = 0;
    return rc;
}

int ash__coll_stats(ash_snapshot *snap, const ash_coll *c, ash_coll_stats *out, ash_error *err)
{
    ash_counts counts;
    int rc = ash__counts_get(snap, c->id, &counts, err);
    out->count = counts.count;
    out->data_bytes = counts.data_bytes;
    out->storage_bytes = counts.storage_bytes;
    out->last_rid = counts.last_rid;
    return rc;
}

int ash__index_stats(ash_snapshot *snap, const ash_index *i, uint64_t *keys, uint64_t *bytes,
                     ash_error *err)
{
    uint64_t pair[2];
    int rc = ash__counts_pair(snap, 'X', i->id, pair, err);
    *keys = pair[0];
    *bytes = pair[1];
    return rc;
}
