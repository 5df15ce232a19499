/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/feed.h"
#include "object/jetstream/info.h"
#include "object/jetstream/jetstream.h"

#include "base/mem.h"
#include "object/jetstream/list.h"

#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 500 };

struct ash_js_metas {
    ash_js_store *store;
    ash_js_feed *feed;
    ash_op op;
    uint64_t pending;
};

int ash__js_metas_open(ash_js_store *s, const ash_op *op, ash_js_metas **out, ash_error *err)
{
    ash_js_metas *m = ash__new(ash_js_metas);
    char *subject = ash__sprintf("$O.%s.M.>", s->base.name);
    ash_js_feed_request r = {.subject = subject, .from = ASH_JS_FROM_LAST_OF_EACH};
    m->store = s;
    m->op = *op;
    int rc = ash__js_feed_open(&s->stream, &r, op, &m->feed, &m->pending, err);
    ash__free(subject);
    if (rc == 0)
        *out = m;
    else
        ash__js_metas_free(m);
    return rc;
}

int ash__js_metas_next(ash_js_metas *m, ash_object **out, char **other, ash_error *err)
{
    ash_js_fed fed = {0};
    ash_js_message message;
    int rc = 0;

    *out = NULL;
    while (rc == 0 && m->pending > 0 && fed.message == NULL) {
        bool more = true;
        rc = ash__js_feed_next(m->feed, WAIT_MS, &m->op, &fed, err);
        if (rc == 0 && fed.message == NULL)
            rc = ash__js_feed_has_more(m->feed, &m->op, &more, err);
        m->pending = fed.message != NULL ? fed.pending : more ? m->pending : 0;
    }
    if (rc != 0 || fed.message == NULL)
        return rc;
    ash__js_feed_take(m->feed, &fed, &message);
    rc = ash__js_read_info(&message, m->store->base.name, out, err);
    if (rc == 0 && other != NULL) {
        *other = message.other;
        message.other = NULL;
    }
    ash__js_message_release(&message);
    return rc;
}

void ash__js_metas_free(ash_js_metas *m)
{
    if (m == NULL)
        return;
    ash__js_feed_free(m->feed);
    ash__free(m);
}

/* ---- listings ---- */

typedef struct listing {
    ash_object_listing base;
    ash_js_metas *metas; /* NULL: everything is in `objects` */
    ash_object **objects;
    size_t count, capacity, at;
    ash_object *last;
    char *prefix, *after;
    bool deleted;
    uint64_t after_revision;
    int64_t left; /* < 0: any number */
} listing;

static bool wanted(const listing *l, const ash_object *o)
{
    return (l->deleted || !o->deleted) && o->revision > l->after_revision &&
           (l->prefix == NULL || strncmp(o->name, l->prefix, strlen(l->prefix)) == 0) &&
           (l->after == NULL || strcmp(o->name, l->after) > 0);
}

static int next_wanted(listing *l, ash_object **out, ash_error *err)
{
    while (true) {
        int rc = ash__js_metas_next(l->metas, out, NULL, err);
        if (rc != 0 || *out == NULL || wanted(l, *out))
            return rc;
        ash_object_free(*out);
    }
}

static int listing_next(ash_object_listing *base, const ash_object **out, ash_error *err)
{
    listing *l = (listing *)base;
    int rc = 0;
    ash_object_free(l->last);
    l->last = NULL;
    *out = NULL;
    if (l->left == 0)
        return 0;
    if (l->metas != NULL)
        rc = next_wanted(l, &l->last, err);
    else if (l->at < l->count)
        l->last = l->objects[l->at++];
    if (rc == 0 && l->last != NULL && l->left > 0)
        l->left--;
    *out = l->last;
    return rc;
}

static void listing_free(ash_object_listing *base)
{
    listing *l = (listing *)base;
    ash_object_free(l->last);
    for (size_t i = l->at; i < l->count; i++)
        ash_object_free(l->objects[i]);
    ash__free(l->objects);
    ash__js_metas_free(l->metas);
    ash__free(l->prefix);
    ash__free(l->after);
    ash__free(l);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(ash_object *const *)a)->name, (*(ash_object *const *)b)->name);
}

/* The stream has its own order; another one needs them all. */
static int sort_by_name(listing *l, ash_error *err)
{
    ash_object *o = NULL;
    int rc = next_wanted(l, &o, err);
    while (rc == 0 && o != NULL) {
        l->objects = ash__grow_array(l->objects, l->count, &l->capacity, sizeof(ash_object *));
        l->objects[l->count++] = o;
        rc = next_wanted(l, &o, err);
    }
    if (l->count > 0)
        qsort(l->objects, l->count, sizeof(ash_object *), compare_names);
    ash__js_metas_free(l->metas);
    l->metas = NULL;
    return rc;
}

int ash__js_list_objects(ash_object_store *s, const ash_object_list_options *opts, const ash_op *op,
                         ash_object_listing **out, ash_error *err)
{
    listing *l = ash__new(listing);
    l->base.next = listing_next;
    l->base.free = listing_free;
    l->prefix = opts->prefix != NULL ? ash__strdup(opts->prefix) : NULL;
    l->after = opts->by_name && opts->after != NULL ? ash__strdup(opts->after) : NULL;
    l->deleted = opts->deleted;
    l->after_revision = opts->by_name ? 0 : opts->after_revision;
    /* With a filter the core counts what passes it. */
    l->left = opts->limit > 0 && opts->filter == NULL ? opts->limit : -1;
    int rc = ash__js_metas_open(ash__js_store_of(s), op, &l->metas, err);
    if (rc == 0 && opts->by_name)
        rc = sort_by_name(l, err);
    if (rc == 0)
        *out = &l->base;
    else
        listing_free(&l->base);
    return rc;
}
