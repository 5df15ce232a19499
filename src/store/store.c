/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the store as a whole. */

#include "store/call.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

#define DEFAULT_AWAIT_MS 1000

void ash_store_close(ash_store *store)
{
    char *default_db;
    if (store == NULL)
        return;
    /* The backend frees the store; the name is ours and would be lost with it. */
    default_db = store->default_db;
    store->ops->close(store);
    ash__free(default_db);
}

void ash__store_expect_readers(ash_store *store)
{
    /* Only a backend that keeps old versions for readers has a use for it. */
    if (store->ops->expect_readers != NULL)
        store->ops->expect_readers(store);
}

void ash__store_forget_reader(ash_store *store, uint64_t reader)
{
    if (store->ops->forget_reader != NULL)
        store->ops->forget_reader(store, reader);
}

const char *ash_store_default_db(const ash_store *store)
{
    return store->default_db;
}

int ash_store_capabilities(ash_store *store, ash_capabilities *out, ash_error *err)
{
    /* Filled whole, then cut to the size that the caller knows. */
    ash_capabilities full = ASH_CAPABILITIES_INIT;
    int rc = store->ops->capabilities(store, &full, err);
    return rc == 0 ? ash__out_copy(out, &full, sizeof full, err) : rc;
}

int ash_store_list_collections(ash_store *store, const char *db, const bson_t *filter,
                               const ash_op *op, ash_cursor **out, ash_error *err)
{
    ash_op o;
    int rc = ash__call_read_op(store, op, &o, err);
    *out = NULL;
    if (rc == 0)
        rc = ash__call_db(store, db, &db, err);
    if (rc != 0)
        return rc;
    rc = store->ops->list_collections(store, db, ash__bson_or_empty(filter), &o, out, err);
    if (rc == 0)
        (*out)->in_transaction = o.transaction != NULL;
    return rc;
}

int ash_store_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err)
{
    ash_op o;
    int rc = ash__call_read_op(store, op, &o, err);
    if (rc != 0)
        return rc;
    return store->ops->list_databases(store, &o, out, err);
}

int ash_store_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err)
{
    ash_op o;
    int rc = ash__call_write_op(store, op, &o, err);
    if (rc == 0)
        rc = ash__call_db(store, db, &db, err);
    if (rc != 0)
        return rc;
    return store->ops->drop_database(store, db, &o, err);
}

static int check_watch_options(ash_watch_options *o, const char *db, ash_error *err)
{
    if (o->all_changes && db != NULL)
        return ash__fail(err, ASH_EINVAL,
                         "changes of the whole store are asked for without a "
                         "database");
    if ((o->resume_after != NULL) + (o->start_after != NULL) + (o->start_at_operation_time != 0) >
        1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "only one of resume_after, start_after and "
                                "start_at_operation_time may be given");
    if (o->batch_size < 0)
        return ash__fail(err, ASH_EINVAL, "batch size must not be negative");
    if (o->max_await_ms <= 0)
        o->max_await_ms = DEFAULT_AWAIT_MS;
    return 0;
}

int ash_store_watch(ash_store *store, const char *db, const char *collection,
                    const ash_watch_options *opts, ash_cursor **out, ash_error *err)
{
    ash_watch_options o;
    int rc = ash__op_options_copy(&o, offsetof(ash_watch_options, op), opts, err);
    *out = NULL;
    if (rc == 0)
        rc = ash__call_read(store, &o.op, err);
    if (rc == 0)
        rc = check_watch_options(&o, db, err);
    if (rc == 0 && db == NULL && collection != NULL)
        db = store->default_db;
    if (rc == 0 && db != NULL)
        rc = ash__namespace_check(db, collection, err);
    if (rc != 0)
        return rc;
    return store->ops->watch(store, (ash_ns){db, collection}, &o, out, err);
}

int ash_store_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err)
{
    int64_t wall = 0;
    uint64_t newest = 0;
    /* Not asked for in vain: the store keeps what follows a time that it told. */
    int rc = store->ops->time(store, &wall, operation_time != NULL ? &newest : NULL, err);
    if (rc == 0 && wall_ms != NULL)
        *wall_ms = wall;
    if (rc == 0 && operation_time != NULL)
        *operation_time = newest;
    return rc;
}

int ash_store_hold(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out, ash_error *err)
{
    ash_op o;
    uint64_t held = 0;
    int rc = ash__call_read_op(store, op, &o, err);
    if (rc == 0 && o.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "a transaction reads its own state");
    if (rc == 0)
        rc = store->ops->hold(store, time, &o, &held, err);
    if (rc == 0)
        *out = held;
    return rc;
}

int ash_store_stats(ash_store *store, const char *db, const char *collection, int64_t scale,
                    const ash_op *op, bson_t *out, ash_error *err)
{
    ash_op o;
    int rc = ash__call_read_op(store, op, &o, err);
    if (rc == 0 && scale < 0)
        rc = ash__fail(err, ASH_EINVAL, "scale must not be negative");
    if (rc == 0 && db == NULL && collection != NULL)
        db = store->default_db;
    if (rc == 0 && db != NULL)
        rc = ash__namespace_check(db, collection, err);
    if (rc != 0)
        return rc;
    return store->ops->stats(store, (ash_ns){db, collection}, scale > 0 ? scale : 1, &o, out, err);
}

int ash_store_flush(ash_store *store, const ash_op *op, ash_error *err)
{
    ash_op o;
    int rc = ash__call_read_op(store, op, &o, err);
    if (rc != 0)
        return rc;
    return store->ops->flush(store, &o, err);
}

/* {check}, {backup} and {validate} only read. */
static bool action_writes(const bson_t *action)
{
    return bson_has_field(action, "repair") || bson_has_field(action, "compact");
}

int ash_store_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                       bson_t *out, ash_error *err)
{
    if (action == NULL || bson_empty(action))
        return ash__fail(err, ASH_EINVAL, "maintenance action is empty");
    if (store->read_only && action_writes(action))
        return ash__fail(err, ASH_EREADONLY, "store is open for reading only");
    /* Whatever a backend leaves out, a caller may look at the report of damage. */
    bson_init(out);
    return store->ops->maintain(store, action, progress, ctx, out, err);
}
