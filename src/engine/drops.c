/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting what dropped collections and indexes left, some rows a turn, when nothing else waits. */
#include "engine/path.h"

#include <string.h>

enum { TURN_ROWS = 500 };

/* The space of a record whose row cannot be read stays taken; the check finds it. */
static void free_record(ash_writer *w, MDB_val key, MDB_val value)
{
    ash_pointer place;
    ash_doc doc;
    if (ash__record_parse(key, value, &place, &doc, NULL) == 0 && place.segment != 0)
        ash__writer_unuse(w, ash__pointer_extent(&place), NULL);
}

/* Delete up to *rows rows that begin with the id; *rows is what is left of the turn. */
static int delete_rows(ash_writer *w, enum ash_database db, uint32_t id, int *rows, ash_error *err)
{
    uint8_t prefix[4];
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    int result = 0;
    ash__put_be32(prefix, id);
    key = ash__val(prefix, sizeof prefix);
    int rc = ash__lmdb_cursor_open(w->snap.txn, w->engine->dbi[db], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == 0 && result == 0 && *rows > 0 && key.mv_size > 4 &&
           memcmp(key.mv_data, prefix, 4) == 0) {
        if (db == ASH_DB_RECORDS)
            free_record(w, key, value);
        result = ash__path_require(w->engine, w->snap.txn_id - 1, db,
                                   (ash_doc){key.mv_data, key.mv_size}, true, err);
        if (result != 0)
            break;
        w->changed = true;
        w->batch_work++;
        --*rows;
        /* Before: the key lies in the page from which it is deleted. */
        ash__redo_delete(w, db, (ash_doc){key.mv_data, key.mv_size});
        rc = ash__lmdb_cursor_del(cursor, 0);
        if (rc == 0)
            rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_GET_CURRENT);
        /* Behind the last entry of a page there is no current one. */
        if (rc == EINVAL || rc == MDB_NOTFOUND) {
            key = ash__val(prefix, sizeof prefix);
            rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        }
    }
    ash__soundness_heed(w->engine, rc);
    /* After a fault LMDB's list of cursors may lead nowhere; this one is given up with the
     * transaction. */
    if (cursor != NULL && rc != ASH_LMDB_LOST)
        mdb_cursor_close(cursor);
    if (rc != 0 && rc != MDB_NOTFOUND) {
        result = ash__lmdb_fail(rc, err, "cannot delete dropped data");
        return ash__writer_break(w, result, err);
    }
    return result != 0 ? ash__writer_break(w, result, err) : 0;
}

typedef struct index_search {
    uint32_t id;
    bool found;
} index_search;

static bool look_for_index(void *ctx, const ash_coll *c)
{
    index_search *search = ctx;
    for (uint32_t i = 0; i < c->index_count; i++)
        search->found = search->found || c->indexes[i].id == search->id;
    return !search->found;
}

/* A wrong number among the drops would delete what is in use: ids are never given twice, so one
 * that the catalogue has was not dropped. */
static int judge_drop(ash_writer *w, const uint8_t drop[5], ash_error *err)
{
    index_search search = {ash__get_be32(drop + 1), false};
    const ash_coll *c = NULL;
    /* Looked at once for each, not with each turn: an index is searched for in the whole catalogue.
     */
    if (memcmp(w->judged_drop, drop, sizeof w->judged_drop) == 0)
        return 0;
    int rc = drop[0] == 'R' ? ash__catalog_find_id(&w->snap, search.id, &c, err)
                            : ash__catalog_each(&w->snap, NULL, look_for_index, &search, err);
    if (rc == 0 && ((drop[0] != 'R' && drop[0] != 'X') || c != NULL || search.found))
        rc = ash__fail(err, ASH_ECORRUPT,
                       "the list of dropped collections is damaged: %s %u is in use",
                       drop[0] == 'R' ? "collection" : "index", (unsigned)search.id);
    if (rc == 0)
        memcpy(w->judged_drop, drop, sizeof w->judged_drop);
    return rc;
}

int ash__drops_turn(ash_writer *w, ash_error *err)
{
    ash_row row;
    uint8_t drop[5], counts[5];
    int rows = TURN_ROWS;
    int rc = ash__row_seek(&w->snap, ASH_DB_DROPS, ash__bytes(NULL, 0), &row, err);
    if (rc != 0)
        return rc;
    w->drops_pending = row.found;
    if (!row.found)
        return 0;
    if (row.key.mv_size != sizeof drop)
        return ash__fail(err, ASH_ECORRUPT, "the list of dropped collections is damaged");
    memcpy(drop, row.key.mv_data, sizeof drop);
    uint32_t id = ash__get_be32(drop + 1);
    bool records = drop[0] == 'R';
    rc = judge_drop(w, drop, err);
    if (rc != 0)
        return rc;
    /* All rows first, the counts and the drop itself last: wherever this is interrupted, it goes
     * on. */
    rc = delete_rows(w, records ? ASH_DB_RECORDS : ASH_DB_INDEX, id, &rows, err);
    if (rc != 0 || rows == 0)
        return rc;
    ash__letter_key(counts, records ? 'C' : 'X', id);
    rc = ash__counts_flush(w, err); /* lest it make the row anew */
    if (rc == 0)
        rc = ash__row_delete(w, ASH_DB_COUNTS, ash__bytes(counts, sizeof counts), err);
    if (rc == 0)
        rc = ash__row_delete(w, ASH_DB_DROPS, ash__bytes(drop, sizeof drop), err);
    return rc;
}
