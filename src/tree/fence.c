/* SPDX-License-Identifier: Apache-2.0 */
/* The fence of a lock: its document says whether it is held as it was granted. */
#include "tree/change.h"

#include "base/clock.h"
#include "base/options.h"
#include "bucket/bucket.h"

/* Not all of the document: those who wait for the lock change it all the time, and a transaction
 * that saw that would begin anew each time. */
static int look(ash_tree_commit *c, ash_collection *locks, const bson_t *filter, bool *held,
                ash_error *err)
{
    ash_find_options o = ash__tree_find_options(&c->op);
    bson_t *only_id = BCON_NEW("_id", BCON_INT32(1));
    bson_t doc;
    o.projection = only_id;
    int rc = ash__collection_find_if_any(locks, filter, &o, &doc, held, err);
    if (rc == 0 && *held)
        bson_destroy(&doc);
    bson_destroy(only_id);
    return rc;
}

/* Where transactions may overlap, only a write makes them notice that the lock goes meanwhile. */
static int touch(ash_tree_commit *c, ash_collection *locks, const bson_t *filter, bool *held,
                 ash_error *err)
{
    bson_t *inc = BCON_NEW("$inc", "{", "fenced", BCON_INT64(1), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(inc);
    value.value.v_doc.data_len = inc->len;
    o.op = c->op;
    int rc = ash_collection_update(locks, filter, &value, &o, &result, err);
    *held = rc == 0 && result.matched == 1;
    ash_write_result_release(&result);
    bson_destroy(inc);
    return rc;
}

/* Who could still count on holding the resource: a grant whose life is over counts no more. */
static void held_by_anybody(bson_t *filter, const bson_value_t *resource)
{
    ash__filter_id(filter, "files_id", resource);
    BCON_APPEND(filter, "expires", "{", "$gte", BCON_DATE_TIME(ash__clock_wall_ms()), "}", "$or",
                "[", "{", "write_lock", BCON_BOOL(true), "}", "{", "read_locks", "{", "$gt",
                BCON_INT32(0), "}", "}", "]");
}

/* A lock document that is there conflicts with whoever is granted it meanwhile. */
static int require_nobody(ash_tree_commit *c, const ash_fence *fence, ash_collection *locks,
                          ash_error *err)
{
    bson_t any = BSON_INITIALIZER, filter = BSON_INITIALIZER;
    bool held = false;
    int rc = 0;
    ash__filter_id(&any, "files_id", fence->lock_id);
    held_by_anybody(&filter, fence->lock_id);
    if (!c->tree->serial)
        rc = touch(c, locks, &any, &held, err);
    if (rc == 0)
        rc = look(c, locks, &filter, &held, err);
    if (rc == 0 && held)
        rc = ash__fail(err, ASH_ELOST, "somebody holds a lock on it");
    bson_destroy(&any);
    bson_destroy(&filter);
    return rc;
}

/* Every grant to a writer counts `writes` up, so that one that stands still, without a writer, says
 * that nobody had it for himself since a reader was let in. */
static int require_grant(ash_tree_commit *c, const ash_fence *fence, ash_collection *locks,
                         ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bool held = false;
    ash__filter_id(&filter, "_id", fence->lock_id);
    BSON_APPEND_INT64(&filter, "writes", fence->writes);
    BSON_APPEND_BOOL(&filter, "write_lock", !fence->shared);
    int rc = c->tree->serial ? look(c, locks, &filter, &held, err)
                             : touch(c, locks, &filter, &held, err);
    if (rc == 0 && !held)
        rc = ash__fail(err, ASH_ELOST, "the lock is not held any more as it was granted");
    bson_destroy(&filter);
    return rc;
}

int ash__commit_fence(ash_tree_commit *c, ash_error *err)
{
    int rc = 0;
    for (const ash_fence *given = c->opts->fence; rc == 0 && given != NULL;) {
        ash_fence fence;
        ash_collection *locks = NULL;
        rc = ash__options_copy(&fence, sizeof fence, given, err);
        if (rc == 0)
            rc = ash_collection_new(c->tree->store, c->tree->db, fence.collection, &locks, err);
        if (rc == 0)
            rc = fence.writes < 0 ? require_nobody(c, &fence, locks, err)
                                  : require_grant(c, &fence, locks, err);
        ash_collection_free(locks);
        given = fence.next;
    }
    return rc;
}
