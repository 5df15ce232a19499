/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of what is said of an object, and of its name; deleting, linking, expiry, restoring. */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "bucket/bucket.h"

#include <inttypes.h>
#include <string.h>

/* All of them are one shape: what the name has is looked at, and held against the caller's conditions;
 * something is made, of it or of another object, and takes its place. */
typedef struct change_call change_call;
struct change_call {
    const ash_object_request *request;
    /* What the change is about, as far as it is. */
    const ash_object_meta *meta;
    const ash_object *link;
    const ash_object *moved; /* bytes, to: */
    const ash_object_place *place;
    int64_t expires_ms;
    uint64_t revision;
    bool care; /* no new revision, and sealed stores, too */
    /* May it be?  `set`: the fields in which the new object differs from `of`, which is old unless
     * this puts another there. */
    int (*make)(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                ash_error *err);
    int (*take_place)(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                      ash_error *err);
    /* Of the last run. */
    const ash_object *of;
    ash_object *past; /* what was looked up to be `of` */
    ash_object *result;
};

static void forget_run(change_call *call)
{
    ash_object_free(call->past);
    ash_object_free(call->result);
    call->past = call->result = NULL;
}

static int apply(ash_docs_commit *c, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    bson_t set = BSON_INITIALIZER;
    ash_object *old = NULL;
    forget_run(call);
    int rc = ash__docs_find_name(c->store, call->request->name, &c->op, &old, err);
    if (rc == 0)
        rc = ash__commit_check(c, old, err);
    call->of = old;
    if (rc == 0)
        rc = call->make(c, call, old, &set, err);
    if (rc == 0)
        rc = ash__object_set(call->of, &set, &call->result, err);
    if (rc == 0 && !c->unchanged)
        rc = call->take_place(c, old, call->result, err);
    ash_object_free(old);
    bson_destroy(&set);
    return rc;
}

static int change(ash_object_store *base, change_call *call, ash_object **out, ash_error *err)
{
    ash_docs_change change = {.opts = call->request->opts,
                              .op = call->request->op,
                              .care = call->care,
                              .fn = apply,
                              .ctx = call};
    int rc = ash__docs_commit(ash__docs(base), &change, err);
    *out = rc == 0 ? call->result : NULL;
    if (rc == 0)
        call->result = NULL;
    forget_run(call);
    return rc;
}

static int need_live(const ash_docs_commit *c, const change_call *call, const ash_object *old,
                     ash_error *err)
{
    return ash__docs_is_live(old, c->now_ms) ? 0 : ash__docs_say_missing(call->request->name, err);
}

/* ---- meta ---- */

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
        rc = ash__commit_rename_bytes(c, object, err);
    ash_object_free(target);
    return rc;
}

static int set_meta(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                    ash_error *err)
{
    int rc = need_live(c, call, old, err);
    if (rc != 0)
        return rc;
    ash__object_set_meta(call->meta, old, set);
    ash__commit_stamp(c, set);
    return 0;
}

static int replace_or_move(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                           ash_error *err)
{
    /* What was said before and what is said now may come to more than either. */
    if (object->document->len > ASH_OBJECT_META_MAX + 4096)
        return ash__fail(err, ASH_ETOOBIG, "what is said of %.200s is over %d bytes", old->name,
                         ASH_OBJECT_META_MAX);
    return strcmp(old->name, object->name) == 0 ? ash__commit_replace(c, old, object, err)
                                                : move(c, old, object, err);
}

int ash__docs_update_meta(ash_object_store *base, const ash_object_request *r,
                          const ash_object_meta *meta, ash_object **out, ash_error *err)
{
    change_call call = {
        .request = r, .meta = meta, .make = set_meta, .take_place = replace_or_move};
    return change(base, &call, out, err);
}

/* ---- deleting ---- */

static int make_tombstone(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                          ash_error *err)
{
    const ash_object_config *k = &c->config.copy.config;
    int64_t ttl = k->tombstone_ttl_ms != 0 ? k->tombstone_ttl_ms : k->ttl_ms;
    if (old == NULL || ash__docs_is_over(old, c->now_ms))
        return ash__docs_say_missing(call->request->name, err);
    c->unchanged = old->deleted;
    if (c->unchanged)
        return 0;
    ash__object_set_deleted(set);
    BSON_APPEND_NULL(set, ASH_FIELD_STORED);
    ash__commit_stamp(c, set);
    if (ttl > 0)
        BSON_APPEND_DATE_TIME(set, "expires", c->now_ms + ttl);
    return 0;
}

int ash__docs_delete(ash_object_store *base, const ash_object_request *r, ash_object **out,
                     ash_error *err)
{
    change_call call = {.request = r, .make = make_tombstone, .take_place = ash__commit_replace};
    return change(base, &call, out, err);
}

