/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/chunks.h"

#include "base/mem.h"
#include "store/transaction.h"

typedef struct commit_call {
    ash_bucket *bucket;
    ash_commit_fn fn;
    void *ctx;
    const ash_commit_manner *manner;
    int64_t deadline_ms;
} commit_call;

static int run_in_transaction(ash_transaction *t, void *ctx, ash_error *err)
{
    const commit_call *call = ctx;
    bson_reinit(call->manner->rest);
    return call->fn(call->bucket, t, call->manner, call->deadline_ms, call->ctx, err);
}

/* Nobody sees them any more; should this fail, a sweep takes them. */
static void remove_rest(ash_bucket *b, const bson_t *ids, int64_t deadline_ms)
{
    bson_iter_t it;
    if (!bson_iter_init(&it, ids))
        return;
    while (bson_iter_next(&it))
        (void)ash__chunks_remove(b, NULL, bson_iter_value(&it), -1, -1, deadline_ms, NULL, NULL);
}

int ash__bucket_commit(ash_bucket *b, ash_commit_fn fn, void *ctx, int64_t deadline_ms,
                       ash_error *err)
{
    ash_commit_manner manner;
    int rc = ash__bucket_manner(b, &manner, err);
    if (rc != 0)
        return rc;
    if (!manner.transactions)
        return fn(b, NULL, &manner, deadline_ms, ctx, err);
    bson_t rest = BSON_INITIALIZER;
    manner.rest = &rest;
    commit_call call = {b, fn, ctx, &manner, deadline_ms};
    ash_op op = ash__bucket_write_op(b, NULL, deadline_ms);
    rc = ash_store_transact(b->store, run_in_transaction, &call, &op, err);
    if (rc == 0)
        remove_rest(b, &rest, deadline_ms);
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
    if (outcome == ASH_COMMITTED)
        remove_rest(self->bucket, self->rest, ash__bucket_deadline(self->bucket, 0));
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

int ash__bucket_commit_in(ash_bucket *b, ash_transaction *t, ash_commit_fn fn, void *ctx,
                          int64_t deadline_ms, ash_error *err)
{
    ash_commit_manner manner;
    if (t == NULL)
        return ash__bucket_commit(b, fn, ctx, deadline_ms, err);
    int rc = ash__bucket_manner(b, &manner, err);
    if (rc != 0)
        return rc;
    rest_end *self = ash__new(rest_end);
    *self = (rest_end){.end = {.fn = end_of_rest}, .bucket = b, .rest = bson_new()};
    manner.rest = self->rest;
    manner.joined = true;
    ash__transaction_at_end(t, &self->end);
    return fn(b, t, &manner, deadline_ms, ctx, err);
}
