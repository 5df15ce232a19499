/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of meta messages alone: what is said of an object, deletion, links, expiry, names. */
#include "object/jetstream/meta.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <string.h>

enum { MAX_CONFLICTS = 100 };

/* What becomes of an object.  *after NULL: it stays as it is, and that is the result. */
typedef int (*change_fn)(void *ctx, const ash_js_meta *before, ash_object **after, ash_error *err);

typedef struct change {
    ash_js_store *store;
    const ash_object_request *r;
    change_fn fn;
    void *ctx;
    int64_t expires_ms; /* of the new message; < 0: as the old one */
    ash_js_meta before; /* filled in */
} change;

static int try_change(change *c, ash_object **out, ash_error *err)
{
    ash_object *after = NULL;
    bool unknown = false;
    ash__js_meta_release(&c->before);
    int rc = ash__js_meta_get(c->store, c->r->name, true, c->r->op, &c->before, err);
    if (rc == 0)
        rc = ash__js_meta_check(&c->before, c->r->opts, err);
    if (rc == 0)
        rc = c->fn(c->ctx, &c->before, &after, err);
    if (rc == 0 && after == NULL) {
        *out = ash_object_copy(c->before.object);
        return 0;
    }
    if (rc == 0) {
        int64_t expires = c->expires_ms < 0 ? c->before.object->expires_ms : c->expires_ms;
        ash_js_meta_put put = {.subject = c->before.subject,
                               .object = after,
                               .expected = c->before.sequence,
                               .expires_ms = expires,
                               .other = c->before.other};
        rc = ash__js_meta_publish(c->store, &put, c->r->op, out, &unknown, err);
    }
    ash_object_free(after);
    return rc;
}

/* Until nobody else comes in between; what the caller asked for is looked at each time. */
static int apply(change *c, ash_object **out, ash_error *err)
{
    int rc = ash__js_check_writable(c->store, err);
    if (rc != 0)
        return rc;
    ash__js_drop_pending(ash__js_manager_of(c->store->base.manager));
    for (int tries = 0; tries < MAX_CONFLICTS; tries++) {
        rc = try_change(c, out, err);
        if (rc != ASH_ECONFLICT)
            break;
    }
    return rc;
}

static int need_live(const ash_js_meta *m, const char *name, ash_error *err)
{
    if (ash__js_meta_is_live(m))
        return 0;
    return ash__fail(err, ASH_ENOTFOUND,
                     m->object != NULL ? "object %s is deleted" : "no object %s", name);
}

/* ---- deletion ---- */

static int delete_one(void *ctx, const ash_js_meta *before, ash_object **after, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    if (before->object == NULL || ash__js_is_expired(before->object))
        return ash__fail(err, ASH_ENOTFOUND, "no object %s", (const char *)ctx);
    if (before->object->deleted)
        return 0;
    ash__object_set_deleted(&set);
    int rc = ash__object_set(before->object, &set, after, err);
    bson_destroy(&set);
    return rc;
}

int ash__js_delete_object(ash_object_store *s, const ash_object_request *r, ash_object **out,
                          ash_error *err)
{
    char *name = ash__strdup(r->name);
    change c = {.store = ash__js_store_of(s), .r = r, .fn = delete_one, .ctx = name};
    int rc = apply(&c, out, err);
    if (rc == 0)
        ash__js_meta_drop_chunks(c.store, &c.before, r->op);
    ash__js_meta_release(&c.before);
    ash__free(name);
    return rc;
}

/* ---- links ---- */

static int put_link(void *ctx, const ash_js_meta *before, ash_object **after, ash_error *err)
{
    const ash_object *link = ctx;
    if (ash__js_meta_is_live(before) && before->object->link_store == NULL)
        return ash__fail(err, ASH_EEXISTS, "there is an object %s", link->name);
    *after = ash_object_copy(link);
    return 0;
}