/* ---- linking ---- */

static int make_link(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                     ash_error *err)
{
    if (ash__docs_is_live(old, c->now_ms) && !ash_object_is_link(old))
        return ash__fail(err, ASH_EEXISTS, "there is an object %.200s", old->name);
    ash__commit_stamp(c, set);
    ash__commit_stamp_expiry(c, c->opts->ttl_ms, set);
    call->of = call->link;
    return 0;
}

int ash__docs_link(ash_object_store *base, const ash_object_request *r, const ash_object *link,
                   ash_object **out, ash_error *err)
{
    change_call call = {
        .request = r, .link = link, .make = make_link, .take_place = ash__commit_replace};
    return change(base, &call, out, err);
}

/* ---- expiry ---- */

static int set_expiry(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                      ash_error *err)
{
    int64_t ttl = c->config.copy.config.ttl_ms;
    int rc = need_live(c, call, old, err);
    if (rc == 0 && ttl > 0 && call->expires_ms > c->now_ms + ttl)
        rc = ash__fail(err, ASH_EINVAL, "objects of this store live for %" PRId64 " ms at most",
                       ttl);
    if (rc != 0)
        return rc;
    ash__commit_stamp(c, set);
    if (call->expires_ms != 0)
        BSON_APPEND_DATE_TIME(set, "expires", call->expires_ms);
    else
        ash__commit_stamp_expiry(c, 0, set);
    return 0;
}

int ash__docs_set_expiry(ash_object_store *base, const ash_object_request *r, int64_t expires_ms,
                         ash_object **out, ash_error *err)
{
    change_call call = {.request = r,
                        .expires_ms = expires_ms,
                        .make = set_expiry,
                        .take_place = ash__commit_rewrite};
    return change(base, &call, out, err);
}

/* ---- restoring ---- */

static int find_past(ash_docs_commit *c, change_call *call, ash_error *err)
{
    const char *name = call->request->name;
    int rc = ash__docs_find_version(c->store, name, call->revision, &c->op, &call->past, err);
    if (rc == 0 && call->past == NULL)
        rc = ash__fail(err, ASH_ENOREVISION, "%.300s has no earlier revision %" PRIu64, name,
                       call->revision);
    else if (rc == 0 && call->past->deleted)
        rc = ash__fail(err, ASH_EINVAL, "revision %" PRIu64 " of %.300s is a deletion",
                       call->revision, name);
    return rc;
}

static int bring_back(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                      ash_error *err)
{
    (void)old;
    int rc = find_past(c, call, err);
    if (rc != 0)
        return rc;
    BSON_APPEND_NULL(set, "until");
    ash__commit_stamp(c, set);
    ash__commit_stamp_expiry(c, c->opts->ttl_ms, set);
    call->of = call->past;
    return 0;
}

int ash__docs_restore(ash_object_store *base, const ash_object_request *r, uint64_t revision,
                      ash_object **out, ash_error *err)
{
    change_call call = {
        .request = r, .revision = revision, .make = bring_back, .take_place = ash__commit_replace};
    return change(base, &call, out, err);
}

/* ---- archiving ---- */

static int set_archive(ash_docs_commit *c, change_call *call, const ash_object *old, bson_t *set,
                       ash_error *err)
{
    (void)c;
    if (old == NULL || old->revision != call->moved->revision ||
        strcmp(old->nuid, call->moved->nuid) != 0)
        return ash__fail(err, ASH_ECONFLICT, "%.300s was changed meanwhile", call->moved->name);
    BCON_APPEND(set, "archive", "{", "bucket", BCON_UTF8(call->place->store), "name",
                BCON_UTF8(call->place->name), "}", "encoding", BCON_NULL, ASH_FIELD_STORED,
                BCON_NULL);
    return 0;
}

static int drop_bytes(ash_docs_commit *c, const ash_object *old, const ash_object *object,
                      ash_error *err)
{
    int rc = ash__commit_rewrite(c, old, object, err);
    return rc == 0 ? ash__commit_drop_bytes(c, old->nuid, NULL, err) : rc;
}

int ash__docs_detach(ash_object_store *base, const ash_object *object,
                     const ash_object_place *place, const ash_op *op, ash_error *err)
{
    ash_object_request r = {.name = object->name, .op = op};
    change_call call = {.request = &r,
                        .moved = object,
                        .place = place,
                        .care = true,
                        .make = set_archive,
                        .take_place = drop_bytes};
    ash_object *now = NULL;
    int rc = change(base, &call, &now, err);
    ash_object_free(now);
    return rc;
}
