/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_EMBEDDED_H
#define ASH_STORE_EMBEDDED_KIT_EMBEDDED_H

/* The embedded backend: MongoDB's operations on the document engine and the query library.
 *
 * Reading happens on short snapshots, changing in functions that run on the engine's writer thread.
 * Operations of a transaction run on the writer thread too and see the writer's own state. */

#include <pthread.h>

#include "base/mem.h"
#include "bson/builder.h"
#include "engine/engine.h"
#include "query/kit/env.h"
#include "store/embedded/kit/file_rules.h"
#include "store/embedded/kit/monitor.h"
#include "store/ops.h"

/* Which id a name had when last seen: lets inserts of chunks write their payloads without a
 * snapshot, for which the writer would have to commit.  May be out of date; whoever uses an id
 * compares it on the writer. */
typedef struct ash_coll_ids {
    ash_monitor *monitor;
    struct {
        uint64_t name; /* checksum; guarded by the monitor */
        uint32_t id;   /* guarded by the monitor */
    } slots[64];
} ash_coll_ids;
uint32_t ash__coll_ids_get(ash_coll_ids *ids, ash_ns ns); /* 0: not known */
void ash__coll_ids_put(ash_coll_ids *ids, ash_ns ns, uint32_t id);

typedef struct ash_embedded {
    ash_store base;
    ash_engine *engine;
    const ash_file_rules *files;
    ash_coll_ids coll_ids;
    bool read_only;
    ash_durability durability;
    int64_t ttl_interval_ms;
    int64_t slow_ms;
    int64_t pin_timeout_ms;
    /* Of metadata that a kept snapshot may keep from being used again.  Tests change it. */
    _Atomic uint64_t snapshot_bytes;

    /* Guards what follows; not held while the engine is called, but to touch pins.  Its condition:
     * the sweeper's sleep, the end of an index build. */
    ash_monitor *monitor;
    bool closing;
    struct ash_kept_snapshot *kept;   /* by resting downloads (kept_snapshot.c) */
    struct ash_dated_snapshot *dated; /* what reads go back to (dated_snapshot.c); NULL at first */
    struct ash_batch_memory *batches;
    uint32_t *abandoned; /* indexes whose build failed, and which may still be there */
    size_t abandoned_count;
    uint64_t losses_seen; /* complete.c */
    int64_t loss_at_ms;
    uint64_t loss_sequence;
    struct ash_versions *versions;     /* versions.c; constant after opening */
    struct ash_old_chunks *old_chunks; /* complete.c; constant after opening */

    pthread_t sweeper; /* TTL, old retry results, lapsed snapshots (sweep.c) */
    bool has_sweeper;
} ash_embedded;

typedef struct ash_embedded_tx {
    ash_transaction base;
    ash_writer *writer;
    struct ash_reading *look; /* without a writer: where everything is read */
} ash_embedded_tx;

static inline ash_embedded *ash__embedded(ash_store *store)
{
    return (ash_embedded *)(void *)store;
}

/* Whatever goes on in the background has to end. */
bool ash__embedded_is_closing(ash_embedded *s);

/* The writer of the transaction op runs in, or NULL. */
ash_writer *ash__op_writer(const ash_op *op);

/* ---- where an operation reads -------------------------------------------------------------- */

/* A snapshot of its own, that of op's transaction, or the dated one of op's time. */
typedef struct ash_reading {
    ash_snapshot *snap;
    bool owned;
    struct ash_reading
        *lender; /* in a look: the one that may own the snapshot, or does no longer */
    struct ash_dated_snapshot *dated; /* or NULL */
    ash_embedded *store;
} ash_reading;
int ash__reading_begin(ash_embedded *s, const ash_op *op, ash_reading *out, ash_error *err);
void ash__reading_end(ash_reading *r); /* also of one that never began */

/* ---- what a query is compiled with ---------------------------------------------------------- */

typedef struct ash_env {
    ash_query_env query;
    bson_t *let;        /* evaluated constants, owned; NULL: none */
    bool has_collation; /* given by the operation, not by the collection */
} ash_env;

/* Reads the clock, the collation and the variables of one operation.  release also after failure.
 */
int ash__env_init(ash_embedded *s, const ash_op *op, const bson_t *collation, const bson_t *let,
                  ash_env *out, ash_error *err);
void ash__env_release(ash_env *env);
/* Without a collation of its own an operation gets the collection's.  true if that changed it. */
bool ash__env_adopt(ash_env *env, const ash_coll *coll);

/* ---- where an operation writes -------------------------------------------------------------- */

/* On what terms something is written. */
typedef struct ash_write_terms {
    const ash_op *op;
    const char
        *coll; /* written to, whose name decides when the write is acknowledged; NULL: when on
                         disk */
    int flags; /* of the apply, where op has no transaction */
} ash_write_terms;

/* Run fn on the writer: inside op's transaction when it has one (what it did is undone alone when
 * it fails), else as an apply of its own. */
int ash__write_run(ash_embedded *s, const ash_write_terms *terms, ash_apply_fn fn, void *ctx,
                   ash_error *err);
/* own: what fn returned; whole: ash__write_run.  true: fn did well, but its commit failed and it
 * all did not happen.  (After a timeout it may yet happen.) */
bool ash__write_is_lost(int own, int whole);

/* Were all writes that nobody waited for kept, since ash__engine_losses() gave `losses`?  ASH_EIO:
 * a commit failed.  Says nothing of those that are not on disk yet: flush first, or ask on the
 * writer, in what is to hold only together with them. */
int ash__losses_check(ash_embedded *s, uint64_t losses, ash_error *err);

/* Find the collection or create it. */
int ash__coll_ensure(ash_writer *w, ash_ns ns, const ash_coll **out, ash_error *err);

/* Turn a refusal by a unique index into the server's words, and details (initialised by the call)
 * into {keyPattern, keyValue}. */
int ash__duplicate_fail(const ash_coll *c, const ash_duplicate *dup, ash_doc doc, bson_t *details,
                        ash_error *err);

/* 121 when the collection's validator refuses doc.  old: what it replaces, data NULL for an insert
 * (with validationLevel "moderate" a document that was already invalid may stay so). */
int ash__coll_validate(const ash_coll *c, ash_doc doc, ash_doc old, const ash_op *op,
                       ash_error *err);

/* Log an operation that began at from_ms (monotonic) when it took longer than the store allows. */
void ash__slow_note(const ash_embedded *s, const char *what, ash_ns ns, int64_t from_ms);

bool ash__name_ends_with(const char *name, const char *suffix);

#endif
