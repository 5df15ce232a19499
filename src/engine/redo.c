/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of rows as bytes: kept by the writer while a batch is open, written to the journal, and
 * applied again.  Each sets a row to a value or deletes it, so applying all of them twice, or from
 * the first on a later state, gives the same. */
#include "engine/journal.h"

#include "engine/path.h"

/* From here on this batch can only be committed by LMDB itself. */
static void give_up(ash_writer *w)
{
    w->redo.len = w->redo_safe;
    w->redo_over = true;
}

static bool begin_change(ash_writer *w, unsigned db, size_t key_len, size_t value_len)
{
    uint8_t head[ASH_REDO_HEAD];
    if (w->redo_over)
        return false;
    /* Large batches gain nothing from the journal: their commit is one of many changes. */
    if (w->redo.len - w->redo_safe + sizeof head + key_len + value_len > ASH_REDO_MAX) {
        give_up(w);
        return false;
    }
    head[0] = (uint8_t)db;
    head[1] = (uint8_t)key_len;
    head[2] = (uint8_t)(key_len >> 8);
    ash__put_le32(head + 3, (uint32_t)value_len);
    ash__buffer_reserve(&w->redo, sizeof head + key_len + value_len);
    ash__buffer_append(&w->redo, head, sizeof head);
    return true;
}

void ash__redo_put(ash_writer *w, enum ash_database db, ash_doc key, ash_doc head, ash_doc body)
{
    if (!begin_change(w, db, key.len, head.len + body.len))
        return;
    ash__buffer_append(&w->redo, key.data, key.len);
    if (head.len > 0)
        ash__buffer_append(&w->redo, head.data, head.len);
    if (body.len > 0)
        ash__buffer_append(&w->redo, body.data, body.len);
}

void ash__redo_delete(ash_writer *w, enum ash_database db, ash_doc key)
{
    if (begin_change(w, (unsigned)db | ASH_REDO_DELETE, key.len, 0))
        ash__buffer_append(&w->redo, key.data, key.len);
}

bool ash__redo_next(ash_doc changes, size_t *at, ash_redo_change *out)
{
    size_t left = changes.len - *at;
    /* All numbers are compared: a checksum says that the bytes are as written, not by whom. */
    if (left < ASH_REDO_HEAD)
        return false;
    const uint8_t *head = changes.data + *at;
    size_t key_len = head[1] | (size_t)head[2] << 8, value_len = ash__get_le32(head + 3);
    unsigned db = head[0] & ~(unsigned)ASH_REDO_DELETE;
    left -= ASH_REDO_HEAD;
    if (db >= ASH_DB_COUNT || key_len == 0 || key_len > ASH_KEY_MAX || key_len > left ||
        value_len > left - key_len)
        return false;
    out->db = (enum ash_database)db;
    out->is_delete = (head[0] & ASH_REDO_DELETE) != 0;
    out->key = (ash_doc){head + ASH_REDO_HEAD, key_len};
    out->value = (ash_doc){head + ASH_REDO_HEAD + key_len, value_len};
    *at += ASH_REDO_HEAD + key_len + value_len;
    return true;
}

int ash__redo_apply(ash_engine *e, MDB_txn *txn, ash_doc changes, ash_error *err)
{
    ash_redo_change c;
    size_t at = 0;
    int rc = 0;
    while (rc == 0 && ash__redo_next(changes, &at, &c)) {
        MDB_val key = ash__val(c.key.data, c.key.len);
        MDB_val value = ash__val(c.value.data, c.value.len);
        /* As for any change: the pages may have been damaged while the store was closed. */
        int result = ash__path_require(e, mdb_txn_id(txn) - 1, c.db, c.key, c.is_delete, err);
        if (result != 0)
            return result;
        rc = c.is_delete ? ash__lmdb_del(txn, e->dbi[c.db], &key, NULL)
                         : ash__lmdb_put(txn, e->dbi[c.db], &key, &value, 0);
        /* It may have been deleted by the time before. */
        if (c.is_delete && rc == MDB_NOTFOUND)
            rc = 0;
    }
    ash__soundness_heed(e, rc);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot carry the journal over");
    /* What was applied is in the caller's transaction, which it gives up. */
    if (at != changes.len)
        return ash__fail(err, ASH_ECORRUPT, "a record of the journal is damaged");
    return 0;
}
