/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of what is said of an object, and of its name; deleting, linking, expiry, restoring. */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "bucket/bucket.h"

#include <inttypes.h>
#include <string.h>

typedef struct change_call {
    const ash_object_request *request;
    const ash_object_meta *meta;
    const ash_object *link;
    const ash_object_place *place;
    int64_t expires_ms;
    uint64_t revision;
    ash_object *result; /* of the last run */
} change_call;

static int commit(ash_object_store *base, change_call *call, ash_docs_commit_fn fn,
                  ash_object **out, ash_error *err)
{
    ash_docs_change change = {
        .opts = call->request->opts, .op = call->request->op, .fn = fn, .ctx = call};
    int rc = ash__docs_commit(ash__docs(base), &change, err);
    if (rc != 0) {
        ash_object_free(call->result);
        call->result = NULL;
    }
    *out = call->result;
    return rc;
}

static void begin(change_call *call)
{
    ash_object_free(call->result);
    call->result = NULL;
}

static int find(ash_docs_commit *c, const char *name, ash_object **out, ash_error *err)
{
    int rc = ash__docs_find_name(c->store, name, &c->op, out, err);
    return rc == 0 ? ash__commit_check(c, *out, err) : rc;
}

/* ---- meta ---- */

/* Drivers find the bytes by the name, too. */
static int rename_file(ash_docs_commit *c, const ash_object *o, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    ash_change_options co = ASH_CHANGE_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    if (!ash__docs_has_bytes(o))
        return 0;
    id.value.v_utf8.str = (char *)(uintptr_t)o->nuid;
    id.value.v_utf8.len = (uint32_t)strlen(o->nuid);
    co.transaction = c->op.transaction;
    int rc = ash_bucket_rename(c->store->bucket, &id, o->name, &co, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err); /* damage, which reading tells */
}

static int move(ash_docs_commit *c, const ash_object *old, const ash_object *object, ash_error *err)
{
    ash_object *target = NULL;
    int rc = ash__docs_find_name(c->store, object->name, &c->op, &target, err);
    if (rc == 0 && ash__docs_is_live(target, c->now_ms))
        rc = ash__fail(err, ASH_EEXISTS, "there is an object %.200s", object->name);
    if (rc == 0)
        rc = ash__commit_replace(c, target, object, err);
    if (rc == 0)
        rc = ash__commit_vacate(c, old, object, err);
    if (rc == 0)
        rc = rename_file(c, object, err);
    ash_object_free(target);
    return rc;
}

static int update_meta(ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL;
    begin(call);
    int rc = find(c, call->request->name, &old, err);
    if (rc == 0 && !ash__docs_is_live(old, c->now_ms))
        rc = ash__docs_say_missing(call->request->name, err);
    if (rc == 0) {
        ash__object_set_meta(call->meta, old, &set);
        ash__commit_stamp(c, &set);
        rc = ash__object_set(old, &set, &call->result, err);
    }
    /* What was said before and what is said now may come to more than either. */
    if (rc == 0 && call->result->document->len > ASH_OBJECT_META_MAX + 4096)
        rc = ash__fail(err, ASH_ETOOBIG, "what is said of %.200s is over %d bytes", old->name,
                       ASH_OBJECT_META_MAX);
    if (rc == 0)
        rc = strcmp(old->name, call->result->name) == 0
                 ? ash__commit_replace(c, old, call->result, err)
                 : move(c, old, call->result, err);
    ash_object_free(old);
    bson_destroy(&set);
    return rc;
}

int ash__docs_update_meta(ash_object_store *base, const ash_object_request *r,
                          const ash_object_meta *meta, ash_object **out, ash_error *err)
{
    change_call call = {.request = r, .meta = meta};
    return commit(base, &call, update_meta, out, err);
}

/* ---- deleting ---- */

static void stamp_tombstone(ash_docs_commit *c, bson_t *set)
{
    const ash_object_config *k = &c->config.copy.config;
    int64_t ttl = k->tombstone_ttl_ms != 0 ? k->tombstone_ttl_ms : k->ttl_ms;
    ash__object_set_deleted(set);
    BSON_APPEND_NULL(set, ASH_FIELD_STORED);
    ash__commit_stamp(c, set);
    if (ttl > 0)
        BSON_APPEND_DATE_TIME(set, "expires", c->now_ms + ttl);
}

static int delete (ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL;
    begin(call);
    int rc = find(c, call->request->name, &old, err);
    if (rc == 0 && (old == NULL || ash__docs_is_over(old, c->now_ms)))
        rc = ash__docs_say_missing(call->request->name, err);
    if (rc == 0 && old->deleted) {
        c->revision--; /* nothing changes */
        call->result = ash_object_copy(old);
    } else if (rc == 0) {
        stamp_tombstone(c, &set);
        rc = ash__object_set(old, &set, &call->result, err);
        if (rc == 0)
            rc = ash__commit_replace(c, old, call->result, err);
    }
    ash_object_free(old);
    bson_destroy(&set);
    return rc;
}

int ash__docs_delete(ash_object_store *base, const ash_object_request *r, ash_object **out,
                     ash_error *err)
{
    change_call call = {.request = r};
    return commit(base, &call, delete, out, err);
}

