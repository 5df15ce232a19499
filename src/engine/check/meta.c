/* SPDX-License-Identifier: Apache-2.0 */
/* 2, 3, 10, 11: the trees as LMDB walks them, the catalogue, and rows that have nothing but a
 * checksum. */
#include "engine/check/internal.h"

#include "base/mem.h"

#include <string.h>

/* Touch every byte: values on overflow pages are only pointers until then. */
static uint8_t touch(MDB_val v)
{
    uint8_t all = 0;
    for (size_t i = 0; i < v.mv_size; i += 64)
        all ^= ((const uint8_t *)v.mv_data)[i];
    return all;
}

/* Whether who looks for the row finds it: what leads to a page may be wrong though the page is not.
 */
static bool is_reachable(const ash_check *k, int database, MDB_val key, MDB_val value)
{
    MDB_val found;
    return ash__lmdb_get(k->snap->txn, k->engine->dbi[database], &key, &found) == 0 &&
           found.mv_data == value.mv_data && found.mv_size == value.mv_size;
}

/* 2: rows in ascending order, each where it is looked for, as many as the database says. */
int ash__check_pages(ash_check *k, int database, ash_error *err)
{
    MDB_cursor *cursor = NULL;
    MDB_stat stat_of;
    MDB_val key, value;
    uint8_t before[ASH_KEY_MAX];
    size_t before_len = 0;
    uint64_t rows = 0, unordered = 0, unreachable = 0;
    volatile uint8_t sink = 0;
    int rc = ash__lmdb_stat(k->snap->txn, k->engine->dbi[database], &stat_of);
    if (rc == 0)
        rc = ash__lmdb_cursor_open(k->snap->txn, k->engine->dbi[database], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    /* A tree that leads back into itself has no end. */
    while (rc == 0 && rows <= stat_of.ms_entries) {
        ash_doc now = {key.mv_data, key.mv_size};
        /* No room to keep it for comparing; the number of rows will tell. */
        if (key.mv_size > ASH_KEY_MAX)
            break;
        if (rows > 0 && ash__bytes_compare((ash_doc){before, before_len}, now) >= 0)
            unordered++;
        unreachable += !is_reachable(k, database, key, value);
        memcpy(before, key.mv_data, key.mv_size);
        before_len = key.mv_size;
        sink = (uint8_t)(sink ^ touch(value));
        rows++;
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    if (unordered > 0)
        ash__check_found(k, 2, "pages", NULL, "database %d of meta.mdb: %llu rows out of order",
                         database, (unsigned long long)unordered);
    if (unreachable > 0)
        ash__check_found(k, 2, "pages", NULL, "database %d of meta.mdb: %llu rows cannot be found",
                         database, (unsigned long long)unreachable);
    if ((rc == 0 || rc == MDB_NOTFOUND) && rows != stat_of.ms_entries)
        ash__check_found(k, 2, "pages", NULL, "database %d of meta.mdb: %llu rows instead of %llu",
                         database, (unsigned long long)rows,
                         (unsigned long long)stat_of.ms_entries);
    if (rc != 0 && rc != MDB_NOTFOUND)
        return ash__lmdb_fail(rc, err, "cannot walk the pages");
    return 0;
}

bool ash__check_is_dropped(ash_check *k, char letter, uint32_t id)
{
    uint8_t key[5];
    MDB_val value;
    bool found;
    ash__letter_key(key, letter, id);
    return ash__row_get(k->snap, ASH_DB_DROPS, ash__bytes(key, sizeof key), &value, &found, NULL) ==
               0 &&
           found;
}

static uint32_t last_id(ash_check *k, const char *name)
{
    MDB_val value;
    bool found;
    if (ash__row_get(k->snap, ASH_DB_META, ash__bytes(name, strlen(name)), &value, &found, NULL) !=
            0 ||
        !found || value.mv_size != 4)
        return 0;
    return ash__get_le32(value.mv_data);
}

/* 3: one collection against the rows beside its own. */
static void check_coll(ash_check *k, const ash_coll *c)
{
    uint8_t key[5];
    MDB_val value;
    bool found = false, has_ttl = false;
    const ash_coll *by_id = NULL;
    k->report.collections++;
    if (ash__catalog_find_id(k->snap, c->id, &by_id, NULL) != 0 || by_id == NULL ||
        by_id->id != c->id || strcmp(by_id->db, c->db) != 0 || strcmp(by_id->name, c->name) != 0)
        ash__check_found(k, 3, "catalogue", ash__check_coll_facts(c),
                         "%s.%s: its id %u leads elsewhere", c->db, c->name, (unsigned)c->id);
    if (c->id > last_id(k, "collection") || ash__check_is_dropped(k, 'R', c->id))
        ash__check_found(k, 3, "catalogue", ash__check_coll_facts(c),
                         "%s.%s has id %u, which was not given or was dropped", c->db, c->name,
                         (unsigned)c->id);
    for (uint32_t i = 0; i < c->index_count; i++) {
        has_ttl = has_ttl || c->indexes[i].expire_after_s >= 0;
        if (c->indexes[i].id > last_id(k, "index") ||
            ash__check_is_dropped(k, 'X', c->indexes[i].id))
            ash__check_found(k, 3, "catalogue", ash__check_coll_facts(c),
                             "%s.%s, index %s has id %u, which was not given or was dropped", c->db,
                             c->name, c->indexes[i].name, (unsigned)c->indexes[i].id);
    }
    ash__letter_key(key, 'T', c->id);
    ash__row_get(k->snap, ASH_DB_CATALOG, ash__bytes(key, sizeof key), &value, &found, NULL);
    if (found != has_ttl)
        ash__check_found(k, 3, "catalogue", ash__check_coll_facts(c),
                         "%s.%s: expiry is not as the catalogue says", c->db, c->name);
}

/* 3: an id's row leads to a collection of that id. */
static void check_id_row(ash_check *k, MDB_val key)
{
    const ash_coll *c = NULL;
    if (key.mv_size != 5)
        ash__check_found(k, 3, "catalogue", NULL, "the catalogue has a damaged id");
    uint32_t id = key.mv_size == 5 ? ash__get_be32((const uint8_t *)key.mv_data + 1) : 0;
    if (id != 0 && (ash__catalog_find_id(k->snap, id, &c, NULL) != 0 || c == NULL || c->id != id))
        ash__check_found(k, 3, "catalogue", NULL, "collection %u has no row of its own",
                         (unsigned)id);
}

int ash__check_catalog(ash_check *k, int argument, ash_error *err)
{
    uint8_t from[ASH_KEY_MAX + 1];
    size_t from_len = 0;
    int rc = 0;
    (void)argument;
    for (;;) {
        ash_row row;
        ash_error why = ASH_ERROR_INIT;
        const ash_coll *c = NULL;
        rc = ash__row_seek(k->snap, ASH_DB_CATALOG, ash__bytes(from, from_len), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size > ASH_KEY_MAX)
            return rc;
        memcpy(from, row.key.mv_data, row.key.mv_size);
        from_len = row.key.mv_size + 1;
        from[row.key.mv_size] = 0;
        if (from[0] == 'N' && ash__catalog_load(k->snap, row.key, row.value, &c, &why) != 0)
            ash__check_found(k, 3, "catalogue", NULL, "%s", why.text);
        else if (from[0] == 'N')
            check_coll(k, c);
        else
            check_id_row(k, row.key);
        /* Entries are held as long as the snapshot, which here sees all collections. */
        ash__snapshot_forget(k->snap);
    }
}

/* Rows with a sum in front, and how much there is of them. */
typedef struct summed {
    enum ash_database db;
    int invariant;
    const char *what; /* one of them */
    uint64_t rows, bytes;
} summed;

/* 10, 11: sums of all rows of a database. */
static int check_sums(ash_check *k, summed *s, ash_error *err)
{
    MDB_cursor *cursor = NULL;
    MDB_val key, row;
    int rc = ash__lmdb_cursor_open(k->snap->txn, k->engine->dbi[s->db], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &key, &row, MDB_FIRST);
    while (rc == 0) {
        ash_doc value;
        ash_error why = ASH_ERROR_INIT;
        if (ash__sum_check(key, row, &value, s->what, &why) != 0)
            ash__check_found(k, s->invariant, s->what, NULL, "%s", why.text);
        else
            s->bytes += value.len;
        s->rows++;
        rc = ash__lmdb_cursor_get(cursor, &key, &row, MDB_NEXT);
    }
    return rc != MDB_NOTFOUND ? ash__lmdb_fail(rc, err, s->what) : 0;
}

int ash__check_logs(ash_check *k, int argument, ash_error *err)
{
    uint64_t pair[2];
    summed log = {.db = ASH_DB_OPLOG, .invariant = 10, .what = "an entry of the change log"};
    summed state = {.db = ASH_DB_STATE, .invariant = 11, .what = "a row of state"};
    uint64_t before = k->report.findings;
    (void)argument;
    int rc = check_sums(k, &log, err);
    if (rc == 0)
        rc = ash__counts_pair(k->snap, 'O', 0, pair, err);
    if (rc == 0 && before == k->report.findings && (pair[0] != log.rows || pair[1] != log.bytes))
        ash__check_found(k, 9, "counts", NULL,
                         "the change log has %llu entries of %llu bytes, not %llu of %llu",
                         (unsigned long long)log.rows, (unsigned long long)log.bytes,
                         (unsigned long long)pair[0], (unsigned long long)pair[1]);
    if (rc == 0)
        rc = check_sums(k, &state, err);
    return rc;
}
