/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting files: the document first, so that nobody finds a file without its chunks, then what
 * belongs to it. */
#include "bucket/delete.h"

#include "bucket/attributes.h"
#include "bucket/chunks.h"
#include "bucket/intent.h"
#include "store/transaction.h"

#define IDS_AT_ONCE 1000 /* in one filter */
/* On a server everybody who writes waits for a transaction, and it runs several times. */
#define CHUNKS_AT_ONCE 8192

static void filter_in(bson_t *filter, const char *field, const bson_t *ids)
{
    BCON_APPEND(filter, field, "{", "$in", BCON_ARRAY(ids), "}");
}

static int remove_in(ash_collection *c, const char *field, const bson_t *ids, const ash_op *op,
                     ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    filter_in(&filter, field, ids);
    int rc = ash__collection_remove_all(c, &filter, op, NULL, err);
    bson_destroy(&filter);
    return rc;
}

/* *left: there are so many that they have to go after the commit. */
static int are_too_many(const ash_work *work, const bson_t *filter, bool *left, ash_error *err)
{
    int64_t count = 0;
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    o.op.transaction = work->transaction;
    o.op.deadline_ms = work->deadline_ms;
    o.limit = CHUNKS_AT_ONCE + 1; /* enough to know */
    int rc = ash_collection_count(work->bucket->chunks, filter, &o, &count, err);
    *left = count > CHUNKS_AT_ONCE;
    return rc;
}

static void append_rest(bson_t *rest, const bson_value_t *id)
{
    char key[12];
    const char *name;
    size_t len = bson_uint32_to_string(bson_count_keys(rest), &name, key, sizeof key);
    bson_append_value(rest, name, (int)len, id);
}

static int remove_chunks(const ash_work *work, const bson_t *ids, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_iter_t it;
    bool left = false;
    int rc = 0;
    ash_op op = ash__work_write_op(work);
    filter_in(&filter, "files_id", ids);
    if (work->transaction != NULL && work->manner->replayed)
        rc = are_too_many(work, &filter, &left, err);
    if (rc == 0 && !left)
        rc = ash__collection_remove_all(work->bucket->chunks, &filter, &op, NULL, err);
    bool more = rc == 0 && left && bson_iter_init(&it, ids);
    while (more && bson_iter_next(&it))
        append_rest(work->manner->rest, bson_iter_value(&it));
    bson_destroy(&filter);
    return rc;
}

static int delete_some(const ash_work *work, const bson_t *ids, ash_error *err)
{
    ash_op op = ash__work_write_op(work);
    /* Documents first: whoever finds one finds all of its chunks. */
    int rc = remove_in(work->bucket->files, "_id", ids, &op, err);
    if (rc == 0)
        rc = remove_chunks(work, ids, err);
    if (rc == 0)
        rc = remove_in(work->bucket->attributes, "_id", ids, &op, err);
    return rc;
}

int ash__delete_ids(const ash_work *work, const bson_t *ids, ash_error *err)
{
    bson_iter_t it;
    bson_t some = BSON_INITIALIZER;
    uint32_t count = 0;
    int rc = 0;
    bool more = bson_iter_init(&it, ids) && bson_iter_next(&it);
    while (rc == 0 && more) {
        char key[12];
        const char *name;
        size_t len = bson_uint32_to_string(count++, &name, key, sizeof key);
        bson_append_iter(&some, name, (int)len, &it);
        more = bson_iter_next(&it);
        if (count == IDS_AT_ONCE || !more) {
            rc = delete_some(work, &some, err);
            bson_reinit(&some);
            count = 0;
        }
    }
    bson_destroy(&some);
    return rc;
}

static int remove_chunks_of(const ash_work *work, const bson_value_t *id, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bool left = false;
    int rc = 0;
    ash__filter_id(&filter, "files_id", id);
    if (work->transaction != NULL && work->manner->replayed)
        rc = are_too_many(work, &filter, &left, err);
    bson_destroy(&filter);
    if (rc == 0 && left)
        append_rest(work->manner->rest, id);
    return rc != 0 || left ? rc : ash__chunks_remove(work, id, -1, -1, NULL, err);
}

static int remove_file(const ash_work *work, const ash_change *change, const bson_value_t *id,
                       bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    int64_t files = 0;
    ash_op op = ash__work_write_op(work);
    ash__change_filter(change, id, &filter);
    int rc = ash__collection_remove_all(work->bucket->files, &filter, &op, &files, err);
    bson_destroy(&filter);
    *found = files > 0;
    return rc;
}

static int remove_what_belongs(const ash_work *work, const bson_value_t *id, ash_error *err)
{
    int rc = remove_chunks_of(work, id, err);
    return rc == 0 ? ash__attributes_remove(work, id, err) : rc;
}

int ash__delete_id(const ash_work *work, const bson_value_t *id, bool *found, ash_error *err)
{
    static const ash_change anyhow;
    int rc = remove_file(work, &anyhow, id, found, err);
    return rc == 0 ? remove_what_belongs(work, id, err) : rc;
}

/* What else belongs to the file goes once nobody sees it. */
static int delete_announced(const ash_work *work, const ash_fence_copy *fence,
                            const bson_value_t *id, bool *found, ash_error *err)
{
    ash_intent intent;
    bool orphans;
    ash__intent_init(&intent, id, false);
    int rc = ash__intent_mark(work, &intent, found, err);
    if (rc != 0)
        return rc;
    if (*found)
        rc = ash__intent_announce(work, fence, &intent, err);
    if (rc == 0 && *found)
        rc = ash__intent_remove(work, &intent, err);
    if (rc == 0)
        rc = ash__delete_id(work, id, &orphans, err); /* § Deletion: orphaned chunks go as well */
    if (rc == 0 && *found)
        ash__intent_settle(work, fence, &intent);
    return rc;
}

