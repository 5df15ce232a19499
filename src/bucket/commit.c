/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/bucket.h"

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
    return call->fn(call->bucket, t, call->manner, call->deadline_ms, call->ctx, err);
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
    commit_call call = {b, fn, ctx, &manner, deadline_ms};
    ash_op op = ash__bucket_write_op(b, NULL, deadline_ms);
    return ash_store_transact(b->store, run_in_transaction, &call, &op, err);
}
