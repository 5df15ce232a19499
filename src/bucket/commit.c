/* SPDX-License-Identifier: Apache-2.0 */
/* How a change becomes one commit: in a transaction of its own, as part of the caller's, or, where
 * the store has none, step by step in an order that leaves nothing half visible. */
#include "bucket/chunks.h"

#include "base/mem.h"
#include "store/transaction.h"

typedef struct commit_call {
    const ash_work *work; /* as it is in the commit, but for the transaction */
    ash_commit_fn fn;
    void *ctx;
} commit_call;

static int run_in_transaction(ash_transaction *t, void *ctx, ash_error *err)
{
    const commit_call *call = ctx;
    ash_work work = *call->work;
    work.transaction = t;
    bson_reinit(work.manner->rest); /* of the run before, which came to nothing */
    return call->fn(&work, call->ctx, err);
}

/* Nobody sees them any more; should this fail, a sweep takes them. */
static void remove_rest(const ash_work *work, const bson_t *ids)
{
    bson_iter_t it;
    if (!bson_iter_init(&it, ids))
        return;
    while (bson_iter_next(&it))
        (void)ash__chunks_remove(work, bson_iter_value(&it), -1, -1, NULL, NULL);
}

static int commit_alone(const ash_work *work, ash_commit_fn fn, void *ctx, ash_error *err)
{
    ash_commit_manner manner;
    int rc = ash__bucket_manner(work->bucket, &manner, err);
    if (rc != 0)
        return rc;
    ash_work inner = *work;
    inner.manner = &manner;
    if (!manner.transactions)
        return fn(&inner, ctx, err);
    bson_t rest = BSON_INITIALIZER;
    manner.rest = &rest;
    commit_call call = {&inner, fn, ctx};
    ash_op op = ash__work_write_op(work);
    rc = ash_store_transact(work->bucket->store, run_in_transaction, &call, &op, err);
    if (rc == 0) /* the commit stands, whatever becomes of this */
        remove_rest(work, &rest);
    bson_destroy(&rest);
    return rc;
}

/* ---- in a caller's transaction ---- */

/* What is left for after the commit waits for the transaction's end. */
typedef struct rest_end {
    ash_transaction_end end;
    ash_bucket *bucket;
    bson_t *rest;
} rest_end;

static void end_of_rest(ash_transaction_end *end, ash_outcome outcome)
{
    rest_end *self = (rest_end *)end;
    /* With a time limit of its own: that of the change may have passed with the transaction. */
    ash_work work = ash__work(self->bucket, ash__bucket_deadline(self->bucket, 0));
    if (outcome == ASH_COMMITTED)
        remove_rest(&work, self->rest);
    bson_destroy(self->rest);
    ash__free(self);
}

int ash__bucket_transaction_check(const ash_bucket *b, const ash_transaction *t, ash_error *err)
{
    if (t == NULL || ash__transaction_is_of(t, b->store))
        return 0;
    return ash__fail(err, ASH_EINVAL, "transaction belongs to another store than bucket %s",
                     b->name);
}

static int commit_joined(const ash_work *work, ash_commit_fn fn, void *ctx, ash_error *err)
{
    ash_commit_manner manner;
    int rc = ash__bucket_manner(work->bucket, &manner, err);
    if (rc != 0)
        return rc;
    rest_end *self = ash__new(rest_end);
    *self = (rest_end){.end = {.fn = end_of_rest}, .bucket = work->bucket, .rest = bson_new()};
    manner.rest = self->rest;
    manner.joined = true;
    /* Before fn runs, and whether it fails or not: the list is freed at the transaction's end. */
    ash__transaction_at_end(work->transaction, &self->end);
    ash_work inner = *work;
    inner.manner = &manner;
    return fn(&inner, ctx, err);
}

int ash__bucket_commit(const ash_work *work, ash_commit_fn fn, void *ctx, ash_error *err)
{
    return work->transaction != NULL ? commit_joined(work, fn, ctx, err)
                                     : commit_alone(work, fn, ctx, err);
}
