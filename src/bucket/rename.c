/* SPDX-License-Identifier: Apache-2.0 */
/* Another name for one file, or for all revisions of a name. */
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

static int check_fence(const ash_work *work, const rename_call *call, ash_error *err)
{
    bson_t ids;
    bson_iter_t it;
    uint32_t count = 0;
    if (!call->change->fence.given)
        return 0;
    if (call->id != NULL)
        return ash__fence_check(work, &call->change->fence, call->id, err);
    int rc = ash__file_ids_of_name(work, call->filename, 0, &ids, &count, err);
    bool more = rc == 0 && bson_iter_init(&it, &ids);
    while (rc == 0 && more && bson_iter_next(&it))
        rc = ash__fence_check(work, &call->change->fence, bson_iter_value(&it), err);
    bson_destroy(&ids);
    return rc;
}

static int rename_announced(const ash_work *work, const rename_call *call, const bson_value_t *id,
                            bool *found, ash_error *err)
{
    ash_intent intent;
    ash__intent_init(&intent, id, false);
    int rc = ash__intent_mark(work, &intent, found, err);
    if (rc != 0 || !*found)
        return rc;
    bson_t *change = BCON_NEW("$set", "{", "filename", BCON_UTF8(call->to), "}", "$unset", "{",
                              "ashlar_intent", BCON_UTF8(""), "}");
    rc = ash__intent_announce(work, &call->change->fence, &intent, err);
    if (rc == 0)
        rc = ash__intent_update(work, &intent, change, err);
    if (rc == 0)
        ash__intent_settle(work, &call->change->fence, &intent);
    bson_destroy(change);
    return rc;
}

static int rename_each(const ash_work *work, rename_call *call, ash_error *err)
{
    bson_t ids;
    bson_iter_t it;
    uint32_t count = 0;
    bool found = false;
    if (call->id != NULL) {
        int rc = rename_announced(work, call, call->id, &found, err);
        call->matched = found ? 1 : 0;
        return rc;
    }
    /* Each for itself: a takeover in between leaves the others their name. */
    int rc = ash__file_ids_of_name(work, call->filename, 0, &ids, &count, err);
    bool more = rc == 0 && bson_iter_init(&it, &ids);
    while (rc == 0 && more && bson_iter_next(&it))
        rc = rename_announced(work, call, bson_iter_value(&it), &found, err);
    call->matched = count;
    bson_destroy(&ids);
    return rc;
}

static int commit_rename(const ash_work *work, void *ctx, ash_error *err)
{
    rename_call *call = ctx;
    int rc = check_fence(work, call, err);
    if (rc == 0 && call->change->if_name_absent)
        rc = ash__condition_check(work, ASH_PUT_IF_ABSENT, NULL, call->to, err);
    if (rc != 0)
        return rc;
    if (ash__intent_needed(&call->change->fence, work->transaction))
        return rename_each(work, call, err);
    bson_t filter = BSON_INITIALIZER;
    bson_t *set = BCON_NEW("$set", "{", "filename", BCON_UTF8(call->to), "}");
    if (call->id != NULL)
        ash__change_filter(call->change, call->id, &filter);
    else
        BSON_APPEND_UTF8(&filter, "filename", call->filename);
    ash__filter_living(&filter);
    ash_update_options o = ash__work_update_options(work);
    o.multi = call->id == NULL;
    rc = ash__collection_change(work->bucket->files, &filter, set, &o, &call->matched, err);
    if (rc != 0 && work->manner->joined)
        ash__transaction_break(work->transaction);
    if (rc == 0 && call->matched == 0 && call->id != NULL)
        rc = ash__change_check_unmatched(work, call->change, call->id, err);
    bson_destroy(set);
    bson_destroy(&filter);
    return rc;
}

/* Where there are no transactions, those who want the name take turns. */
static int rename_in_turn(ash_bucket *b, rename_call *call, ash_error *err)
{
    const ash_change *c = call->change;
    ash_work outside = ash__work(b, c->work.deadline_ms);
    ash_commit_manner manner;
    bson_oid_t claim;
    int rc = ash__bucket_manner(b, &manner, err);
    bool alone = !c->if_name_absent || manner.transactions;
    if (rc == 0 && !alone)
        rc = ash__claim_take(&outside, call->to, &claim, err);
    if (rc != 0)
        return rc;
    rc = ash__bucket_commit(&c->work, commit_rename, call, err);
    if (!alone)
        ash__claim_release(&outside, call->to, &claim);
    return rc;
}

static int run_rename(ash_bucket *b, rename_call *call, const ash_change_options *opts,
                      ash_error *err)
{
    static const ash_commit_manner alone;
    ash_change change;
    int rc = ash__change_init(b, opts, &change, err);
    ash_work plain = change.work;
    plain.manner = &alone;
    call->change = &change;
    if (rc == 0)
        rc = ash__filename_check(call->to, err);
    if (rc == 0 && call->id == NULL)
        rc = ash__change_refuse_filter(&change, err);
    /* Nothing has to be looked at beside the update itself. */
    bool one_update =
        !change.fence.given && !change.if_name_absent && change.work.transaction == NULL;
    if (rc == 0 && one_update) /* is atomic by itself (§ Renaming stored files) */
        rc = commit_rename(&plain, call, err);
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
