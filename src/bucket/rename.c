/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "bucket/condition.h"
#include "bucket/file.h"
#include "bucket/intent.h"

typedef struct rename_call {
    const bson_value_t *id; /* or … */
    const char *filename;   /* … all of that name */
    const char *to;
    const ash_fence_copy *fence;
    int64_t matched;
} rename_call;

static int check_fence(ash_bucket *b, ash_transaction *t, const ash_commit_manner *manner,
                       const rename_call *call, int64_t deadline_ms, ash_error *err)
{
    bson_t ids;
    bson_iter_t it;
    uint32_t count = 0;
    if (!call->fence->given)
        return 0;
    if (call->id != NULL)
        return ash__fence_check(b, t, manner, call->fence, call->id, deadline_ms, err);
    int rc = ash__file_ids_of_name(b, t, call->filename, 0, deadline_ms, &ids, &count, err);
    bool more = rc == 0 && bson_iter_init(&it, &ids);
    while (rc == 0 && more && bson_iter_next(&it))
        rc = ash__fence_check(b, t, manner, call->fence, bson_iter_value(&it), deadline_ms, err);
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
    rc = ash__intent_announce(b, call->fence, &intent, deadline_ms, err);
    if (rc == 0)
        rc = ash__intent_update(b, &intent, change, deadline_ms, err);
    if (rc == 0)
        ash__intent_settle(b, call->fence, &intent, deadline_ms);
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
    if (rc != 0)
        return rc;
    if (ash__intent_needed(call->fence, t))
        return rename_each(b, call, deadline_ms, err);
    bson_t filter = BSON_INITIALIZER;
    bson_t *set = BCON_NEW("$set", "{", "filename", BCON_UTF8(call->to), "}");
    if (call->id != NULL)
        ash__filter_id(&filter, "_id", call->id);
    else
        bson_append_utf8(&filter, "filename", 8, call->filename, -1);
    ash__filter_living(&filter);
    ash_op op = ash__bucket_write_op(b, t, deadline_ms);
    rc = ash__collection_change(b->files, &filter, set, call->id == NULL, false, &op,
                                &call->matched, err);
    bson_destroy(set);
    bson_destroy(&filter);
    return rc;
}

static int run_rename(ash_bucket *b, rename_call *call, const ash_change_options *opts,
                      ash_error *err)
{
    ash_fence_copy fence;
    int64_t deadline = 0;
    int rc = ash__change_options(b, opts, &fence, &deadline, err);
    call->fence = &fence;
    if (rc == 0)
        rc = ash__filename_check(call->to, err);
    /* One update command is atomic by itself (§ Renaming stored files). */
    ash_commit_manner manner = {.transactions = false};
    if (rc == 0 && !fence.given)
        rc = commit_rename(b, NULL, &manner, deadline, call, err);
    else if (rc == 0)
        rc = ash__bucket_commit(b, commit_rename, call, deadline, err);
    ash__fence_release(&fence);
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
