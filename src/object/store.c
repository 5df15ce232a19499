/* SPDX-License-Identifier: Apache-2.0 */
/* A bound store: what it is like, changes of its objects, listings, watches. */
#include "object/core.h"

#include "base/mem.h"
#include "base/options.h"

#include <string.h>

void ash_object_store_close(ash_object_store *s)
{
    if (s == NULL)
        return;
    char *name = s->name;
    s->manager->ops->unbind(s);
    ash__free(name);
}

const char *ash_object_store_name(const ash_object_store *s)
{
    return s->name;
}

ash_object_manager *ash_object_store_manager(const ash_object_store *s)
{
    return s->manager;
}

void ash_object_store_attach_archive(ash_object_store *s, ash_object_store *archive)
{
    s->archive = archive;
}

int ash_object_store_status(ash_object_store *s, const ash_op *op, ash_object_status **out,
                            ash_error *err)
{
    ash_assert(s != NULL && out != NULL);
    ash_op own = ash__op_of(op);
    *out = NULL;
    return s->manager->ops->status(s, &own, out, err);
}

int ash_object_store_seal(ash_object_store *s, const ash_op *op, ash_error *err)
{
    ash_assert(s != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__object_outside(&own, err);
    return rc == 0 ? s->manager->ops->seal(s, &own, err) : rc;
}

/* ---- what changes share ---- */

int ash__object_change_options_copy(const ash_object_store *s, ash_object_change_options *ours,
                                    const ash_object_change_options *theirs, ash_error *err)
{
    const ash_object_manager *m = s->manager;
    int rc = ash__options_copy(ours, sizeof *ours, theirs, err);
    if (rc == 0)
        rc = ash__object_require(m, m->can.changes, "changes", err);
    if (rc == 0 && ours->if_revision != 0 && ours->if_absent)
        rc = ash__fail(err, ASH_EINVAL, "if_revision and if_absent exclude each other");
    if (rc == 0 && ours->ttl_ms < 0)
        rc = ash__fail(err, ASH_EINVAL, "an object lives for more than no time");
    if (rc == 0 && ours->ttl_ms > 0)
        rc = ash__object_require(m, m->can.object_ttl, "ttl_ms of an object", err);
    if (rc == 0 && ours->fence != NULL)
        rc = ash__object_require(m, m->can.locks, "fence", err);
    return rc;
}

int ash__object_meta_copy(const ash_object_store *s, ash_object_meta *ours,
                          const ash_object_meta *theirs, bool put, ash_error *err)
{
    const ash_object_manager *m = s->manager;
    int rc = ash__options_copy(ours, sizeof *ours, theirs, err);
    if (rc == 0)
        rc = ash__object_meta_check(ours, put, err);
    if (rc == 0 && ours->digest != 0 && ours->digest != ASH_DIGEST_SHA256)
        rc = ash__object_require(m, m->can.digests, "a digest other than SHA-256", err);
    if (rc == 0 && ours->encoding != NULL && strcmp(ours->encoding, "none") != 0)
        rc = ash__object_require(m, m->can.encoding, "encoding", err);
    return rc;
}

/* What a caller does not want is freed; *out is what the slot gave. */
static int hand_out(int rc, ash_object *object, ash_object **out)
{
    if (out != NULL)
        *out = rc == 0 ? object : NULL;
    else if (rc == 0)
        ash_object_free(object);
    return rc;
}

static int begin(ash_object_store *s, const char *name, const ash_object_change_options *opts,
                 ash_object_change_options *own, ash_error *err)
{
    int rc = ash__object_name_check(name, err);
    return rc == 0 ? ash__object_change_options_copy(s, own, opts, err) : rc;
}

/* ---- changes ---- */

int ash_object_store_update_meta(ash_object_store *s, const char *name, const ash_object_meta *meta,
                                 const ash_object_change_options *opts, const ash_op *op,
                                 ash_object **out, ash_error *err)
{
    ash_object_change_options o;
    ash_object_meta m;
    ash_object *object = NULL;
    ash_assert(s != NULL && name != NULL && meta != NULL);
    ash_op own = ash__op_of(op);
    ash_object_request r = {name, &o, &own};
    int rc = begin(s, name, opts, &o, err);
    if (rc == 0)
        rc = ash__object_meta_copy(s, &m, meta, false, err);
    if (rc == 0)
        rc = s->manager->ops->update_meta(s, &r, &m, &object, err);
    return hand_out(rc, object, out);
}

int ash_object_store_delete(ash_object_store *s, const char *name,
                            const ash_object_change_options *opts, const ash_op *op,
                            ash_object **out, ash_error *err)
{
    ash_object_change_options o;
    ash_object *object = NULL;
    ash_assert(s != NULL && name != NULL);
    ash_op own = ash__op_of(op);
    ash_object_request r = {name, &o, &own};
    int rc = begin(s, name, opts, &o, err);
    if (rc == 0)
        rc = s->manager->ops->delete (s, &r, &object, err);
    return hand_out(rc, object, out);
}

/* target_name NULL: a whole store. */
static int make_link(const ash_object_store *s, const char *name, const char *target,
                     const char *target_name, ash_object **out, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER, options, link;
    BSON_APPEND_UTF8(&doc, "name", name);
    BSON_APPEND_DOCUMENT_BEGIN(&doc, "options", &options);
    BSON_APPEND_DOCUMENT_BEGIN(&options, "link", &link);
    BSON_APPEND_UTF8(&link, "bucket", target);
    if (target_name != NULL)
        BSON_APPEND_UTF8(&link, "name", target_name);
    bson_append_document_end(&options, &link);
    bson_append_document_end(&doc, &options);
    BSON_APPEND_UTF8(&doc, "bucket", s->name);
    char nuid[ASH_NUID_TEXT_BYTES];
    ash__nuid(nuid); /* clients look for one before they look for the link */
    BSON_APPEND_UTF8(&doc, "nuid", nuid);
    int rc = ash__object_set(NULL, &doc, out, err);
    bson_destroy(&doc);
    return rc;
}

static int link_to(ash_object_store *s, const ash_object_request *r, const char *target,
                   const char *target_name, ash_object **out, ash_error *err)
{
    ash_object *link = NULL, *object = NULL;
    int rc = make_link(s, r->name, target, target_name, &link, err);
    if (rc == 0)
        rc = s->manager->ops->link(s, r, link, &object, err);
    ash_object_free(link);
    return hand_out(rc, object, out);
}

int ash_object_store_link(ash_object_store *s, const char *name, const ash_object *target,
                          const ash_object_change_options *opts, const ash_op *op, ash_object **out,
                          ash_error *err)
{
    ash_object_change_options o;
    ash_assert(s != NULL && name != NULL && target != NULL);
    ash_op own = ash__op_of(op);
    ash_object_request r = {name, &o, &own};
    if (out != NULL)
        *out = NULL;
    int rc = begin(s, name, opts, &o, err);
    if (rc != 0)
        return rc;
    if (target->deleted)
        return ash__fail(err, ASH_EINVAL, "no link leads to a deleted object: %.200s",
                         target->name);
    if (ash_object_is_link(target))
        return ash__fail(err, ASH_EINVAL, "no link leads to a link: %.200s", target->name);
    rc = ash__object_store_name_check(target->store, err);
    return rc == 0 ? link_to(s, &r, target->store, target->name, out, err) : rc;
}

int ash_object_store_link_store(ash_object_store *s, const char *name, const char *target,
                                const ash_object_change_options *opts, const ash_op *op,
                                ash_object **out, ash_error *err)
{
    ash_object_change_options o;
    ash_assert(s != NULL && name != NULL && target != NULL);
    ash_op own = ash__op_of(op);
    ash_object_request r = {name, &o, &own};
    if (out != NULL)
        *out = NULL;
    int rc = begin(s, name, opts, &o, err);
    if (rc == 0)
        rc = ash__object_store_name_check(target, err);
    return rc == 0 ? link_to(s, &r, target, NULL, out, err) : rc;
}

int ash_object_store_set_expiry(ash_object_store *s, const char *name, int64_t expires_ms,
                                const ash_object_change_options *opts, const ash_op *op,
                                ash_object **out, ash_error *err)
{
    ash_object_change_options o;
    ash_object *object = NULL;
    ash_assert(s != NULL && name != NULL);
    ash_op own = ash__op_of(op);
    ash_object_request r = {name, &o, &own};
    int rc = begin(s, name, opts, &o, err);
    if (rc == 0)
        rc =
            ash__object_require(s->manager, s->manager->can.object_ttl, "expiry of an object", err);
    if (rc == 0 && expires_ms < 0)
        rc = ash__fail(err, ASH_EINVAL, "expiry lies before 1970");
    if (rc == 0)
        rc = s->manager->ops->set_expiry(s, &r, expires_ms, &object, err);
    return hand_out(rc, object, out);
}

int ash_object_store_restore(ash_object_store *s, const char *name, uint64_t revision,
                             const ash_object_change_options *opts, const ash_op *op,
                             ash_object **out, ash_error *err)
{
    ash_object_change_options o;
    ash_object *object = NULL;
    ash_assert(s != NULL && name != NULL);
    ash_op own = ash__op_of(op);
    ash_object_request r = {name, &o, &own};
    int rc = begin(s, name, opts, &o, err);
    if (rc == 0)
        rc = ash__object_require(s->manager, s->manager->can.versions, "versions", err);
    if (rc == 0)
        rc = s->manager->ops->restore(s, &r, revision, &object, err);
    return hand_out(rc, object, out);
}

/* ---- care ---- */

int ash_object_store_prune(ash_object_store *s, const ash_object_prune_options *opts,
                           const ash_op *op, ash_object_prune_report *report, ash_error *err)
{
    ash_object_prune_options o;
    ash_object_prune_report own_report = ASH_OBJECT_PRUNE_REPORT_INIT;
    ash_assert(s != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__object_require(s->manager, s->manager->can.versions, "versions", err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0 && o.keep_within_ms < 0)
        rc = ash__fail(err, ASH_EINVAL, "a time of less than nothing");
    if (rc == 0)
        rc = s->manager->ops->prune(s, &o, &own, &own_report, err);
    if (report != NULL)
        (void)ash__out_copy(report, &own_report, sizeof own_report, NULL);
    return rc;
}

int ash_object_store_sweep(ash_object_store *s, const ash_object_sweep_options *opts,
                           const ash_op *op, ash_object_sweep_report *report, ash_error *err)
{
    ash_object_sweep_options o;
    ash_object_sweep_report own_report = ASH_OBJECT_SWEEP_REPORT_INIT;
    ash_assert(s != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0)
        rc = s->manager->ops->sweep(s, &o, &own, &own_report, err);
    if (report != NULL)
        (void)ash__out_copy(report, &own_report, sizeof own_report, NULL);
    return rc;
}

int ash_object_store_lock(ash_object_store *s, const char *name, const ash_lock_options *opts,
                          ash_lock **out, ash_error *err)
{
    ash_assert(s != NULL && name != NULL && out != NULL);
    *out = NULL;
    int rc = ash__object_name_check(name, err);
    if (rc == 0)
        rc = ash__object_require(s->manager, s->manager->can.locks, "locks", err);
    return rc == 0 ? s->manager->ops->lock(s, name, opts, out, err) : rc;
}
