/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing, and the table of slots. */

#include "store/embedded/kit/embedded.h"

#include "base/clock.h"
#include "store/embedded/backend.h"
#include "store/embedded/care/slots.h"
#include "store/embedded/care/sweep.h"
#include "store/embedded/catalog/index_build.h"
#include "store/embedded/catalog/slots.h"
#include "store/embedded/files/complete.h"
#include "store/embedded/files/rules.h"
#include "store/embedded/files/versions.h"
#include "store/embedded/kit/filters.h"
#include "store/embedded/kit/dated_snapshot.h"
#include "store/embedded/kit/oplog.h"
#include "store/embedded/read/slots.h"
#include "store/embedded/watch/slots.h"
#include "store/embedded/write/slots.h"

#include <string.h>

static const ash_store_ops embedded_ops;

static bool accepts(const char *uri)
{
    return strncmp(uri, "file:", 5) == 0 ||
           (strstr(uri, "://") == NULL && strncmp(uri, "mongodb:", 8) != 0);
}

/* "file:/srv/files" and "file:///srv/files" both name /srv/files. */
static const char *folder_of(const char *uri)
{
    if (strncmp(uri, "file:", 5) != 0)
        return uri;
    uri += 5;
    return strncmp(uri, "//", 2) == 0 ? uri + 2 : uri;
}

/* Seconds of the fastest writing there is; the file of metadata grows by as much at most. */
static const uint64_t SNAPSHOT_BYTES = UINT64_C(1) << 30;

static int64_t or_default(int64_t given, int64_t fallback)
{
    return given != 0 ? given : fallback;
}

static ash_embedded *make_store(ash_engine *engine, const ash_store_options *opts)
{
    ash_embedded *s = ash__new(ash_embedded);
    s->base.ops = &embedded_ops;
    s->engine = engine;
    s->files = &ash__file_rules;
    s->read_only = opts->read_only;
    s->durability =
        opts->durability == ASH_DURABILITY_DEFAULT ? ASH_DURABILITY_FILE : opts->durability;
    s->ttl_interval_ms = or_default(opts->ttl_interval_ms, 5000);
    s->slow_ms = or_default(opts->slow_ms, 100);
    s->pin_timeout_ms = or_default(opts->pin_timeout_ms, 600000);
    s->snapshot_bytes = SNAPSHOT_BYTES;
    s->monitor = ash__monitor_new();
    s->versions = ash__versions_new();
    s->coll_ids.monitor = ash__monitor_new();
    return s;
}

static void embedded_close(ash_store *store)
{
    ash_embedded *s = ash__embedded(store);
    /* Whatever reads from the engine ends before it does. */
    ash__sweep_stop(s);
    ash__versions_free(s->versions);
    ash__dated_snapshots_release(s);
    ash__engine_close(s->engine);
    ash__guard_release(s);
    ash__free(s->abandoned);
    ash__monitor_free(s->coll_ids.monitor);
    ash__monitor_free(s->monitor);
    ash__free(s);
}

/* The change log always has an entry, so that its oldest one tells how far back it reaches. */
static int begin_history(ash_writer *w, void *ctx, ash_error *err)
{
    uint64_t oldest;
    uint64_t newest;
    (void)ctx;
    int rc = ash__oplog_bounds(ash__writer_snapshot(w), &oldest, &newest, err);
    if (rc == 0 && oldest == 0)
        rc = ash__oplog_begin(w, err);
    return rc == 0 && oldest == 0 ? ash__oplog_write_mark(w, err) : rc;
}

static int prepare(ash_embedded *s, ash_error *err)
{
    if (s->read_only)
        return 0;
    ash_damage damage;
    /* What a crash left half-built goes before anybody writes to it. */
    int rc = ash__build_sweep(s, err);
    if (rc == 0)
        rc = ash__engine_apply(s->engine, begin_history, NULL, NULL, err);
    /* What can be read of a store that is not written to any more stays there to be read. */
    if (rc == ASH_ECORRUPT && ash__engine_damage(s->engine, &damage) && damage.structure)
        rc = 0;
    return rc == 0 ? ash__sweep_start(s, err) : rc;
}

