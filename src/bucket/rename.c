/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/claim.h"
#include "bucket/condition.h"
#include "bucket/file.h"
#include "bucket/intent.h"
#include "store/transaction.h"

typedef struct rename_call {
    const bson_value_t *id; /* or … */
    const char *filename;   /* … all of that name */
    const char *to;
    const ash_change *change;
    int64_t matched;
} rename_call;

static int check_fence(ash_bucket *b, ash_transaction *t, const ash_commit_manner *manner,
                       const rename_call *call, int64_t deadline_ms, ash_error *err)
{
    bson_t ids;
    bson_iter_t it;
    uint32_t count = 0;
    if (!call->change->fence.given)
        return 0;
    if (call->id != NULL)
        return ash__fence_check(b, t, manner, &call->change->fence, call->id, deadline_ms, err);
    int rc = ash__file_ids_of_name(b, t, call->filename, 0, deadline_ms, &ids, &count, err);
    bool more = rc == 0 && bson_iter_init(&it, &ids);
    while (rc == 0 && more && bson_iter_next(&it))
        rc = ash__fence_check(b, t, manner, &call->change->fence, bson_iter_value(&it), deadline_ms,
                              err);
    bson_destroy(&ids);
    return rc;
}

static int rename_announced(ash_bucket *b, const rename_call *call, const bson_value_t *id,
                            int64_t deadline_ms, bool *found, ash_error *err)
{
    ash_intent intent;
    ash__intent_init(&intent, id, false);
    int rc = ash__intent_mark(b, &intent, deadline_ms, found, err);
    if (rc != 0 || !*found)
        return rc;
    bson_t *change = BCON_NEW("$set", "{", "filename", BCON_UTF8(call->to), "}", "$unset", "{",
                              "ashlar_intent", BCON_UTF8(""), "}");
    rc = ash__intent_announce(b, &call->change->fence, &intent, deadline_ms, err);
    if (rc == 0)
        rc = ash__intent_update(b, &intent, change, deadline_ms, err);
    if (rc == 0)
        ash__intent_settle(b, &call->change->fence, &intent, deadline_ms);
    bson_destroy(change);
    return rc;
}

static int rename_each(ash_bucket *b, rename_call *call, int64_t deadline_ms, ash_error *err)
{
    bson_t ids;
    bson_iter_t it;
    uint32_t count = 0;
    bool found = false;
    if (call->id != NULL) {
        int rc = rename_announced(b, call, call->id, deadline_ms, &found, err);
        call->matched = found ? 1 : 0;
        return rc;
    }
    int rc = ash__file_ids_of_name(b, NULL, call->filename, 0, deadline_ms, &ids, &count, err);
    bool more = rc == 0 && bson_iter_init(&it, &ids);
    while (rc == 0 && more && bson_iter_next(&it))
        rc = rename_announced(b, call, bson_iter_value(&it), deadline_ms, &found, err);
    call->matched = count;
    bson_destroy(&ids);
    return rc;
}

static int commit_rename(ash_bucket *b, ash_transaction *t, const ash_commit_manner *manner,
                         int64_t deadline_ms, void *ctx, ash_error *err)
{
    rename_call *call = ctx;
    int rc = check_fence(b, t, manner, call, deadline_ms, err);
    if (rc == 0 && call->change->if_name_absent)
        rc =
            ash__condition_check(b, t, manner, ASH_PUT_IF_ABSENT, NULL, call->to, deadline_ms, err);
    if (rc != 0)
        return rc;
    if (ash__intent_needed(&call->change->fence, t))
        return rename_each(b, call, deadline_ms, err);
    bson_t filter = BSON_INITIALIZER;
    bson_t *set = BCON_NEW("$set", "{", "filename", BCON_UTF8(call->to), "}");
    if (call->id != NULL)
        ash__change_filter(call->change, call->id, &filter);
    else
        bson_append_utf8(&filter, "filename", 8, call->filename, -1);
    ash__filter_living(&filter);
    ash_op op = ash__bucket_write_op(b, t, deadline_ms);
    rc = ash__collection_change(b->files, &filter, set, call->id == NULL, false, &op,
                                &call->matched, err);
    if (rc != 0 && manner->joined)
        ash__transaction_break(t);
    if (rc == 0 && call->matched == 0 && call->id != NULL)
        rc = ash__change_check_unmatched(b, t, call->change, call->id, deadline_ms, err);
    bson_destroy(set);
    bson_destroy(&filter);
    return rc;
}

/* Where there are no transactions, those who want the name take turns. */
static int rename_in_turn(ash_bucket *b, rename_call *call, ash_error *err)
{
    const ash_change *c = call->change;
    ash_commit_manner manner;
    bson_oid_t claim;
    int rc = ash__bucket_manner(b, &manner, err);
    bool alone = !c->if_name_absent || manner.transactions;
    if (rc == 0 && !alone)
        rc = ash__claim_take(b, call->to, &claim, c->deadline_ms, err);
    if (rc != 0)
        return rc;
    rc = ash__bucket_commit_in(b, c->transaction, commit_rename, call, c->deadline_ms, err);
    if (!alone)
        ash__claim_release(b, call->to, &claim, c->deadline_ms);
    return rc;
}

static int run_rename(ash_bucket *b, rename_call *call, const ash_change_options *opts,
                      ash_error *err)
{
    static const ash_commit_manner alone;
    ash_change change;
    int rc = ash__change_init(b, opts, &change, err);
    call->change = &change;
    if (rc == 0)
        rc = ash__filename_check(call->to, err);
    if (rc == 0 && call->id == NULL)
        rc = ash__change_refuse_filter(&change, err);
    bool one_update = !change.fence.given && !change.if_name_absent && change.transaction == NULL;
    if (rc == 0 && one_update) /* is atomic by itself (§ Renaming stored files) */
        rc = commit_rename(b, NULL, &alone, change.deadline_ms, call, err);
    else if (rc == 0)
        rc = rename_in_turn(b, call, err);
    ash__change_release(&change);
    return rc;
}

int ash_bucket_rename(ash_bucket *b, const bson_value_t *id, const char *new_filename,
                      const ash_change_options *opts, ash_error *err)
{
    rename_call call = {.id = id, .to = new_filename};
    int rc = ash__id_check(id, err);
    if (rc == 0)
        rc = run_rename(b, &call, opts, err);
    if (rc == 0 && call.matched == 0)
        rc = ash__say_id_missing(id, err);
    return rc;
}

int ash_bucket_rename_by_name(ash_bucket *b, const char *filename, const char *new_filename,
                              const ash_change_options *opts, ash_error *err)
{
    rename_call call = {.filename = filename, .to = new_filename};
    int rc = ash__filename_check(filename, err);
    if (rc == 0)
        rc = run_rename(b, &call, opts, err);
    if (rc == 0 && call.matched == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "no file named %.200s", filename);
    return rc;
}
