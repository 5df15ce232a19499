/* SPDX-License-Identifier: Apache-2.0 */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "bucket/condition.h"
#include "object/docs/expire.h"
#include "store/transaction.h"

#include <inttypes.h>
#include <string.h>

typedef struct commit_call {
    ash_docs_commit commit;
    const ash_docs_change *change;
    bool over; /* a limit */
} commit_call;

/* ---- the store's document ---- */

static int load(ash_docs_commit *c, ash_error *err)
{
    int rc = ash__docs_config_own(c->store, &c->op, &c->config, err);
    if (rc != 0)
        return rc;
    if (c->config.sealed && !c->care)
        return ash__fail(err, ASH_EREADONLY, "object store %s is sealed", c->store->base.name);
    c->revision = c->config.revision + (c->care ? 0 : 1);
    c->bytes = c->objects = 0;
    c->unchanged = false;
    return 0;
}

static int check_limits(commit_call *call, ash_error *err)
{
    const ash_docs_commit *c = &call->commit;
    const ash_object_config *limits = &c->config.copy.config;
    call->over = true;
    if (c->bytes > 0 && limits->max_bytes > 0 && c->config.bytes + c->bytes > limits->max_bytes)
        return ash__fail(err, ASH_ENOSPC,
                         "object store %s would have %" PRId64
                         " bytes, over its maximum of %" PRId64,
                         c->store->base.name, c->config.bytes + c->bytes, limits->max_bytes);
    if (c->objects > 0 && limits->max_objects > 0 &&
        c->config.objects + c->objects > limits->max_objects)
        return ash__fail(err, ASH_ENOSPC, "object store %s has its maximum of %" PRId64 " objects",
                         c->store->base.name, limits->max_objects);
    call->over = false;
    return 0;
}

/* Every change does, so that two of one store conflict where transactions may overlap. */
static int save(ash_docs_commit *c, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(c->store->base.name), "generation",
                              BCON_INT32(c->store->generation));
    bson_t *operators = BCON_NEW("$set", "{", "revision", BCON_INT64(c->revision), "bytes",
                                 BCON_INT64(c->config.bytes + c->bytes), "objects",
                                 BCON_INT64(c->config.objects + c->objects), "}");
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    int64_t matched = 0;
    o.op = c->op;
    int rc =
        ash__collection_change(c->store->manager->stores, filter, operators, &o, &matched, err);
    if (rc == 0 && matched != 1)
        rc = ash__fail(err, ASH_ENOTFOUND, "object store %s was deleted", c->store->base.name);
    bson_destroy(operators);
    bson_destroy(filter);
    return rc;
}

/* ---- the transaction ---- */

static int run(ash_transaction *t, void *ctx, ash_error *err)
{
    commit_call *call = ctx;
    ash_docs_commit *c = &call->commit;
    call->over = false;
    c->op.transaction = t;
    int rc = load(c, err);
    if (rc == 0)
        rc = call->change->fn(c, call->change->ctx, err);
    if (rc == 0)
        rc = check_limits(call, err);
    if (rc == 0 && !c->unchanged && (!c->care || c->bytes != 0 || c->objects != 0))
        rc = save(c, err);
    ash__docs_config_release(&c->config);
    return rc;
}

static int commit_once(ash_docs *s, const ash_docs_change *change, bool *over, ash_error *err)
{
    commit_call call = {
        .commit = {.store = s, .op = *change->op, .opts = change->opts, .care = change->care},
        .change = change};
    ash_transaction *joined = change->op->transaction;
    int rc = ash_store_time(s->manager->store, &call.commit.now_ms, NULL, err);
    if (rc != 0)
        return rc;
    if (joined != NULL) {
        rc = run(joined, &call, err);
        /* Nobody can tell how far it came: the caller's transaction must not be committed. */
        if (rc != 0)
            ash__transaction_break(joined);
        return rc;
    }
    ash_op own = *change->op;
    rc = ash_store_transact(s->manager->store, run, &call, &own, err);
    *over = rc == ASH_ENOSPC && call.over;
    return rc;
}

int ash__docs_commit(ash_docs *s, const ash_docs_change *change, ash_error *err)
{
    bool over = false;
    int64_t expired = 0;
    if (!s->manager->base.can.changes)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "the store has no transactions: its objects are read only");
    int rc = commit_once(s, change, &over, err);
    if (!over || change->care)
        return rc;
    /* Also when there was nothing to expire: a server may just have been faster. */
    if (ash__docs_expire(s, change->op, false, &expired, NULL, NULL) != 0)
        return rc;
    return commit_once(s, change, &over, err);
}

/* ---- conditions ---- */

static int check_fence(ash_docs_commit *c, ash_error *err)
{
    ash_fence_copy fence = {.given = false};
    ash_work work = ash__work(c->store->bucket, c->op.deadline_ms);
    ash_commit_manner manner;
    bson_value_t none = {.value_type = BSON_TYPE_NULL}; /* no file: only the lock counts */
    if (c->opts->fence == NULL)
        return 0;
    work.transaction = c->op.transaction;
    int rc = ash__bucket_manner(c->store->bucket, &manner, err);
    work.manner = &manner;
    if (rc == 0)
        rc = ash__fence_copy(c->store->bucket, c->opts->fence, &fence, err);
    if (rc == 0)
        rc = ash__fence_check(&work, &fence, &none, err);
    ash__fence_release(&fence);
    return rc;
}

int ash__commit_check(ash_docs_commit *c, const ash_object *old, ash_error *err)
{
    const ash_object_change_options *o = c->opts;
    uint64_t revision = old != NULL && !ash__docs_is_over(old, c->now_ms) ? old->revision : 0;
    if (o == NULL)
        return 0;
    if (o->if_absent && ash__docs_is_live(old, c->now_ms))
        return ash__fail(err, ASH_ECONDITION, "there is an object %.200s", old->name);
    if (o->if_revision != 0 && revision == 0)
        return ash__fail(err, ASH_ECONDITION, "it is not there any more");
    if (o->if_revision != 0 && o->if_revision != revision)
        return ash__fail(err, ASH_ECONDITION,
                         "%.200s has revision %" PRIu64 " by now, not %" PRIu64, old->name,
                         revision, o->if_revision);
    return check_fence(c, err);
}

void ash__commit_stamp(ash_docs_commit *c, bson_t *set)
{
    BSON_APPEND_DATE_TIME(set, "mtime", c->now_ms);
    BSON_APPEND_INT64(set, "revision", c->revision);
}

void ash__commit_stamp_expiry(ash_docs_commit *c, int64_t ttl_ms, bson_t *set)
{
    int64_t of_store = c->config.copy.config.ttl_ms;
    int64_t ttl = of_store == 0 || (ttl_ms != 0 && ttl_ms < of_store) ? ttl_ms : of_store;
    if (ttl > 0)
        BSON_APPEND_DATE_TIME(set, "expires", c->now_ms + ttl);
    else
        BSON_APPEND_NULL(set, "expires");
}
