/* SPDX-License-Identifier: Apache-2.0 */
/* Listings and watches; a filter is tried here where the backend has no query of its own. */
#include "object/core.h"

#include "base/mem.h"
#include "base/options.h"
#include "object/check.h"

#include <string.h>

/* ---- a listing with a filter in front ---- */

typedef struct filtered {
    ash_object_listing listing;
    ash_object_listing *inner;
    bson_t *filter;
    int64_t left; /* < 0: any number */
} filtered;

static int next_filtered(ash_object_listing *l, const ash_object **out, ash_error *err)
{
    filtered *f = (filtered *)l;
    bool match = false;
    int rc = 0;
    *out = NULL;
    if (f->left == 0)
        return 0;
    while (rc == 0 && !match) {
        rc = f->inner->next(f->inner, out, err);
        if (rc != 0 || *out == NULL)
            break;
        rc = ash__object_matches(*out, f->filter, &match, err);
    }
    if (match && f->left > 0)
        f->left--;
    if (!match)
        *out = NULL;
    return rc;
}

static void free_filtered(ash_object_listing *l)
{
    filtered *f = (filtered *)l;
    f->inner->free(f->inner);
    bson_destroy(f->filter);
    ash__free(f);
}

static int list_filtered(ash_object_store *s, ash_object_list_options *o, const ash_op *op,
                         ash_object_listing **out, ash_error *err)
{
    filtered *f = ash__new(filtered);
    f->listing = (ash_object_listing){next_filtered, free_filtered};
    f->filter = bson_copy(o->filter);
    f->left = o->limit > 0 ? o->limit : -1;
    o->limit = 0;
    o->filter = NULL;
    int rc = s->manager->ops->list_objects(s, o, op, &f->inner, err);
    if (rc != 0) {
        bson_destroy(f->filter);
        ash__free(f);
        return rc;
    }
    *out = &f->listing;
    return 0;
}

/* ---- the calls ---- */

static int check_options(const ash_object_list_options *o, ash_error *err)
{
    if (o->limit < 0)
        return ash__fail(err, ASH_EINVAL, "a limit below 0");
    if (o->after != NULL && !o->by_name)
        return ash__fail(err, ASH_EINVAL, "`after` goes with by_name");
    if (o->after_revision != 0 && o->by_name)
        return ash__fail(err, ASH_EINVAL, "`after_revision` does not go with by_name");
    int rc = o->prefix != NULL ? ash__object_text_check(o->prefix, "the prefix", err) : 0;
    return rc == 0 && o->after != NULL ? ash__object_text_check(o->after, "`after`", err) : rc;
}

int ash_object_store_list(ash_object_store *s, const ash_object_list_options *opts,
                          const ash_op *op, ash_object_listing **out, ash_error *err)
{
    ash_object_list_options o;
    bool match;
    ash_object none = {.document = NULL};
    ash_assert(s != NULL && out != NULL);
    *out = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = check_options(&o, err);
    if (rc != 0)
        return rc;
    if (o.filter == NULL || s->manager->ops->filters)
        return s->manager->ops->list_objects(s, &o, &own, out, err);
    /* What does not parse is told here, not by the first object. */
    bson_t empty = BSON_INITIALIZER;
    none.document = &empty;
    rc = ash__object_matches(&none, o.filter, &match, err);
    return rc == 0 ? list_filtered(s, &o, &own, out, err) : rc;
}

int ash_object_store_versions(ash_object_store *s, const char *name, int64_t limit,
                              const ash_op *op, ash_object_listing **out, ash_error *err)
{
    ash_assert(s != NULL && name != NULL && out != NULL);
    *out = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__object_name_check(name, err);
    if (rc == 0)
        rc = ash__object_require(s->manager, s->manager->can.versions, "versions", err);
    if (rc == 0 && limit < 0)
        rc = ash__fail(err, ASH_EINVAL, "a limit below 0");
    return rc == 0 ? s->manager->ops->versions(s, name, limit, &own, out, err) : rc;
}

int ash_object_listing_next(ash_object_listing *l, const ash_object **out, ash_error *err)
{
    *out = NULL;
    return l->next(l, out, err);
}

void ash_object_listing_free(ash_object_listing *l)
{
    if (l != NULL)
        l->free(l);
}

int ash__object_each(ash_object_store *s, const ash_object_list_options *opts, const ash_op *op,
                     ash_object_visit visit, void *ctx, ash_error *err)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    int rc = ash_object_store_list(s, opts, op, &l, err);
    while (rc == 0) {
        rc = ash_object_listing_next(l, &o, err);
        if (rc != 0 || o == NULL)
            break;
        rc = visit(ctx, o, err);
    }
    ash_object_listing_free(l);
    return rc;
}

/* ---- watches ---- */

int ash_object_store_watch(ash_object_store *s, const ash_object_watch_options *opts,
                           const ash_op *op, ash_object_watch **out, ash_error *err)
{
    ash_object_watch_options o;
    ash_assert(s != NULL && out != NULL);
    *out = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0 && o.locks)
        rc = ash__object_require(s->manager, s->manager->can.locks, "events of locks", err);
    if (rc == 0 && o.updates_only && o.history)
        rc = ash__fail(err, ASH_EINVAL, "updates_only and history exclude each other");
    return rc == 0 ? s->manager->ops->watch(s, &o, &own, out, err) : rc;
}

int ash_object_watch_next(ash_object_watch *w, int64_t timeout_ms, ash_object_event *out,
                          ash_error *err)
{
    ash_object_event event = ASH_OBJECT_EVENT_INIT;
    ash_assert(w != NULL && out != NULL);
    int rc = w->next(w, timeout_ms > 0 ? timeout_ms : 0, &event, err);
    if (rc != 0)
        event = (ash_object_event)ASH_OBJECT_EVENT_INIT;
    int copied = ash__out_copy(out, &event, sizeof event, rc == 0 ? err : NULL);
    return rc != 0 ? rc : copied;
}

void ash_object_watch_close(ash_object_watch *w)
{
    if (w != NULL)
        w->close(w);
}
