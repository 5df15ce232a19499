/* SPDX-License-Identifier: Apache-2.0 */
/* 8: entries of indexes lead to records that give their keys. */
#include "engine/check/internal.h"

#include "base/mem.h"

#include <string.h>

typedef struct entries {
    ash_check *k;
    const ash_coll *c;
    const ash_index *index;
    uint64_t count, bytes;
    bool look_closer; /* compare each with its record */
    ash_key_set keys;
} entries;

static void report(entries *w, uint64_t rid, const char *what)
{
    ash_builder *facts = ash__check_coll_facts(w->c);
    ash__builder_text(facts, "index", w->index->name);
    ash__builder_int64(facts, "rid", (int64_t)rid);
    ash__check_found(w->k, 8, "index", facts, "%s.%s, index %s: %s", w->c->db, w->c->name,
                     w->index->name, what);
}

static bool gives_key(entries *w, uint64_t rid, ash_doc key)
{
    ash_record record;
    bool found;
    /* A record that cannot be read has been reported. */
    if (ash__record_get_unread(w->k->snap, w->c, rid, &record, &found, NULL) != 0)
        return true;
    if (!found || ash__index_keys(w->index, w->k->engine, record.doc, &w->keys, NULL) != 0)
        return false;
    for (uint32_t i = 0; i < w->keys.count; i++) {
        if (ash__bytes_compare(ash__key_set_at(&w->keys, i), key) == 0)
            return true;
    }
    return false;
}

static void check_entry(entries *w, MDB_val key, MDB_val value)
{
    ash_doc encoding;
    uint64_t rid = 0;
    ash_error why = ASH_ERROR_INIT;
    ash_entry_key made;
    w->count++;
    w->bytes += key.mv_size + value.mv_size;
    if (ash__entry_decode(w->index, key, value, &encoding, &rid, &why) != 0) {
        report(w, rid, why.text);
        return;
    }
    ash__entry_key_make(&made, w->index, encoding, rid);
    /* The checksum says that the entry is as it was written; this, that it was written right. */
    if (made.len != key.mv_size || memcmp(made.bytes, key.mv_data, made.len) != 0)
        report(w, rid, "an entry under another key than its own");
    else if (w->look_closer && !gives_key(w, rid, encoding))
        report(w, rid, "an entry that no record gives");
}

static int walk_entries(entries *w, ash_error *err)
{
    uint8_t prefix[4];
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    ash__put_be32(prefix, w->index->id);
    key = ash__val(prefix, sizeof prefix);
    w->count = w->bytes = 0;
    int rc = ash__lmdb_cursor_open(w->k->snap->txn, w->k->engine->dbi[ASH_DB_INDEX], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == 0 && key.mv_size > 4 && memcmp(key.mv_data, prefix, 4) == 0) {
        check_entry(w, key, value);
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    return rc != 0 && rc != MDB_NOTFOUND ? ash__lmdb_fail(rc, err, "cannot walk an index") : 0;
}

static int check_one(entries *w, uint64_t expected, ash_error *err)
{
    uint64_t before = w->k->report.findings, stored[2];
    w->look_closer = false;
    int rc = walk_entries(w, err);
    if (rc != 0)
        return rc;
    w->k->report.index_keys += w->count;
    /* When every key is found and there are no more entries than keys, each entry is one. */
    if (w->count != expected) {
        w->look_closer = true;
        rc = walk_entries(w, err);
    }
    if (rc == 0)
        rc = ash__counts_pair(w->k->snap, 'X', w->index->id, stored, err);
    if (rc == 0 && before == w->k->report.findings &&
        (stored[0] != w->count || stored[1] != w->bytes)) {
        ash_builder *facts = ash__check_coll_facts(w->c);
        ash__builder_text(facts, "index", w->index->name);
        ash__check_found(w->k, 9, "counts", facts,
                         "%s.%s, index %s has %llu entries, its counts say %llu", w->c->db,
                         w->c->name, w->index->name, (unsigned long long)w->count,
                         (unsigned long long)stored[0]);
    }
    return rc;
}

static bool know_index(ash_check *k, uint32_t id)
{
    uint8_t bit = (uint8_t)(1u << (id % 8));
    if (id / 8 >= k->indexes_bytes) {
        size_t bytes = (size_t)id / 8 * 2 + 1024;
        k->indexes = ash__realloc_array(k->indexes, bytes, 1);
        memset(k->indexes + k->indexes_bytes, 0, bytes - k->indexes_bytes);
        k->indexes_bytes = bytes;
    }
    /* Two indexes with one id would share their entries. */
    bool is_new = (k->indexes[id / 8] & bit) == 0;
    k->indexes[id / 8] |= bit;
    return is_new;
}

int ash__check_indexes(ash_check *k, const ash_coll *c, const uint64_t *expected, ash_error *err)
{
    entries w = {.k = k, .c = c, .keys = ASH_KEY_SET_INIT};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++) {
        w.index = &c->indexes[i];
        if (!know_index(k, w.index->id))
            ash__check_found(k, 3, "catalogue", ash__check_coll_facts(c),
                             "%s.%s, index %s has the id of another index", c->db, c->name,
                             w.index->name);
        rc = check_one(&w, expected[i], err);
    }
    ash__key_set_release(&w.keys);
    return rc;
}

/* Collections and indexes are known by being in the catalogue or among what was dropped. */
static bool is_known(ash_check *k, enum ash_database db, uint32_t id)
{
    const ash_coll *c = NULL;
    if (db == ASH_DB_RECORDS)
        return ash__check_is_dropped(k, 'R', id) ||
               ash__catalog_find_id(k->snap, id, &c, NULL) != 0 || c != NULL;
    return ash__check_is_dropped(k, 'X', id) ||
           (id / 8 < k->indexes_bytes && (k->indexes[id / 8] >> (id % 8) & 1) != 0);
}

int ash__check_strays(ash_check *k, enum ash_database db, ash_error *err)
{
    uint8_t from[4];
    int rc = 0;
    for (uint64_t id = 0; rc == 0 && id <= UINT32_MAX; id++) {
        ash_row row;
        ash__put_be32(from, (uint32_t)id);
        rc = ash__row_seek(k->snap, db, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size < 4)
            break;
        /* Damaged branches may lead back, which "pages" tells; going on could take forever. */
        if (ash__get_be32(row.key.mv_data) < id)
            break;
        id = ash__get_be32(row.key.mv_data);
        if (!is_known(k, db, (uint32_t)id))
            ash__check_found(k, db == ASH_DB_RECORDS ? 4 : 8, "stray", NULL, "%s of unknown %s %u",
                             db == ASH_DB_RECORDS ? "records" : "entries",
                             db == ASH_DB_RECORDS ? "collection" : "index", (unsigned)id);
    }
    return rc;
}