int ash__js_link(ash_object_store *s, const ash_object_request *r, const ash_object *link,
                 ash_object **out, ash_error *err)
{
    ash_object *own = ash_object_copy(link);
    change c = {.store = ash__js_store_of(s),
                .r = r,
                .fn = put_link,
                .ctx = own,
                .expires_ms = r->opts->ttl_ms > 0 ? ash__clock_wall_ms() + r->opts->ttl_ms : 0};
    int rc = r->opts->ttl_ms > 0 ? ash__js_allow_ttl(c.store, r->op, err) : 0;
    if (rc == 0)
        rc = apply(&c, out, err);
    ash__js_meta_release(&c.before);
    ash_object_free(own);
    return rc;
}

/* ---- expiry ---- */

typedef struct expiry {
    ash_js_store *store;
    const ash_object_request *r;
    int64_t at_ms;
} expiry;

/* The bytes of an object that was put with a time to live have one, too, which nobody can change. */
static int check_chunks(const expiry *e, const ash_object *o, ash_error *err)
{
    ash_js_message message;
    int rc = 0;
    if (o->chunks == 0 || o->nuid == NULL)
        return 0;
    char *subject = ash__chunk_subject(e->store->base.name, o->nuid);
    rc = ash__js_get_from(&e->store->stream, subject, 1, e->r->op, &message, err);
    ash__free(subject);
    if (rc == 0 && message.expires_ms != 0 && (e->at_ms == 0 || e->at_ms > message.expires_ms))
        rc = ash__fail(err, ASH_EUNSUPPORTED,
                       "on JetStream an object that was put with a ttl cannot live longer: put it "
                       "again");
    ash__js_message_release(&message);
    return rc;
}

static int set_expiry(void *ctx, const ash_js_meta *before, ash_object **after, ash_error *err)
{
    const expiry *e = ctx;
    int rc = need_live(before, e->r->name, err);
    int64_t now = rc == 0 ? before->object->expires_ms : 0;
    if (rc == 0 && now != 0 && (e->at_ms == 0 || e->at_ms > now))
        rc = check_chunks(e, before->object, err);
    if (rc == 0)
        *after = ash_object_copy(before->object);
    return rc;
}

int ash__js_set_expiry(ash_object_store *s, const ash_object_request *r, int64_t expires_ms,
                       ash_object **out, ash_error *err)
{
    expiry e = {ash__js_store_of(s), r, expires_ms};
    change c = {.store = ash__js_store_of(s),
                .r = r,
                .fn = set_expiry,
                .ctx = &e,
                .expires_ms = expires_ms};
    int rc = expires_ms != 0 ? ash__js_allow_ttl(c.store, r->op, err) : 0;
    if (rc == 0)
        rc = apply(&c, out, err);
    ash__js_meta_release(&c.before);
    return rc;
}

/* ---- what is said of it ---- */

typedef struct update {
    const char *name;
    const ash_object_meta *meta;
} update;

static int set_meta(void *ctx, const ash_js_meta *before, ash_object **after, ash_error *err)
{
    const update *u = ctx;
    bson_t set = BSON_INITIALIZER;
    int rc = need_live(before, u->name, err);
    if (rc == 0) {
        ash__object_set_meta(u->meta, before->object, &set);
        rc = ash__object_set(before->object, &set, after, err);
    }
    bson_destroy(&set);
    return rc;
}

/* ---- names ----
 *
 *   1  the old meta message once more, with a mark: the subject of the new one
 *   2  the new meta message, with the same nuid, and the subject of the old one
 *   3  that old meta message, and no other, is deleted
 *
 * A crash behind 1 leaves an object with a mark that means nothing, since the other end has other
 * bytes or none.  One behind 2 leaves two names for the same bytes: whoever deletes or replaces one
 * of them follows the mark, and leaves the bytes to the other; a sweep does 3. */

