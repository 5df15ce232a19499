/* SPDX-License-Identifier: Apache-2.0 */
/* Is a row that was not found really not there?
 *
 * A row whose key was changed lies where it always lay.  So a search for its true key ends beside
 * it, and who looks there sees that it is not what its checksum says, or is out of order.  The same
 * goes for a row that a wrong key of a branch page hides: the search ends at the edge of another
 * leaf, beside rows that are on the wrong side.  Pages of the last commit are judged, too, since a
 * leaf may have lost count of its rows.
 *
 * This finds what hides one row from who asks for it, before there was a census (soundness.c). */
#include "engine/internal.h"

#include "engine/format/judge.h"
#include "engine/lmdb_call.h"

static bool is_whole(enum ash_database db, const ash_row *row)
{
    ash_pointer place;
    ash_doc doc;
    switch (db) {
    case ASH_DB_INDEX:
        return ash__entry_is_whole(row->key, row->value);
    case ASH_DB_RECORDS:
        return ash__record_parse(row->key, row->value, &place, &doc, NULL) == 0;
    case ASH_DB_CATALOG:
        /* The others have no sum. */
        return row->key.mv_size > 0 && (*(const uint8_t *)row->key.mv_data != 'N' ||
                                        ash__sum_check(row->key, row->value, &doc, "", NULL) == 0);
    case ASH_DB_STATE:
        return ash__sum_check(row->key, row->value, &doc, "", NULL) == 0;
    default:
        return true;
    }
}

/* The leaf that a row lies in.  What a writer has changed is elsewhere, and its own. */
static bool is_sound_leaf(const ash_snapshot *snap, enum ash_database db, const ash_row *row)
{
    static const ash_doc no_end = {NULL, 0};
    MDB_stat stat;
    if (snap->is_writer || ash__lmdb_stat(snap->txn, snap->engine->dbi[db], &stat) != 0)
        return true;
    ash_page_kind kind = {.page_bytes = stat.ms_psize};
    const uint8_t *key = row->key.mv_data;
    const uint8_t *page = key - (uintptr_t)key % stat.ms_psize;
    return ash__page_judge(&kind, ash__get_le64(page), page, true, no_end, no_end) == NULL;
}

/* order: on which side of the key it has to be. */
static bool is_in_place(const ash_snapshot *snap, enum ash_database db, ash_doc key,
                        const ash_row *row, int order)
{
    ash_doc here = ash__bytes(row->key.mv_data, row->key.mv_size);
    return ash__bytes_compare(here, key) * order >= 0 && is_whole(db, row) &&
           is_sound_leaf(snap, db, row);
}

static int look(const ash_snapshot *snap, enum ash_database db, ash_doc key, MDB_cursor *cursor,
                bool *sound)
{
    ash_row row = {.key = ash__val(key.data, key.len)};
    int rc = ash__lmdb_cursor_get(cursor, &row.key, &row.value, MDB_SET_RANGE);
    if (rc != 0 && rc != MDB_NOTFOUND)
        return rc;
    *sound = rc == MDB_NOTFOUND || is_in_place(snap, db, key, &row, 1);
    rc = ash__lmdb_cursor_get(cursor, &row.key, &row.value, rc == 0 ? MDB_PREV : MDB_LAST);
    if (rc == 0 && *sound)
        *sound = is_in_place(snap, db, key, &row, -1);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int ash__beside(const ash_snapshot *snap, enum ash_database db, ash_doc key, ash_error *err)
{
    MDB_cursor *cursor = NULL;
    bool sound = true;
    if (snap->sees_all)
        return 0;
    int rc = ash__lmdb_cursor_open(snap->txn, snap->engine->dbi[db], &cursor);
    if (rc == 0)
        rc = look(snap, db, key, cursor, &sound);
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    if (rc != 0)
        return ash__read_fail(snap, rc, err, "cannot read the metadata");
    if (sound)
        return 0;
    ash__soundness_doubt(snap->engine, ASH_ECORRUPT);
    return ash__fail(err, ASH_ECORRUPT,
                     "the metadata is damaged where what is asked for would be (%s); "
                     "`ashlar check` says more",
                     ash__database_names[db]);
}
