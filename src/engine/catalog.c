/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the catalogue.  Rows are parsed once and kept by collection id and checksum: the same
 * bytes give the same entry, whatever transaction they were read in. */
#include "engine/internal.h"

#include "base/mem.h"

#include <string.h>

enum { LOOK_BACK = 8 };

static void hold(ash_snapshot *snap, ash_catalog_entry *entry)
{
    ash_held_colls *held = &snap->colls;
    if (held->count == held->capacity) {
        held->capacity = held->capacity * 2 + 8;
        held->items = ash__realloc_array(held->items, held->capacity, sizeof(*held->items));
    }
    held->items[held->count++] = entry;
}

/* A snapshot that lists many collections holds many: only the latest are looked at. */
static ash_catalog_entry *find_held(const ash_snapshot *snap, uint32_t id, uint64_t sum)
{
    for (size_t i = snap->colls.count; i > 0 && i + LOOK_BACK > snap->colls.count; i--) {
        ash_catalog_entry *entry = snap->colls.items[i - 1];
        if (entry->coll.id == id && entry->sum == sum)
            return entry;
    }
    return NULL;
}

static ash_catalog_entry *cache_find(ash_engine *e, uint32_t id, uint64_t sum)
{
    ash_catalog_entry *entry = NULL;
    ash__mutex_lock(&e->cache_lock);
    for (int i = 0; i < ASH_CACHE_WAYS && entry == NULL; i++) {
        ash_catalog_entry *at = e->cache[id % ASH_CACHE_SETS][i];
        if (at != NULL && at->coll.id == id && at->sum == sum)
            entry = at;
    }
    if (entry != NULL)
        atomic_fetch_add(&entry->refs, 1);
    ash__mutex_unlock(&e->cache_lock);
    return entry;
}

static void cache_add(ash_engine *e, ash_catalog_entry *entry)
{
    ash_catalog_entry **set = e->cache[entry->coll.id % ASH_CACHE_SETS];
    ash__mutex_lock(&e->cache_lock);
    /* An older state of the same collection makes way first: mostly nobody reads that any more. */
    unsigned way = e->cache_turn++ % ASH_CACHE_WAYS;
    for (unsigned i = 0; i < ASH_CACHE_WAYS; i++) {
        if (set[i] != NULL && set[i]->coll.id == entry->coll.id)
            way = i;
    }
    ash_catalog_entry *old = set[way];
    atomic_fetch_add(&entry->refs, 1);
    set[way] = entry;
    ash__mutex_unlock(&e->cache_lock);
    /* Outside the lock: it may be the last reference, and free the compiled filters. */
    ash__entry_unref(old);
}

void ash__cache_release(ash_engine *e)
{
    for (size_t i = 0; i < ASH_CACHE_SETS; i++) {
        for (size_t j = 0; j < ASH_CACHE_WAYS; j++)
            ash__entry_unref(e->cache[i][j]);
    }
}

/* The id without parsing all: it is the first field. */
static uint32_t row_id(ash_doc row)
{
    bson_t all;
    bson_iter_t it;
    if (!bson_init_static(&all, row.data, row.len) || !bson_iter_init_find(&it, &all, "id"))
        return 0;
    return (uint32_t)bson_iter_as_int64(&it);
}

int ash__catalog_load(ash_snapshot *snap, MDB_val key, MDB_val row, const ash_coll **out,
                      ash_error *err)
{
    ash_doc doc;
    ash_catalog_entry *entry = NULL;
    int rc = ash__sum_check(key, row, &doc, "a row of the catalogue", err);
    if (rc != 0)
        return rc;
    /* The checksum is the version: equal rows have equal entries, and any change has another. */
    uint64_t sum = ash__get_le64(row.mv_data);
    uint32_t id = row_id(doc);
    entry = find_held(snap, id, sum);
    if (entry == NULL) {
        entry = cache_find(snap->engine, id, sum);
        if (entry == NULL) {
            ash_doc names = {(const uint8_t *)key.mv_data + 1, key.mv_size - 1};
            rc = ash__entry_parse(snap->engine, names, doc, sum, &entry, err);
            if (rc != 0)
                return rc;
            /* Two who parse the same at once both add it; the later one stays. */
            cache_add(snap->engine, entry);
        }
        hold(snap, entry);
    }
    *out = &entry->coll;
    return 0;
}

int ash__catalog_find(ash_snapshot *snap, const char *db, const char *name, const ash_coll **out,
                      ash_error *err)
{
    uint8_t key[ASH_KEY_MAX];
    MDB_val row;
    bool found;
    *out = NULL;
    /* No collection has a name that is too long. */
    size_t len = ash__entry_key(key, db, name, NULL);
    if (len == 0)
        return 0;
    int rc = ash__row_get(snap, ASH_DB_CATALOG, ash__bytes(key, len), &row, &found, err);
    if (rc == 0 && found)
        rc = ash__catalog_load(snap, ash__val(key, len), row, out, err);
    return rc;
}

