/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: what everybody here reads and changes LMDB with.  A change looks at the pages on its way
 * first (path.h) and is noted for the journal (redo.c); a read asks whether damage that is known
 * makes its answer worthless (soundness.c). */
#include "engine/path.h"

#include <string.h>

int ash__lmdb_fail(int rc, ash_error *err, const char *what)
{
    int code = ASH_EINTERNAL;
    if (rc == ASH_LMDB_LOST)
        return ash__fail(err, ASH_ECORRUPT, "%s: a page of it is damaged", what);
    /* LMDB does not go on with a snapshot in which it has met a damaged page. */
    if (rc == MDB_BAD_TXN)
        return ash__fail(err, ASH_ECORRUPT, "%s: a damaged page was met in it before", what);
    /* LMDB's own codes are negative, the system's positive. */
    if (rc > 0)
        return ash__fail_errno(err, rc, "%s", what);
    if (rc == MDB_PANIC)
        return ash__fail(err, ASH_EIO, "%s: an earlier commit failed, open the store again", what);
    if (rc == MDB_MAP_FULL || rc == MDB_TXN_FULL)
        code = ASH_ENOSPC;
    else if (rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND || rc == MDB_INVALID)
        code = ASH_ECORRUPT;
    else if (rc == MDB_VERSION_MISMATCH)
        code = ASH_EVERSION;
    else if (rc == MDB_READERS_FULL)
        code = ASH_ENOMEM;
    return ash__fail(err, code, "%s: %s", what, mdb_strerror(rc));
}

int ash__read_fail(const ash_snapshot *snap, int rc, ash_error *err, const char *what)
{
    int result = ash__lmdb_fail(rc, err, what);
    ash__soundness_doubt(snap->engine, result);
    return result;
}

MDB_val ash__val(const void *data, size_t len)
{
    return (MDB_val){.mv_size = len, .mv_data = (void *)(uintptr_t)data};
}

static int change_failed(ash_writer *w, int rc, ash_error *err)
{
    /* err may be NULL, but the batch keeps the reason for everybody who waits for it. */
    ash_error local = ASH_ERROR_INIT;
    int result = ash__lmdb_fail(rc, &local, "cannot change the metadata");
    ash__soundness_heed(w->engine, rc);
    if (err != NULL)
        *err = local;
    return ash__writer_break(w, result, &local);
}

static int look_ahead(ash_writer *w, enum ash_database db, ash_doc key, bool deletes,
                      ash_error *err)
{
    ash_error local = ASH_ERROR_INIT;
    /* The open transaction's number is one more than that of the commit it began with. */
    int rc = ash__path_require(w->engine, w->snap.txn_id - 1, db, key, deletes, &local);
    if (rc != 0 && err != NULL)
        *err = local;
    return rc != 0 ? ash__writer_break(w, rc, &local) : 0;
}

/* Rows of which one that is found is right. */
static bool has_sum(enum ash_database db, ash_doc key)
{
    return (db == ASH_DB_CATALOG && key.len > 0 && key.data[0] == 'N') || db == ASH_DB_RECORDS ||
           db == ASH_DB_INDEX || db == ASH_DB_OPLOG || db == ASH_DB_STATE;
}

int ash__row_get(const ash_snapshot *snap, enum ash_database db, ash_doc key, MDB_val *value,
                 bool *found, ash_error *err)
{
    MDB_val k = ash__val(key.data, key.len);
    int rc = ash__lmdb_get(snap->txn, snap->engine->dbi[db], &k, value);
    *found = rc == 0;
    if (rc != 0 && rc != MDB_NOTFOUND)
        return ash__read_fail(snap, rc, err, "cannot read the metadata");
    if (*found && has_sum(db, key))
        return ash__soundness_found(snap, db, key, err);
    int result = ash__soundness_absent(snap, db, key, key, err);
    /* Few ask for these; who asks for entries of indexes does this where it matters. */
    if (result == 0 && !*found && (db == ASH_DB_CATALOG || db == ASH_DB_STATE))
        result = ash__beside(snap, db, key, err);
    return result;
}

int ash__row_put(ash_writer *w, enum ash_database db, ash_doc key, ash_doc value, ash_error *err)
{
    return ash__row_put2(w, db, key, value, ash__bytes(NULL, 0), err);
}

