/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/condition.h"

#include "bucket/file.h"
#include "bucket/intent.h"
#include "store/transaction.h"

#include <string.h>

/* Changes of a file's own document that leave its bytes alone. */

/* What the bytes depend on, what tells revisions apart, and what has a function of its own. */
static bool is_reserved(const char *path)
{
    static const char *const fields[] = {"_id", "length",          "chunkSize",     "uploadDate",
                                         "md5", ASH_FIELD_EXPIRES, "ashlar_intent", "filename"};
    size_t len = strcspn(path, ".");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strlen(fields[i]) == len && memcmp(fields[i], path, len) == 0)
            return true;
    return false;
}

static int refuse(const char *path, ash_error *err)
{
    return ash__fail(err, ASH_EINVAL, "field %.100s of a file is not changed by an update", path);
}

static int check_operator(bson_iter_t *it, ash_error *err)
{
    bson_iter_t path;
    if (bson_iter_key(it)[0] != '$' || !BSON_ITER_HOLDS_DOCUMENT(it) ||
        !bson_iter_recurse(it, &path))
        return ash__fail(err, ASH_EINVAL,
                         "an update of a file consists of operators, not of %.100s",
                         bson_iter_key(it));
    while (bson_iter_next(&path)) {
        if (is_reserved(bson_iter_key(&path)))
            return refuse(bson_iter_key(&path), err);
        if (strcmp(bson_iter_key(it), "$rename") == 0 && BSON_ITER_HOLDS_UTF8(&path) &&
            is_reserved(bson_iter_utf8(&path, NULL)))
            return refuse(bson_iter_utf8(&path, NULL), err);
    }
    return 0;
}

static int check_update(const bson_t *update, ash_error *err)
{
    bson_iter_t it;
    int rc = ash__bson_validate(bson_get_data(update), update->len, ASH_DOC_MAX_DEPTH, err);
    if (rc != 0 || !bson_iter_init(&it, update))
        return ASH_EINVAL; /* not ASH_ECORRUPT: it is the caller's, not the store's */
    if (bson_empty(update))
        return ash__fail(err, ASH_EINVAL, "update of a file is empty");
    while (rc == 0 && bson_iter_next(&it))
        rc = check_operator(&it, err);
    return rc;
}

typedef struct update_call {
    const bson_value_t *id;
    const bson_t *update;
    const ash_change *change;
    ash_file *file; /* of the last run; NULL: there is none */
} update_call;

static int change_document(const ash_work *work, const bson_t *filter, const bson_t *update,
                           ash_file **out, ash_error *err)
{
    ash_find_and_modify_options o = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    bson_value_t operators = {.value_type = BSON_TYPE_DOCUMENT};
    bson_t found;
    bool any = false;
    operators.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    operators.value.v_doc.data_len = update->len;
    o.op = ash__work_write_op(work);
    o.update = &operators;
    o.return_new = true;
    int rc =
        ash_collection_find_and_modify(work->bucket->files, filter, &o, &found, &any, NULL, err);
    if (rc != 0)
        return rc;
    if (any)
        rc = ash_file_from_document(ash__doc_from_bson(&found), out, err);
    bson_destroy(&found);
    return rc;
}

/* Without transactions, and under a fence: see intent.h. */
static int update_announced(const ash_work *work, update_call *call, ash_error *err)
{
    ash_intent intent;
    bson_t change = BSON_INITIALIZER;
    bool found = false;
    const ash_fence_copy *fence = &call->change->fence;
    ash__intent_init(&intent, call->id, false);
    int rc = ash__intent_mark(work, &intent, &found, err);
    if (rc != 0 || !found)
        return rc;
    ash__intent_append_end(call->update, &change);
    rc = ash__intent_announce(work, fence, &intent, err);
    if (rc == 0)
        rc = ash__intent_update(work, &intent, &change, err);
    if (rc == 0)
        ash__intent_settle(work, fence, &intent);
    bson_destroy(&change);
    return rc == 0 ? ash__file_get(work, call->id, false, &call->file, err) : rc;
}

static int commit_update(const ash_work *work, void *ctx, ash_error *err)
{
    update_call *call = ctx;
    bson_t filter = BSON_INITIALIZER;
    ash_file_free(call->file);
    call->file = NULL;
    int rc = ash__fence_check(work, &call->change->fence, call->id, err);
    if (rc == 0 && ash__intent_needed(&call->change->fence, work->transaction))
        return update_announced(work, call, err);
    ash__change_filter(call->change, call->id, &filter);
    ash__filter_living(&filter);
    if (rc == 0)
        rc = change_document(work, &filter, call->update, &call->file, err);
    if (rc != 0 && work->manner->joined)
        ash__transaction_break(work->transaction);
    if (rc == 0 && call->file == NULL)
        rc = ash__change_check_unmatched(work, call->change, call->id, err);
    bson_destroy(&filter);
    return rc;
}

int ash_bucket_update(ash_bucket *b, const bson_value_t *id, const bson_t *update,
                      const ash_change_options *opts, ash_file **file, ash_error *err)
{
    static const ash_commit_manner alone;
    ash_change change;
    update_call call = {.id = id, .update = update, .change = &change};
    if (file != NULL)
        *file = NULL;
    int rc = ash__change_init(b, opts, &change, err);
    ash_work plain = change.work;
    plain.manner = &alone;
    if (rc == 0)
        rc = ash__id_check(id, err);
    if (rc == 0)
        rc = check_update(update, err);
    /* One findAndModify is atomic by itself. */
    if (rc == 0 && !change.fence.given && change.work.transaction == NULL)
        rc = commit_update(&plain, &call, err);
    else if (rc == 0)
        rc = ash__bucket_commit(&change.work, commit_update, &call, err);
    if (rc == 0 && call.file == NULL)
        rc = ash__say_id_missing(id, err);
    if (rc == 0 && file != NULL) {
        *file = call.file;
        call.file = NULL;
    }
    ash_file_free(call.file);
    ash__change_release(&change);
    return rc;
}
