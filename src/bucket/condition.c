/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be so when a change commits, and how a transaction is made to conflict with whoever
 * makes it otherwise meanwhile. */
#include "bucket/condition.h"

#include "base/mem.h"
#include "base/options.h"
#include "bucket/claim.h"
#include "bucket/file.h"

int ash__fence_copy(ash_bucket *b, const ash_fence *fence, ash_fence_copy *out, ash_error *err)
{
    *out = (ash_fence_copy){.given = false};
    out->lock_id.value_type = BSON_TYPE_EOD;
    if (fence == NULL)
        return 0;
    ash_fence full;
    int rc = ash__options_copy(&full, sizeof full, fence, err);
    if (rc != 0)
        return rc;
    ash_assert(full.collection != NULL && full.lock_id != NULL);
    if (full.shared || full.next != NULL || full.writes < 0)
        return ash__fail(err, ASH_EINVAL, "a file is changed under the fence of one write lock");
    rc = ash_collection_new(b->store, b->db, full.collection, &out->locks, err);
    if (rc != 0)
        return rc;
    out->given = true;
    bson_value_copy(full.lock_id, &out->lock_id);
    out->writes = full.writes;
    out->token = full.token;
    return 0;
}

void ash__fence_release(ash_fence_copy *f)
{
    if (!f->given)
        return;
    ash_collection_free(f->locks);
    bson_value_destroy(&f->lock_id);
    f->given = false;
}

void ash__fence_filter(const ash_fence_copy *f, bson_t *filter)
{
    ash__filter_id(filter, "_id", &f->lock_id);
    BSON_APPEND_BOOL(filter, "write_lock", true);
    BSON_APPEND_INT64(filter, "writes", f->writes);
}

static int check_lock(const ash_work *work, const ash_fence_copy *f, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    int64_t held = 0;
    int rc;
    ash__fence_filter(f, &filter);
    if (work->manner->serial || work->transaction == NULL) {
        /* Not all of it: those who wait change it all the time, and a transaction that saw that
         * would begin anew each time. */
        bson_t found;
        bson_t *only_id = BCON_NEW("_id", BCON_INT32(1));
        ash_find_options o = ash__work_find_options(work);
        bool any = false;
        o.projection = only_id;
        rc = ash__collection_find_if_any(f->locks, &filter, &o, &found, &any, err);
        if (any)
            bson_destroy(&found);
        bson_destroy(only_id);
        held = any ? 1 : 0;
    } else {
        /* A read would conflict with nobody; a write does, with a takeover that commits first. */
        ash_update_options o = ash__work_update_options(work);
        bson_t *touch = BCON_NEW("$inc", "{", "fenced", BCON_INT64(1), "}");
        rc = ash__collection_change(f->locks, &filter, touch, &o, &held, err);
        bson_destroy(touch);
    }
    bson_destroy(&filter);
    if (rc == 0 && held == 0)
        rc = ash__fail(err, ASH_ELOST, "lock was taken over or released since it was granted");
    return rc;
}

static int check_token(const ash_work *work, const ash_fence_copy *f, const bson_value_t *file_id,
                       ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t found;
    ash_find_options o = ash__work_find_options(work);
    ash__filter_id(&filter, "_id", file_id);
    BCON_APPEND(&filter, "token", "{", "$gt", BCON_INT64(f->token), "}");
    bool any = false;
    /* The attributes outlive the lock document, which may be removed and made anew. */
    int rc = ash__collection_find_if_any(work->bucket->attributes, &filter, &o, &found, &any, err);
    bson_destroy(&filter);
    if (!any)
        return rc;
    bson_destroy(&found);
    return ash__fail(err, ASH_ELOST, "file was changed by a later holder of the lock");
}

int ash__fence_check(const ash_work *work, const ash_fence_copy *f, const bson_value_t *file_id,
                     ash_error *err)
{
    if (!f->given)
        return 0;
    int rc = check_lock(work, f, err);
    if (rc == 0)
        rc = check_token(work, f, file_id, err);
    return rc;
}

/* Two transactions that each find the condition true do not conflict by reading.  Both make and
 * remove a document named after what they look at: that does. */
static int touch(const ash_work *work, const bson_t *doc, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = ash__work_write_op(work);
    int rc = ash_collection_insert_one(work->bucket->attributes, doc, &o, err);
    if (rc == 0)
        rc = ash__collection_remove_all(work->bucket->attributes, doc, &o.op, NULL, err);
    return rc;
}

static int claim_name(const ash_work *work, const char *filename, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER;
    ash__claim_filter(&doc, filename);
    int rc = touch(work, &doc, err);
    bson_destroy(&doc);
    return rc;
}

int ash__id_claim(const ash_work *work, const bson_value_t *id, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER;
    bson_t inner;
    BSON_APPEND_DOCUMENT_BEGIN(&doc, "_id", &inner);
    BSON_APPEND_VALUE(&inner, "file", id);
    bson_append_document_end(&doc, &inner);
    int rc = touch(work, &doc, err);
    bson_destroy(&doc);
    return rc;
}

int ash__condition_check(const ash_work *work, ash_put_condition condition,
                         const bson_value_t *newest, const char *filename, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    int64_t date = 0;
    bool exists = false;
    int rc = 0;
    if (condition == ASH_PUT_ALWAYS)
        return 0;
    if (work->transaction != NULL && !work->manner->serial)
        rc = claim_name(work, filename, err);
    if (rc != 0)
        return rc;
    rc = ash__file_newest(work, filename, &exists, &id, &date, err);
    if (rc != 0)
        return rc;
    if (condition == ASH_PUT_IF_ABSENT && exists)
        rc = ash__fail(err, ASH_ECONDITION, "file named %.200s exists already", filename);
    else if (condition == ASH_PUT_IF_NEWEST_IS && (!exists || !ash__id_equal(&id, newest)))
        rc = ash__fail(err, ASH_ECONDITION, "newest file named %.200s is another one", filename);
    bson_value_destroy(&id);
    return rc;
}