static int embedded_open(const char *uri, const ash_store_options *opts, ash_store **out, char **db,
                         ash_error *err)
{
    ash_engine *engine = NULL;
    ash_engine_options engine_opts = {
        .must_exist = opts->must_exist,
        .read_only = opts->read_only,
        .busy_timeout_ms = or_default(opts->busy_timeout_ms, 5000),
        .map_bytes = opts->map_bytes,
        .segment_bytes = opts->segment_bytes,
        .oplog_bytes = opts->oplog_bytes,
        .pin_timeout_ms = opts->pin_timeout_ms,
        .filters = ash__embedded_hooks,
    };
    (void)db;
    int rc = ash__engine_open(folder_of(uri), &engine_opts, &engine, err);
    if (rc != 0)
        return rc;
    ash_embedded *s = make_store(engine, opts);
    rc = ash__guard_init(s, err);
    if (rc == 0)
        rc = prepare(s, err);
    if (rc != 0) {
        embedded_close(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}

static int embedded_capabilities(ash_store *store, ash_capabilities *out, ash_error *err)
{
    (void)store;
    (void)err;
    *out = (ash_capabilities){.backend = "embedded",
                              .transactions = true,
                              .atomic_commits = true,
                              .watch = true,
                              .past_damage = true,
                              .in_process = true,
                              .serial_transactions = true,
                              .pinned_downloads = true};
    return 0;
}

static int embedded_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time,
                         ash_error *err)
{
    (void)err;
    if (wall_ms != NULL)
        *wall_ms = ash__clock_wall_ms();
    if (operation_time != NULL)
        *operation_time = ash__oplog_tell(ash__embedded(store)->engine);
    return 0;
}

static bool embedded_moment(ash_store *store, uint64_t *out)
{
    return ash__engine_commit_now(ash__embedded(store)->engine, out);
}

static int embedded_flush(ash_store *store, const ash_op *op, ash_error *err)
{
    if (op->transaction != NULL)
        return ash__fail(err, ASH_ESTATE, "cannot flush inside a transaction");
    return ash__engine_flush(ash__embedded(store)->engine, op->deadline_ms, err);
}

static int embedded_hold(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out,
                         ash_error *err)
{
    return ash__dated_snapshot_hold(ash__embedded(store), time, op, out, err);
}

static const ash_store_ops embedded_ops = {
    .close = embedded_close,
    .capabilities = embedded_capabilities,
    .create = ash__embedded_create,
    .drop = ash__embedded_drop,
    .rename = ash__embedded_rename,
    .modify = ash__embedded_modify,
    .list_collections = ash__embedded_list_collections,
    .list_databases = ash__embedded_list_databases,
    .drop_database = ash__embedded_drop_database,
    .find = ash__embedded_find,
    .aggregate = ash__embedded_aggregate,
    .count = ash__embedded_count,
    .distinct = ash__embedded_distinct,
    .explain = ash__embedded_explain,
    .insert = ash__embedded_insert,
    .update = ash__embedded_update,
    .remove = ash__embedded_remove,
    .find_and_modify = ash__embedded_find_and_modify,
    .create_indexes = ash__embedded_create_indexes,
    .list_indexes = ash__embedded_list_indexes,
    .drop_indexes = ash__embedded_drop_indexes,
    .transact = ash__embedded_transact,
    .watch = ash__embedded_watch,
    .hold = embedded_hold,
    .time = embedded_time,
    .moment = embedded_moment,
    .stats = ash__embedded_stats,
    .flush = embedded_flush,
    .maintain = ash__embedded_maintain,
    .look = ash__embedded_look,
    .expect_readers = ash__versions_expect_readers,
    .forget_reader = ash__versions_forget_reader,
};

const ash_backend ash__backend_embedded = {
    .name = "embedded",
    .accepts = accepts,
    .open = embedded_open,
};