int ash__row_put2(ash_writer *w, enum ash_database db, ash_doc key, ash_doc head, ash_doc body,
                  ash_error *err)
{
    MDB_val k = ash__val(key.data, key.len);
    MDB_val v = ash__val(NULL, head.len + body.len);
    int result = look_ahead(w, db, key, false, err);
    if (result != 0)
        return result;
    /* Before the call: a change that failed half way is one that has to be given up, too. */
    w->changed = true;
    w->batch_work++;
    ash__redo_put(w, db, key, head, body);
    /* LMDB gives the place, and both parts are copied once; the row need not be put together
     * before. */
    int rc = ash__lmdb_put(w->snap.txn, w->engine->dbi[db], &k, &v, MDB_RESERVE);
    if (rc != 0)
        return change_failed(w, rc, err);
    if (head.len > 0)
        memcpy(v.mv_data, head.data, head.len);
    if (body.len > 0)
        memcpy((uint8_t *)v.mv_data + head.len, body.data, body.len);
    return 0;
}

int ash__row_delete(ash_writer *w, enum ash_database db, ash_doc key, ash_error *err)
{
    MDB_val k = ash__val(key.data, key.len);
    int result = look_ahead(w, db, key, true, err);
    if (result != 0)
        return result;
    ash__redo_delete(w, db, key); /* before: the key may lie in a page */
    int rc = ash__lmdb_del(w->snap.txn, w->engine->dbi[db], &k, NULL);
    if (rc == MDB_NOTFOUND)
        return 0;
    /* Only now: deleting what is not there changes nothing, and nobody has to wait for it. */
    w->changed = true;
    w->batch_work++;
    return rc != 0 ? change_failed(w, rc, err) : 0;
}

static int read_cursor(const ash_snapshot *snap, enum ash_database db, MDB_cursor_op op,
                       ash_row *row, ash_error *err)
{
    MDB_cursor *cursor = NULL;
    int rc = ash__lmdb_cursor_open(snap->txn, snap->engine->dbi[db], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &row->key, &row->value, op);
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    row->found = rc == 0;
    if (rc != 0 && rc != MDB_NOTFOUND)
        return ash__read_fail(snap, rc, err, "cannot read the metadata");
    return 0;
}

int ash__row_seek(const ash_snapshot *snap, enum ash_database db, ash_doc key, ash_row *out,
                  ash_error *err)
{
    out->key = ash__val(key.data, key.len);
    int rc = read_cursor(snap, db, key.len > 0 ? MDB_SET_RANGE : MDB_FIRST, out, err);
    ash_doc low = {key.len > 0 ? key.data : NULL, key.len}, high = {NULL, 0};
    if (rc == 0 && out->found)
        high = ash__bytes(out->key.mv_data, out->key.mv_size);
    /* Whoever walks by seeking would go round for ever. */
    if (high.data != NULL && key.len > 0 && ash__bytes_compare(high, low) < 0)
        return ash__fail(err, ASH_ECORRUPT, "the metadata's keys are out of order (%s)",
                         ash__database_names[db]);
    if (rc == 0)
        rc = ash__soundness_absent(snap, db, low, high, err);
    return rc == 0 && out->found ? ash__soundness_found(snap, db, high, err) : rc;
}

int ash__row_last(const ash_snapshot *snap, enum ash_database db, ash_row *out, ash_error *err)
{
    int rc = read_cursor(snap, db, MDB_LAST, out, err);
    ash_doc low = {NULL, 0}, high = {NULL, 0};
    if (rc == 0 && out->found)
        low = ash__bytes(out->key.mv_data, out->key.mv_size);
    if (rc == 0)
        rc = ash__soundness_absent(snap, db, low, high, err);
    return rc == 0 && out->found ? ash__soundness_found(snap, db, low, err) : rc;
}

int ash__sum_put(ash_writer *w, enum ash_database db, ash_doc key, ash_doc value, ash_error *err)
{
    uint8_t sum[ASH_SUM_BYTES];
    ash__put_le64(sum, ash__row_sum(key.data, key.len, value.data, value.len));
    return ash__row_put2(w, db, key, ash__bytes(sum, sizeof sum), value, err);
}

int ash__sum_check(MDB_val key, MDB_val row, ash_doc *value, const char *what, ash_error *err)
{
    if (row.mv_size < ASH_SUM_BYTES)
        return ash__fail(err, ASH_ECORRUPT, "%s is too short", what);
    value->data = (const uint8_t *)row.mv_data + ASH_SUM_BYTES;
    value->len = row.mv_size - ASH_SUM_BYTES;
    if (ash__get_le64(row.mv_data) !=
        ash__row_sum(key.mv_data, key.mv_size, value->data, value->len))
        return ash__fail(err, ASH_ECORRUPT, "%s has a wrong checksum", what);
    return 0;
}
