/* SPDX-License-Identifier: Apache-2.0 */
/* What opening a store does with its journal, and how a store gets its first one. */
#include "engine/journal.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/statvfs.h>

/* On the disk and in LMDB's map.  A commit writes some pages for each change; and a full disk
 * should show in the answer to a change, not behind it. */
static const uint64_t room = UINT64_C(16) * ASH_JOURNAL_BYTES;

/* ---- opening ---- */

/* What the metadata knows: the generation, and whether the last run ended well. */
static int read_rows(ash_engine *e, bool *unclean, ash_error *err)
{
    ash_snapshot *snap = NULL;
    MDB_val value;
    bool found = false;
    int rc = ash__snapshot_begin(e, &snap, err);
    if (rc == 0)
        rc = ash__row_get(snap, ASH_DB_META, ash__bytes("journal", 7), &value, &found, err);
    /* The superblock has version 2 only after this row was committed. */
    if (rc == 0 && (!found || value.mv_size != 8))
        rc = ash__fail(err, ASH_ECORRUPT, "meta.mdb does not know its journal");
    if (rc == 0) {
        e->journal.generation = ash__get_le64(value.mv_data);
        rc = ash__row_get(snap, ASH_DB_META, ash__bytes("open", 4), &value, unclean, err);
    }
    ash__snapshot_close(snap);
    return rc;
}

static int carry_over(ash_engine *e, const ash_journal_image *image, ash_journal_cursor *c,
                      ash_error *err)
{
    MDB_txn *txn = NULL;
    ash_doc changes;
    int result = 0;
    int rc = ash__lmdb_txn_begin(e->env, NULL, 0, &txn);
    ash__soundness_heed(e, rc);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot carry the journal over");
    while (result == 0 && ash__journal_next(image, c, &changes))
        result = ash__redo_apply(e, txn, changes, err);
    if (result != 0) {
        ash__txn_abort(e, txn);
        return result;
    }
    /* What was acknowledged has to find room. */
    ash__reserve_open(e);
    ash__reserve_let_go(e);
    rc = ash__lmdb_txn_commit(txn);
    ash__soundness_heed(e, rc);
    /* LMDB says EIO of a write that a full disk cut short. */
    if (rc == EIO && ash__reserve_is_disk_full(e))
        rc = ENOSPC;
    return rc != 0 ? ash__lmdb_fail(rc, err, "cannot carry the journal over") : 0;
}

static ash_journal_cursor cursor_of(ash_engine *e)
{
    MDB_envinfo info;
    ash__lmdb_env_info(e->env, &info);
    return (ash_journal_cursor){.generation = e->journal.generation, .base = info.me_last_txnid};
}

static int recover_from(ash_engine *e, const ash_journal_image *image, bool unclean, bool *pending,
                        ash_error *err)
{
    ash_journal_cursor c = cursor_of(e), probe = c;
    ash_error why = ASH_ERROR_INIT;
    ash_doc changes;
    if (ash__journal_judge(image, c.generation, c.base, &why) != 0)
        return !unclean ? 0 /* everything was committed */
                        : ash__fail(err, ASH_ECORRUPT,
                                    "store %s was not closed, and %s: what was acknowledged last "
                                    "may be lost (`ashlar check --repair` copies what is whole)",
                                    e->folder, why.text);
    *pending = ash__journal_next(image, &probe, &changes);
    return *pending && !e->opts.read_only ? carry_over(e, image, &c, err) : 0;
}

/* Go on with the file as it is, or with a new one: nothing depends on it now. */
static int use(ash_engine *e, const ash_journal_image *image, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    if (image->state == ASH_JOURNAL_GOOD && !image->is_short &&
        image->generation == e->journal.generation)
        return ash__journal_use(e, err);
    int rc = ash__journal_make(e, &why);
    if (rc == 0)
        return 0;
    /* Without one, the superblock must not promise it. */
    ash__log(ASH_LOG_WARN, "%s goes on without its journal: %s", e->folder, why.text);
    e->version = 1;
    return ash__superblock_write(e, err);
}

int ash__journal_recover(ash_engine *e, bool *pending, ash_error *err)
{
    ash_journal_image image;
    bool unclean = false;
    *pending = false;
    if (e->version < ASH_FORMAT_JOURNAL)
        return 0;
    int rc = read_rows(e, &unclean, err);
    if (rc != 0)
        return rc;
    rc = ash__journal_load(e->folder, e->store_id, &image, err);
    if (rc == 0)
        rc = recover_from(e, &image, unclean, pending, err);
    if (rc == 0 && !e->opts.read_only)
        rc = use(e, &image, err);
    ash__journal_image_release(&image);
    return rc;
}

bool ash__journal_check(const ash_engine *e)
{
    ash_journal_image image;
    uint32_t version = 0;
    bool good = ash__superblock_version(e, &version) != 0 || version < ASH_FORMAT_JOURNAL;
    if (good || ash__journal_load(e->folder, e->store_id, &image, NULL) != 0)
        return good;
    good = image.state == ASH_JOURNAL_GOOD && !image.is_short;
    ash__journal_image_release(&image);
    return good;
}

/* ---- a store's first journal ---- */

bool ash__journal_has_room(const ash_engine *e)
{
    struct statvfs fs;
    MDB_envinfo info;
    MDB_stat stat_of;
    ash__lmdb_env_info(e->env, &info);
    ash__lmdb_env_stat(e->env, &stat_of);
    uint64_t used = ((uint64_t)info.me_last_pgno + 1) * stat_of.ms_psize;
    /* What is answered now must not fail to be committed later. */
    return info.me_mapsize >= used + room && statvfs(e->folder, &fs) == 0 &&
           (uint64_t)fs.f_bavail * fs.f_frsize >= room;
}

/* The row outlives an introduction that was interrupted. */
static int put_generation(ash_writer *w, ash_error *err)
{
    uint8_t bytes[8];
    MDB_val value;
    bool found;
    /* Committed before the file is there: a file whose generation nobody knows would be of another
     * store. */
    int rc = ash__batch_begin(w, err);
    if (rc == 0)
        rc = ash__row_get(&w->snap, ASH_DB_META, ash__bytes("journal", 7), &value, &found, err);
    if (rc != 0)
        return rc;
    if (found && value.mv_size == 8) {
        w->engine->journal.generation = ash__get_le64(value.mv_data);
        return 0;
    }
    ash__random(bytes, sizeof bytes);
    w->engine->journal.generation = ash__get_le64(bytes);
    rc = ash__row_put(w, ASH_DB_META, ash__bytes("journal", 7), ash__bytes(bytes, sizeof bytes),
                      err);
    return rc == 0 ? ash__batch_commit(w, err) : rc;
}

void ash__journal_introduce(ash_writer *w)
{
    ash_engine *e = w->engine;
    ash_error err = ASH_ERROR_INIT;
    ash_assert(w->depth == 0 && w->redo_safe == 0);
    if (!ash__journal_has_room(e))
        return;
    int rc = put_generation(w, &err);
    /* Nothing is open after a commit; after a failure there may be. */
    ash__batch_abort(w);
    if (rc == 0)
        rc = ash__journal_make(e, &err);
    if (rc == 0) {
        e->version = ASH_FORMAT_JOURNAL;
        rc = ash__superblock_write(e, &err);
    }
    if (rc != 0) {
        /* Whichever version the superblock has now, nothing is ever written to the file. */
        ash__log(ASH_LOG_WARN, "%s goes on without a journal: %s", e->folder, err.text);
        e->journal.failed = true;
    }
}
