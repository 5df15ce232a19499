/* SPDX-License-Identifier: Apache-2.0 */
/* Several operations as one apply: fn runs on the writer thread, and its operations see the
 * writer's own state. */

#include "store/embedded/write/slots.h"

#include "store/embedded/kit/embedded.h"
#include "store/embedded/write/retry.h"

typedef struct transaction_run {
    ash_embedded *store;
    ash_transact_fn fn;
    void *ctx;
    const ash_op *op;
} transaction_run;

static int run_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    transaction_run *run = ctx;
    ash_embedded_tx tx = {.base.store = &run->store->base, .writer = w};
    ash_doc stored;
    bool repeated = false;
    int rc = ash__retry_begin(w, run->op, &repeated, &stored, err);
    /* A commit whose answer was lost: it is done, and fn need not run. */
    if (rc != 0 || repeated)
        return rc;
    rc = run->fn(&tx.base, run->ctx, err);
    return rc == 0 ? ash__retry_store(w, run->op, ash__doc_empty, err) : rc;
}

int ash__embedded_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                           ash_error *err)
{
    ash_op own = *op;
    transaction_run run = {ash__embedded(store), fn, ctx, &own};
    if (op->transaction != NULL)
        return ash__fail(err, ASH_ESTATE, "a transaction cannot hold another one");
    /* Which collections fn writes to is not known before, so FILE cannot go by their names. */
    if (own.durability == ASH_DURABILITY_DEFAULT && run.store->durability == ASH_DURABILITY_FILE)
        own.durability = ASH_DURABILITY_EVERY;
    ash_write_terms terms = {.op = &own, .flags = ASH_APPLY_ATOMIC};
    return ash__write_run(run.store, &terms, run_on_writer, &run, err);
}

int ash__embedded_look(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err)
{
    ash_reading reading = {0};
    ash_embedded_tx tx = {.base.store = store, .look = &reading};
    if (op->transaction != NULL)
        /* Inside a transaction everything is seen as of one moment anyway. */
        return fn(op->transaction, ctx, err);
    int rc = ash__reading_begin(ash__embedded(store), op, &reading, err);
    if (rc == 0)
        rc = fn(&tx.base, ctx, err);
    ash__reading_end(&reading);
    return rc;
}
