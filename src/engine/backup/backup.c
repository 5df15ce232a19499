/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a backup, and what is left when one of them fails (internal.h has their order and
 * why). */
#include "engine/backup/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "engine/check/check.h"

#include <string.h>

/* From here on, what is in use stays in place, although it may be freed meanwhile. */
static int begin_hold(ash_engine *e, ash_error *err)
{
    ash_snapshot *snap = NULL;
    int rc = ash__snapshot_open(e, &snap, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&e->snapshots_lock);
    bool taken = e->backup_txn != 0;
    if (!taken)
        /* While the snapshot is open, so that at no moment nobody holds what it sees. */
        e->backup_txn = snap->txn_id;
    ash__mutex_unlock(&e->snapshots_lock);
    ash__snapshot_close(snap);
    return taken ? ash__fail(err, ASH_EBUSY, "another backup of this store is running") : 0;
}

static void end_hold(ash_engine *e)
{
    ash__mutex_lock(&e->snapshots_lock);
    e->backup_txn = 0;
    ash__mutex_unlock(&e->snapshots_lock);
}

int ash__backup_progress(const ash_backup *b, const char *what, uint64_t done, uint64_t total,
                         ash_error *err)
{
    const ash_backup_options *o = b->opts;
    if (o->progress == NULL || o->progress(o->ctx, what, (int64_t)done, (int64_t)total))
        return 0;
    return ash__fail(err, ASH_EINTERRUPTED,
                     "the backup was interrupted; the copy does not open until it is repeated");
}

/* ---- is it sound? ---- */

static bool check_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    const ash_backup *b = ctx;
    return b->opts->progress == NULL || b->opts->progress(b->opts->ctx, what, done, total);
}

static void check_finding(void *ctx, const char *text, const bson_t *facts)
{
    const ash_backup *b = ctx;
    b->report->findings++;
    if (b->opts->finding != NULL)
        b->opts->finding(b->opts->ctx, text, facts);
}

static int check(ash_backup *b, ash_engine *e, bool payloads, ash_error *err)
{
    ash_check_options how = {
        .payloads = payloads, .progress = check_progress, .finding = check_finding, .ctx = b};
    ash_check_report found;
    return ash__engine_check(e, &how, &found, err);
}

/* Before anything is touched. */
static int check_source(ash_backup *b, ash_error *err)
{
    int rc = check(b, b->engine, false, err);
    if (rc == ASH_EINTERRUPTED)
        return ash__fail(err, rc, "the backup was interrupted before anything was written");
    if (rc == 0 && b->report->findings > 0)
        rc = ash__fail(err, ASH_ECORRUPT,
                       "the store is damaged: %llu finding%s; nothing was written, %s is as it "
                       "was",
                       (unsigned long long)b->report->findings, b->report->findings == 1 ? "" : "s",
                       b->folder);
    return rc;
}

static int open_copy(const ash_backup *b, bool read_only, ash_engine **copy, ash_error *err)
{
    ash_engine_options opts = {.must_exist = true,
                               .read_only = read_only,
                               /* By b->lock, from before the first change until after the last
                                * check. */
                               .is_locked = true,
                               .map_bytes = b->engine->opts.map_bytes,
                               .filters = b->engine->opts.filters};
    return ash__engine_open(b->folder, &opts, copy, err);
}

/* The copy of a store in use is not marked as closed.  That is done now, so that reading it later
 * changes nothing: what has changed then is somebody's own. */
static int settle(const ash_backup *b, ash_error *err)
{
    ash_engine *copy = NULL;
    int rc = open_copy(b, false, &copy, err);
    ash__engine_close(copy);
    if (rc == 0)
        rc = ash__backup_tidy_target(b, err);
    return rc == 0 ? ash__backup_save_state(b, b->report->damaged == 0, err) : rc;
}

static int verify(ash_backup *b, ash_error *err)
{
    ash_engine *copy = NULL;
    int rc = open_copy(b, true, &copy, err);
    if (rc == 0)
        rc = check(b, copy, b->opts->verify, err);
    ash__engine_close(copy);
    return rc;
}

/* ---- all of it ---- */

static int run(ash_backup *b, ash_error *err)
{
    int rc = ash__backup_meta(b, err);
    if (rc == 0)
        rc = ash__backup_open_meta(b, err);
    if (rc == 0)
        rc = ash__backup_records(b, err);
    ash__backup_close_meta(b);
    return rc;
}

static int say_what_is_damaged(const ash_backup *b, ash_error *err)
{
    const char *what = b->report->damaged > 0 ? "the store is damaged, and so is what was copied"
                                              : "the copy is damaged";
    const char *cure = b->report->damaged > 0 ? "" : "; the same backup again mends it";
    return ash__fail(err, ASH_ECORRUPT, "%s: %llu finding%s%s", what,
                     (unsigned long long)b->report->findings, b->report->findings == 1 ? "" : "s",
                     cure);
}

/* Damaged payloads of the store are missing in the copy; what is whole is worth keeping all the
 * same, and nothing of it is trusted the next time. */
static int conclude(ash_backup *b, ash_error *err)
{
    int rc = ash__backup_finish_target(b, err);
    if (rc == 0)
        rc = settle(b, err);
    if (rc == 0)
        rc = verify(b, err);
    if (rc == ASH_EINTERRUPTED)
        return ash__fail(err, rc,
                         "the backup was interrupted while the copy was checked; it opens, and the "
                         "next backup checks it again");
    if (rc != 0)
        ash__error_prefix(err, "the copy does not verify");
    if (rc != 0 || (b->report->findings > 0 && b->report->damaged == 0))
        /* A copy with findings that the store does not have must not pass for one. */
        ash__backup_spoil_target(b);
    else
        rc = ash__backup_end_mark(b, err);
    return rc == 0 && b->report->findings > 0 ? say_what_is_damaged(b, err) : rc;
}

static int copy_all(ash_backup *b, ash_error *err)
{
    int rc = begin_hold(b->engine, err);
    if (rc != 0)
        return rc;
    /* Only now: between check and copy the store may change, but nothing of this commit is
     * overwritten. */
    rc = ash__backup_open_target(b, err);
    if (rc == 0)
        rc = run(b, err);
    /* All that the copy points at is copied; checking it can take long. */
    end_hold(b->engine);
    if (rc == 0)
        rc = conclude(b, err);
    if (rc != 0 && b->begun && rc != ASH_EINTERRUPTED && rc != ASH_ECORRUPT)
        ash__error_prefix(err, "the copy in %s does not open until the backup is repeated",
                          b->folder);
    return rc;
}

int ash__engine_backup(ash_engine *e, const char *folder, const ash_backup_options *opts,
                       ash_backup_report *out, ash_error *err)
{
    static const ash_backup_options none = {0};
    ash_backup b = {.engine = e,
                    .opts = opts != NULL ? opts : &none,
                    .report = out,
                    .folder = ash__strdup(folder),
                    .segments = ash__path_join(folder, "segments"),
                    .lock = ASH_FOLDER_LOCK_INIT,
                    .fd = -1};
    memset(out, 0, sizeof *out);
    int rc = check_source(&b, err);
    if (rc == 0)
        rc = copy_all(&b, err);
    ash__file_close(b.fd);
    ash__folder_lock_release(&b.lock);
    ash__backup_release_state(&b);
    ash__free(b.buf);
    ash__free(b.segments);
    ash__free(b.folder);
    return rc;
}
