/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: the driver's own, with its retries; or an Ashlar server's. */

#include "store/mongo/driver.h"

#include "base/clock.h"
#include "base/error.h"
#include "store/mongo/replay.h"

struct run {
    ash_mongo_transaction t;
    const ash_op *op;
    ash_transact_fn fn;
    void *ctx;
    int result; /* of the last attempt */
    ash_error err;
};

static mongoc_transaction_opt_t *transaction_options(const ash_op *op)
{
    mongoc_transaction_opt_t *opts = mongoc_transaction_opts_new();
    mongoc_read_concern_t *read = mongoc_read_concern_new();
    mongoc_write_concern_t *write = mongoc_write_concern_new();

    mongoc_read_concern_set_level(read, MONGOC_READ_CONCERN_LEVEL_SNAPSHOT);
    mongoc_transaction_opts_set_read_concern(opts, read);
    mongoc_write_concern_set_wmajority(write, 0);
    if (op->durability != ASH_DURABILITY_INTERVAL)
        mongoc_write_concern_set_journal(write, true);
    mongoc_transaction_opts_set_write_concern(opts, write);
    if (op->deadline_ms != 0) {
        int64_t left = op->deadline_ms - ash__clock_ms();
        mongoc_transaction_opts_set_max_commit_time_ms(opts, left > 0 ? left : 1);
    }
    mongoc_write_concern_destroy(write);
    mongoc_read_concern_destroy(read);
    return opts;
}

/* The driver runs this again when *reply carries the label, until its two minutes are over. */
static bool attempt(mongoc_client_session_t *session, void *ctx, bson_t **reply,
                    bson_error_t *error)
{
    struct run *run = ctx;
    (void)session;

    /* Of the attempt before. */
    run->t.transient = false;
    run->result = ash__op_check(run->op, &run->err);
    if (run->result == 0)
        run->result = run->fn(&run->t.base, run->ctx, &run->err);
    if (run->result == 0)
        return true;
    /* fn returns our codes, so the label by which the driver tries again is put back. */
    if (run->t.transient)
        *reply = BCON_NEW("errorLabels", "[", "TransientTransactionError", "]");
    bson_set_error(error, MONGOC_ERROR_TRANSACTION, 0, "%s", run->err.text);
    return false;
}

static int run_all(struct run *run, ash_error *err)
{
    mongoc_transaction_opt_t *opts = transaction_options(run->op);
    bson_error_t error = {0};
    bson_t reply;
    bool ok =
        mongoc_client_session_with_transaction(run->t.session, attempt, opts, run, &reply, &error);
    int rc = run->result;

    /* fn's own failure, in its own words, before whatever the driver makes of it. */
    if (rc != 0) {
        if (err != NULL)
            *err = run->err;
    } else if (!ok) {
        rc = ash__mongo_fail(&error, err);
        ash__error_prefix(err, "cannot commit transaction");
    }
    bson_destroy(&reply);
    mongoc_transaction_opts_destroy(opts);
    return rc;
}

int ash__mongo_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                        ash_error *err)
{
    ash_mongo_store *mongo = (ash_mongo_store *)store;
    struct run run = {.op = op, .fn = fn, .ctx = ctx, .err = ASH_ERROR_INIT};
    ash_mongo_call call;
    int rc;

    if (mongo->replays)
        return ash__replay_transact(mongo, fn, ctx, op, err);
    if (mongo->served)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "this Ashlar server is too old to have transactions for clients");
    if (!mongo->transactions)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "this deployment has no transactions: it is neither a replica set nor "
                         "sharded, or older than 4.0");
    rc = ash__mongo_call_begin(&call, store, op, err);
    if (rc != 0)
        return rc;
    run.t.base.store = store;
    run.t.client = call.client;
    run.t.session = mongoc_client_start_session(call.client, NULL, &call.error);
    if (run.t.session == NULL)
        rc = ash__mongo_call_fail(&call, err);
    else
        rc = run_all(&run, err);
    mongoc_client_session_destroy(run.t.session);
    ash__mongo_call_end(&call);
    return rc;
}