int ash__catalog_find_id(ash_snapshot *snap, uint32_t coll_id, const ash_coll **out, ash_error *err)
{
    uint8_t id_key[5], key[ASH_KEY_MAX];
    MDB_val row;
    bool found;
    *out = NULL;
    ash__letter_key(id_key, 'I', coll_id);
    int rc =
        ash__row_get(snap, ASH_DB_CATALOG, ash__bytes(id_key, sizeof id_key), &row, &found, err);
    if (rc != 0 || !found)
        return rc;
    /* The row by id has no checksum; what it leads to has one. */
    if (row.mv_size + 1 > ASH_KEY_MAX)
        return ash__fail(err, ASH_ECORRUPT, "a name in the catalogue is damaged");
    size_t len = row.mv_size + 1;
    key[0] = 'N';
    memcpy(key + 1, row.mv_data, row.mv_size);
    rc = ash__row_get(snap, ASH_DB_CATALOG, ash__bytes(key, len), &row, &found, err);
    if (rc == 0 && !found)
        rc = ash__fail(err, ASH_ECORRUPT, "collection %u has no row in the catalogue",
                       (unsigned)coll_id);
    if (rc == 0)
        rc = ash__catalog_load(snap, ash__val(key, len), row, out, err);
    return rc;
}

/* Keys are re-sought, so that visit may change the catalogue when v is the writer's. */
int ash__catalog_each(ash_snapshot *snap, const char *db,
                      bool (*visit)(void *ctx, const ash_coll *c), void *ctx, ash_error *err)
{
    uint8_t from[ASH_KEY_MAX + 1];
    size_t from_len = 1, db_len = db != NULL ? strlen(db) : 0;
    size_t prefix_len = db != NULL ? db_len + 2 : 1;
    bool go_on = true;
    int rc = 0;
    if (prefix_len > ASH_NAME_MAX)
        return 0;
    from[0] = 'N';
    if (db != NULL) {
        memcpy(from + 1, db, db_len + 1);
        from_len = prefix_len;
    }
    while (go_on) {
        ash_row row;
        const ash_coll *c = NULL;
        rc = ash__row_seek(snap, ASH_DB_CATALOG, ash__bytes(from, from_len), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size < prefix_len ||
            memcmp(row.key.mv_data, from, prefix_len) != 0)
            break;
        /* The key that follows directly. */
        memcpy(from, row.key.mv_data, row.key.mv_size);
        from_len = row.key.mv_size + 1;
        from[row.key.mv_size] = 0;
        rc = ash__catalog_load(snap, row.key, row.value, &c, err);
        if (rc != 0)
            break;
        go_on = visit(ctx, c);
    }
    return rc;
}

int ash__catalog_each_db(ash_snapshot *snap, bool (*visit)(void *ctx, const char *db), void *ctx,
                         ash_error *err)
{
    uint8_t from[ASH_KEY_MAX + 1] = {'N'};
    size_t from_len = 1;
    bool go_on = true;
    int rc = 0;
    while (go_on) {
        ash_row row;
        rc = ash__row_seek(snap, ASH_DB_CATALOG, ash__bytes(from, from_len), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size < 2 ||
            *(const uint8_t *)row.key.mv_data != 'N')
            break;
        size_t len = strnlen((const char *)row.key.mv_data + 1, row.key.mv_size - 1) + 1;
        memcpy(from, row.key.mv_data, len);
        from[len] = 0;
        go_on = visit(ctx, (const char *)from + 1);
        from[len] = 1; /* behind all collections of this database */
        from_len = len + 1;
    }
    return rc;
}

int ash__catalog_each_ttl(ash_snapshot *snap,
                          bool (*visit)(void *ctx, const ash_coll *c, const ash_index *index),
                          void *ctx, ash_error *err)
{
    uint8_t from[5];
    bool go_on = true;
    int rc = 0;
    for (uint64_t id = 0; go_on && rc == 0 && id <= UINT32_MAX; id++) {
        ash_row row;
        const ash_coll *c = NULL;
        ash__letter_key(from, 'T', (uint32_t)id);
        rc = ash__row_seek(snap, ASH_DB_CATALOG, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size != 5 ||
            *(const uint8_t *)row.key.mv_data != 'T')
            break;
        id = ash__get_be32((const uint8_t *)row.key.mv_data + 1);
        rc = ash__catalog_find_id(snap, (uint32_t)id, &c, err);
        for (uint32_t i = 0; rc == 0 && go_on && c != NULL && i < c->index_count; i++) {
            if (c->indexes[i].expire_after_s >= 0)
                go_on = visit(ctx, c, &c->indexes[i]);
        }
    }
    return rc;
}