typedef struct delete_call {
    const bson_value_t *id;
    const char *filename;
    const ash_change *change;
    bool found;
} delete_call;

/* 0 also when there was no file: removing orphans is to be kept. */
static int delete_one(const ash_work *work, delete_call *call, ash_error *err)
{
    const ash_change *c = call->change;
    int rc = 0;
    if (ash__intent_needed(&c->fence, work->transaction))
        return delete_announced(work, &c->fence, call->id, &call->found, err);
    /* Somebody's finish that keeps an existing file may just look at this one. */
    if (work->manner->joined && !work->manner->serial)
        rc = ash__id_claim(work, call->id, err);
    if (rc == 0)
        rc = remove_file(work, c, call->id, &call->found, err);
    if (rc == 0 && !call->found) {
        rc = ash__change_check_unmatched(work, c, call->id, err);
        if (rc != 0)
            return rc;
    }
    if (rc == 0)
        rc = remove_what_belongs(work, call->id, err);
    if (rc != 0 && work->manner->joined)
        ash__transaction_break(work->transaction);
    return rc;
}

static int delete_by_id(const ash_work *work, void *ctx, ash_error *err)
{
    delete_call *call = ctx;
    int rc = ash__fence_check(work, &call->change->fence, call->id, err);
    return rc == 0 ? delete_one(work, call, err) : rc;
}

int ash_bucket_delete(ash_bucket *b, const bson_value_t *id, const ash_change_options *opts,
                      ash_error *err)
{
    ash_change change;
    delete_call call = {.id = id, .change = &change};
    int rc = ash__change_init(b, opts, &change, err);
    if (rc == 0)
        rc = ash__id_check(id, err);
    if (rc == 0)
        rc = ash__bucket_commit(&change.work, delete_by_id, &call, err);
    if (rc == 0 && !call.found)
        rc = ash__say_id_missing(id, err);
    ash__change_release(&change);
    return rc;
}

static int check_fence_for_each(const ash_work *work, const ash_fence_copy *fence,
                                const bson_t *ids, ash_error *err)
{
    bson_iter_t it;
    int rc = 0;
    if (!fence->given || !bson_iter_init(&it, ids))
        return 0;
    while (rc == 0 && bson_iter_next(&it))
        rc = ash__fence_check(work, fence, bson_iter_value(&it), err);
    return rc;
}

static int delete_each(const ash_work *work, const ash_fence_copy *fence, const bson_t *ids,
                       ash_error *err)
{
    bson_iter_t it;
    bool found;
    int rc = 0;
    if (!bson_iter_init(&it, ids))
        return 0;
    while (rc == 0 && bson_iter_next(&it))
        rc = delete_announced(work, fence, bson_iter_value(&it), &found, err);
    return rc;
}

static int delete_by_name(const ash_work *work, void *ctx, ash_error *err)
{
    delete_call *call = ctx;
    const ash_fence_copy *fence = &call->change->fence;
    bson_t ids;
    uint32_t count = 0;
    int rc = ash__file_ids_of_name(work, call->filename, 0, &ids, &count, err);
    if (rc == 0)
        /* All before the first is deleted: what is refused has to have done nothing. */
        rc = check_fence_for_each(work, fence, &ids, err);
    if (rc == 0 && ash__intent_needed(fence, work->transaction)) {
        rc = delete_each(work, fence, &ids, err);
    } else if (rc == 0) {
        rc = ash__delete_ids(work, &ids, err);
        if (rc != 0 && work->manner->joined)
            ash__transaction_break(work->transaction);
    }
    call->found = count > 0;
    bson_destroy(&ids);
    return rc;
}

int ash_bucket_delete_by_name(ash_bucket *b, const char *filename, const ash_change_options *opts,
                              ash_error *err)
{
    ash_change change;
    delete_call call = {.filename = filename, .change = &change};
    int rc = ash__change_init(b, opts, &change, err);
    if (rc == 0)
        rc = ash__change_refuse_filter(&change, err);
    if (rc == 0)
        rc = ash__filename_check(filename, err);
    if (rc == 0)
        rc = ash__bucket_commit(&change.work, delete_by_name, &call, err);
    if (rc == 0 && !call.found)
        rc = ash__fail(err, ASH_ENOTFOUND, "no file named %.200s", filename);
    ash__change_release(&change);
    return rc;
}

static int drop_one(ash_collection *c, const ash_op *op, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    return ash__unless(ASH_ENOTFOUND, ash_collection_drop(c, op, &own), &own, err);
}

/* The files go first, so that no file is ever visible without its chunks. */
int ash_bucket_drop(ash_bucket *b, const ash_change_options *opts, ash_error *err)
{
    ash_change change;
    int rc = ash__change_init(b, opts, &change, err);
    if (rc == 0)
        rc = ash__change_refuse_all(&change, err);
    if (rc == 0 && change.fence.given)
        rc = ash__fail(err, ASH_EINVAL, "a fence guards a file, not a bucket");
    ash_op op = ash__work_write_op(&change.work);
    if (rc == 0)
        rc = drop_one(b->files, &op, err);
    if (rc == 0)
        rc = drop_one(b->chunks, &op, err);
    if (rc == 0)
        rc = drop_one(b->attributes, &op, err);
    /* The next upload makes the indexes anew. */
    atomic_store(&b->indexed, false);
    atomic_store(&b->expiry_indexed, false);
    ash__change_release(&change);
    return rc;
}
