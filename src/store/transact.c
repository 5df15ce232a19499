/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: which ones a thread is in, and who is told how one ended. */

#include "store/transaction.h"

#include "base/error.h"
#include "store/call.h"

/* The transactions that this thread is in, of different stores, innermost first. */
typedef struct running {
    const ash_store *store;
    const struct running *outer;
} running;

static _Thread_local const running *innermost;

typedef struct transact_call {
    ash_store *store;
    ash_transact_fn fn;
    void *ctx;
    int result; /* of fn */
    ash_transaction_end *ends;
} transact_call;

/* Does this thread run a transaction of the store? */
static bool is_inside(const ash_store *store)
{
    const running *r = innermost;
    while (r != NULL && r->store != store)
        r = r->outer;
    return r != NULL;
}

int ash__call_outside(const ash_store *store, ash_error *err)
{
    if (!is_inside(store))
        return 0;
    return ash__fail(err, ASH_ESTATE,
                     "a transaction is running: what is done by the same thread has to be part of "
                     "it, and this is not");
}

void ash__transaction_at_end(ash_transaction *t, ash_transaction_end *end)
{
    end->next = *t->ends;
    *t->ends = end;
}

void ash__transaction_break(ash_transaction *t)
{
    t->broken = true;
}

bool ash__transaction_is_of(const ash_transaction *t, const ash_store *store)
{
    return t->store == store;
}

static void tell(transact_call *call, ash_outcome outcome)
{
    while (call->ends != NULL) {
        ash_transaction_end *end = call->ends;
        /* Taken off first: who is told may let go of the memory that it is in. */
        call->ends = end->next;
        end->fn(end, outcome);
    }
}

/* What an earlier run did is undone; its ends are told here, where nothing has happened yet. */
static int run(ash_transaction *t, void *ctx, ash_error *err)
{
    transact_call *call = ctx;
    const running self = {call->store, innermost};
    tell(call, ASH_UNDONE);
    t->ends = &call->ends;
    t->broken = false;
    /* Here, not in ash_store_transact: fn runs on whatever thread the backend chose, and that is
     * the one that must not wait for itself. */
    innermost = &self;
    call->result = call->fn(t, call->ctx, err);
    innermost = self.outer;
    if (call->result == 0 && t->broken)
        call->result =
            ash__fail(err, ASH_ESTATE,
                      "an operation of the transaction failed half-way: its error has to "
                      "be returned");
    return call->result;
}

static ash_outcome outcome_of(const transact_call *call, int rc)
{
    /* These say that the answer to a commit was lost, not what it was; when fn failed itself there
     * was no commit. */
    bool lost = rc == ASH_ETIMEOUT || rc == ASH_ENETWORK || rc == ASH_EIO || rc == ASH_EINTERNAL;
    if (rc == 0)
        return ASH_COMMITTED;
    return call->result == 0 && lost ? ASH_UNCERTAIN : ASH_UNDONE;
}

int ash_store_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err)
{
    ash_op o;
    transact_call call = {.store = store, .fn = fn, .ctx = ctx};
    int rc = ash__call_read_op(store, op, &o, err);
    if (rc == 0 && o.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "transactions do not nest");
    if (rc != 0)
        return rc;
    rc = store->ops->transact(store, run, &call, &o, err);
    /* Outside of the transaction, so that who is told may use the store. */
    tell(&call, outcome_of(&call, rc));
    return rc;
}