/* ---- linking ---- */

static int link_over(ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL;
    begin(call);
    int rc = find(c, call->request->name, &old, err);
    if (rc == 0 && ash__docs_is_live(old, c->now_ms) && !ash_object_is_link(old))
        rc = ash__fail(err, ASH_EEXISTS, "there is an object %.200s", old->name);
    if (rc == 0) {
        ash__commit_stamp(c, &set);
        ash__commit_stamp_expiry(c, c->opts->ttl_ms, &set);
        rc = ash__object_set(call->link, &set, &call->result, err);
    }
    if (rc == 0)
        rc = ash__commit_replace(c, old, call->result, err);
    ash_object_free(old);
    bson_destroy(&set);
    return rc;
}

int ash__docs_link(ash_object_store *base, const ash_object_request *r, const ash_object *link,
                   ash_object **out, ash_error *err)
{
    change_call call = {.request = r, .link = link};
    return commit(base, &call, link_over, out, err);
}

/* ---- expiry ---- */

static int set_expiry(ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL;
    begin(call);
    int rc = find(c, call->request->name, &old, err);
    if (rc == 0 && !ash__docs_is_live(old, c->now_ms))
        rc = ash__docs_say_missing(call->request->name, err);
    int64_t ttl = c->config.copy.config.ttl_ms;
    if (rc == 0 && ttl > 0 && call->expires_ms > c->now_ms + ttl)
        rc = ash__fail(err, ASH_EINVAL, "objects of this store live for %" PRId64 " ms at most",
                       ttl);
    if (rc == 0) {
        ash__commit_stamp(c, &set);
        if (call->expires_ms != 0)
            BSON_APPEND_DATE_TIME(&set, "expires", call->expires_ms);
        else
            ash__commit_stamp_expiry(c, 0, &set);
        rc = ash__object_set(old, &set, &call->result, err);
    }
    if (rc == 0)
        rc = ash__commit_rewrite(c, old, call->result, err);
    ash_object_free(old);
    bson_destroy(&set);
    return rc;
}

int ash__docs_set_expiry(ash_object_store *base, const ash_object_request *r, int64_t expires_ms,
                         ash_object **out, ash_error *err)
{
    change_call call = {.request = r, .expires_ms = expires_ms};
    return commit(base, &call, set_expiry, out, err);
}

/* ---- restoring ---- */

static int find_past(ash_docs_commit *c, const change_call *call, ash_object **out, ash_error *err)
{
    const char *name = call->request->name;
    int rc = ash__docs_find_version(c->store, name, call->revision, &c->op, out, err);
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, ASH_ENOREVISION, "%.300s has no earlier revision %" PRIu64, name,
                       call->revision);
    else if (rc == 0 && (*out)->deleted)
        rc = ash__fail(err, ASH_EINVAL, "revision %" PRIu64 " of %.300s is a deletion",
                       call->revision, name);
    return rc;
}

static int restore(ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL, *past = NULL;
    begin(call);
    int rc = find(c, call->request->name, &old, err);
    if (rc == 0)
        rc = find_past(c, call, &past, err);
    if (rc == 0) {
        BSON_APPEND_NULL(&set, "until");
        ash__commit_stamp(c, &set);
        ash__commit_stamp_expiry(c, c->opts->ttl_ms, &set);
        rc = ash__object_set(past, &set, &call->result, err);
    }
    if (rc == 0)
        rc = ash__commit_replace(c, old, call->result, err);
    ash_object_free(old);
    ash_object_free(past);
    bson_destroy(&set);
    return rc;
}

int ash__docs_restore(ash_object_store *base, const ash_object_request *r, uint64_t revision,
                      ash_object **out, ash_error *err)
{
    change_call call = {.request = r, .revision = revision};
    return commit(base, &call, restore, out, err);
}

/* ---- archiving ---- */

static int detach(ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL, *now = NULL;
    int rc = ash__docs_find_name(c->store, call->link->name, &c->op, &old, err);
    if (rc == 0 && (old == NULL || old->revision != call->link->revision ||
                    strcmp(old->nuid, call->link->nuid) != 0))
        rc = ash__fail(err, ASH_ECONFLICT, "%.300s was changed meanwhile", call->link->name);
    if (rc == 0) {
        BCON_APPEND(&set, "archive", "{", "bucket", BCON_UTF8(call->place->store), "name",
                    BCON_UTF8(call->place->name), "}", "encoding", BCON_NULL, ASH_FIELD_STORED,
                    BCON_NULL);
        rc = ash__object_set(old, &set, &now, err);
    }
    if (rc == 0)
        rc = ash__commit_rewrite(c, old, now, err);
    if (rc == 0)
        rc = ash__commit_drop_bytes(c, old->nuid, NULL, err);
    ash_object_free(old);
    ash_object_free(now);
    bson_destroy(&set);
    return rc;
}

int ash__docs_detach(ash_object_store *base, const ash_object *object,
                     const ash_object_place *place, const ash_op *op, ash_error *err)
{
    change_call call = {.link = object, .place = place};
    ash_docs_change change = {.op = op, .care = true, .fn = detach, .ctx = &call};
    return ash__docs_commit(ash__docs(base), &change, err);
}
