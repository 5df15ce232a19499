/* SPDX-License-Identifier: Apache-2.0 */
/* Files and unfinished uploads whose time is over, by the dates in the attributes. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "bucket/attributes.h"
#include "bucket/chunks.h"
#include "bucket/delete.h"

static const int64_t DAMAGED_MAX = 1000; /* that are passed over at a time */

typedef struct expiry_call {
    const bson_value_t *id;
    int64_t expires_ms;
} expiry_call;

static int amend_document(const ash_work *work, const expiry_call *call, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t change = BSON_INITIALIZER;
    bson_t facts = BSON_INITIALIZER;
    ash_update_options o = ash__work_update_options(work);
    ash__filter_id(&filter, "_id", call->id);
    ash__append_expiry(&facts, call->expires_ms);
    bool never = bson_empty(&facts);
    if (never)
        BSON_APPEND_UTF8(&facts, ASH_FIELD_EXPIRES, "");
    BSON_APPEND_DOCUMENT(&change, never ? "$unset" : "$set", &facts);
    int rc = ash__collection_change(work->bucket->files, &filter, &change, &o, NULL, err);
    bson_destroy(&facts);
    bson_destroy(&change);
    bson_destroy(&filter);
    return rc;
}

static int set_expiry(const ash_work *work, void *ctx, ash_error *err)
{
    const expiry_call *call = ctx;
    ash_file *file = NULL;
    /* Also of a file whose time is over: this is how it may get more. */
    int rc = ash__file_get(work, call->id, true, &file, err);
    if (rc == 0)
        rc = ash__attributes_amend(work, file, NULL, &call->expires_ms, err);
    if (rc == 0)
        rc = amend_document(work, call, err);
    ash_file_free(file);
    return rc;
}

int ash_bucket_set_expiry(ash_bucket *b, const bson_value_t *id, int64_t expires_ms, ash_error *err)
{
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    expiry_call call = {id, expires_ms};
    if (expires_ms < 0)
        return ash__fail(err, ASH_EINVAL, "expiry lies before 1970");
    int rc = ash__bucket_index_expiry(&work, err);
    if (rc == 0)
        rc = ash__bucket_commit(&work, set_expiry, &call, err);
    return rc;
}

/* ---- deleting what has expired ---- */

typedef struct expire_call {
    const bson_value_t *id; /* of the attributes document */
    int64_t now_ms;
    bool deleted;
    const ash_error *unsound; /* code not 0: what is not found may be there all the same */
} expire_call;

static int missing(const expire_call *call, ash_error *err)
{
    if (call->unsound->code == 0)
        return 0;
    return ash__fail(err, call->unsound->code, "%s", call->unsound->text);
}

static void append_due(bson_t *filter, int64_t now_ms)
{
    BCON_APPEND(filter, "expires", "{", "$lte", BCON_DATE_TIME(now_ms), "}");
}

/* An upload that nobody went on with: its chunks have no file. */
static int expire_upload(const ash_work *work, const bson_value_t *files_id, expire_call *call,
                         ash_error *err)
{
    bool exists = false;
    int rc = ash__file_exists(work, files_id, &exists, err);
    if (rc == 0 && !exists)
        rc = missing(call, err);
    if (rc == 0 && !exists)
        rc = ash__chunks_remove(work, files_id, -1, -1, NULL, err);
    if (rc == 0)
        rc = ash__attributes_remove(work, call->id, err);
    call->deleted = rc == 0;
    return rc;
}

static int expire_file(const ash_work *work, expire_call *call, ash_error *err)
{
    ash_file *file = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__file_get(work, call->id, true, &file, &own);
    bool gone =
        rc == ASH_ENOTFOUND || (rc == 0 && !file->has_attributes && !ash__file_is_over(file));
    rc = ash__unless(ASH_ENOTFOUND, rc, &own, err);
    /* Of a file that a driver deleted, and perhaps made anew: this expiry is not the new one's. */
    if (gone)
        rc = missing(call, err);
    if (rc == 0 && gone)
        rc = ash__attributes_remove(work, call->id, err);
    else if (rc == 0)
        rc = ash__delete_id(work, call->id, &call->deleted, err);
    ash_file_free(file);
    return rc;
}

static int expire_one(const ash_work *work, void *ctx, ash_error *err)
{
    expire_call *call = ctx;
    bson_t filter = BSON_INITIALIZER;
    bson_t found;
    bson_iter_t it;
    bson_iter_t at;
    ash_find_options o = ash__work_find_options(work);
    ash__filter_id(&filter, "_id", call->id);
    append_due(&filter, call->now_ms);
    bool due = false;
    int rc = ash__collection_find_if_any(work->bucket->attributes, &filter, &o, &found, &due, err);
    bson_destroy(&filter);
    if (!due)
        return rc; /* the expiry was moved meanwhile */
    if (bson_iter_init(&it, &found) && bson_iter_find_descendant(&it, "upload.files_id", &at))
        rc = expire_upload(work, bson_iter_value(&at), call, err);
    else
        rc = expire_file(work, call, err);
    bson_destroy(&found);
    return rc;
}

static int find_due(const ash_work *work, int64_t now_ms, int64_t limit, bson_t *ids,
                    uint32_t *count, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__work_find_options(work);
    append_due(&filter, now_ms);
    o.limit = limit;
    int rc = ash__ids_find(work->bucket->attributes, &filter, &o, ids, count, err);
    bson_destroy(&filter);
    return rc;
}

/* One that is due; *passed_over: it is damaged and stays. */
static int expire_next(const ash_work *work, expire_call *call, bool *passed_over, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__bucket_commit(work, expire_one, call, &own);
    *passed_over = rc == ASH_ECORRUPT;
    call->deleted = rc == 0 && call->deleted;
    if (*passed_over)
        ash__log(ASH_LOG_WARN, "a file whose time is over stays: %s", own.text);
    return ash__unless(ASH_ECORRUPT, rc, &own, err);
}

int ash_bucket_expire(ash_bucket *b, int64_t max_files, int64_t *deleted, bool *more,
                      ash_error *err)
{
    bson_t ids = BSON_INITIALIZER;
    bson_iter_t it;
    uint32_t count = 0;
    int64_t done = 0;
    int64_t now = ash__clock_wall_ms();
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    *deleted = 0;
    *more = false;
    if (max_files < 1 || max_files > INT32_MAX)
        return ash__fail(err, ASH_EINVAL, "number of files to expire is not positive");
    /* Damaged files stay due for ever, and are not to keep the others from their turn. */
    int rc = find_due(&work, now, max_files + 1 + DAMAGED_MAX, &ids, &count, err);
    ash_error unsound = ASH_ERROR_INIT;
    bool next = rc == 0 && bson_iter_init(&it, &ids) && bson_iter_next(&it);
    /* Asked once, and only when there is something to delete. */
    if (next)
        (void)ash__bucket_require_sound(b, &unsound);
    while (rc == 0 && next && done < max_files) {
        bool passed_over;
        expire_call call = {.id = bson_iter_value(&it), .now_ms = now, .unsound = &unsound};
        rc = expire_next(&work, &call, &passed_over, err);
        *deleted += call.deleted ? 1 : 0;
        done += passed_over ? 0 : 1;
        next = bson_iter_next(&it);
    }
    /* Not when all that is left is damaged: the caller would come again for ever. */
    *more = rc == 0 && next && *deleted > 0;
    bson_destroy(&ids);
    return rc;
}