/* Step 1: *old is as it was looked at, with the sequence of its marked message. */
static int mark_old(ash_js_store *s, const ash_object_request *r, const char *new_subject,
                    ash_js_meta *old, ash_error *err)
{
    bool unknown = false;
    ash_object *marked = NULL;
    ash__js_meta_release(old);
    int rc = ash__js_meta_get(s, r->name, true, r->op, old, err);
    if (rc == 0)
        rc = ash__js_meta_check(old, r->opts, err);
    if (rc == 0)
        rc = need_live(old, r->name, err);
    if (rc != 0)
        return rc;
    ash_js_meta_put put = {.subject = old->subject,
                           .object = old->object,
                           .expected = old->sequence,
                           .expires_ms = old->object->expires_ms,
                           .other = new_subject};
    rc = ash__js_meta_publish(s, &put, r->op, &marked, &unknown, err);
    if (rc == 0)
        old->sequence = marked->revision;
    ash_object_free(marked);
    return rc;
}

static int look_at_target(ash_js_store *s, const char *name, const ash_op *op, ash_js_meta *out,
                          ash_error *err)
{
    ash__js_meta_release(out);
    int rc = ash__js_meta_get(s, name, true, op, out, err);
    if (rc == 0 && ash__js_meta_is_live(out))
        rc = ash__fail(err, ASH_EEXISTS, "there is an object %s", name);
    return rc;
}

typedef struct renaming {
    ash_js_meta old, target;
    ash_object *object; /* under its new name */
} renaming;

/* Step 2. */
static int put_new(ash_js_store *s, const ash_object_request *r, renaming *n, ash_object **out,
                   ash_error *err)
{
    int rc = ASH_ECONFLICT;
    for (int tries = 0; rc == ASH_ECONFLICT && tries < MAX_CONFLICTS; tries++) {
        bool unknown = false;
        rc = tries > 0 ? look_at_target(s, n->object->name, r->op, &n->target, err) : 0;
        if (rc != 0)
            return rc;
        ash_js_meta_put put = {.subject = n->target.subject,
                               .object = n->object,
                               .expected = n->target.sequence,
                               .expires_ms = n->object->expires_ms,
                               .other = n->old.subject};
        rc = ash__js_meta_publish(s, &put, r->op, out, &unknown, err);
    }
    return rc;
}

static int rename_object(ash_js_store *s, const ash_object_request *r, const ash_object_meta *meta,
                         ash_object **out, ash_error *err)
{
    renaming n = {0};
    bson_t set = BSON_INITIALIZER;
    int rc = ash__js_check_writable(s, err);
    if (rc == 0)
        rc = look_at_target(s, meta->name, r->op, &n.target, err);
    for (int tries = 0; rc == 0 && tries < MAX_CONFLICTS; tries++) {
        rc = mark_old(s, r, n.target.subject, &n.old, err);
        if (rc != ASH_ECONFLICT)
            break;
        rc = tries + 1 < MAX_CONFLICTS ? 0 : rc;
    }
    if (rc == 0) {
        ash__object_set_meta(meta, n.old.object, &set);
        rc = ash__object_set(n.old.object, &set, &n.object, err);
    }
    if (rc == 0)
        rc = put_new(s, r, &n, out, err);
    /* The object has its new name already: who finds the old one, too, follows its mark. */
    if (rc == 0)
        (void)ash__js_delete(&s->stream, n.old.sequence, r->op, NULL);
    bson_destroy(&set);
    ash_object_free(n.object);
    ash__js_meta_release(&n.old);
    ash__js_meta_release(&n.target);
    return rc;
}

int ash__js_update_meta(ash_object_store *s, const ash_object_request *r,
                        const ash_object_meta *meta, ash_object **out, ash_error *err)
{
    update u = {r->name, meta};
    change c = {.store = ash__js_store_of(s), .r = r, .fn = set_meta, .ctx = &u, .expires_ms = -1};
    if (meta->name != NULL && strcmp(meta->name, r->name) != 0)
        return rename_object(c.store, r, meta, out, err);
    int rc = apply(&c, out, err);
    ash__js_meta_release(&c.before);
    return rc;
}
