/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/feed.h"
#include "object/jetstream/jetstream.h"
#include "object/jetstream/meta.h"

#include "base/clock.h"
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
    char *subject;
    uint64_t newest; /* sequence of the newest one that the leader has; 0: none, or nobody asked */
    uint64_t seen;
    int64_t heard_ms;
};

/* Only the leader is sure to know it. */
static int ask_newest(ash_js_metas *m, ash_error *err)
{
    ash_js_message message;
    if (!m->store->stream.replicas)
        return 0;
    int rc = ash__js_get_last(&m->store->stream, m->subject, true, &m->op, &message, err);
    m->newest = rc == 0 ? message.sequence : 0;
    int number = message.number;
    ash__js_message_release(&message);
    return rc == ASH_ENOTFOUND && number == ASH_JS_NO_MESSAGE ? 0 : rc;
}

int ash__js_metas_open(ash_js_store *s, const ash_op *op, ash_js_metas **out, ash_error *err)
{
    ash_js_metas *m = ash__new(ash_js_metas);
    m->subject = ash__sprintf("$O.%s.M.>", s->base.name);
    ash_js_feed_request r = {.subject = m->subject, .from = ASH_JS_FROM_LAST_OF_EACH};
    m->store = s;
    m->op = *op;
    m->heard_ms = ash__clock_ms();
    int rc = ask_newest(m, err);
    if (rc == 0)
        rc = ash__js_feed_open(&s->stream, &r, op, &m->feed, &m->pending, err);
    if (rc == 0)
        *out = m;
    else
        ash__js_metas_free(m);
    return rc;
}

/* Nothing came for a while: because there is no more? */
static int ask_again(ash_js_metas *m, ash_error *err)
{
    bool more = true;
    int rc = ash__js_feed_has_more(m->feed, &m->op, &more, err);
    m->pending = more ? m->pending : 0;
    if (rc == 0 && m->seen < m->newest)
        rc = ask_newest(m, err);
    if (rc == 0 && ash__clock_ms() - m->heard_ms > ASH_JS_PATIENCE_MS)
        rc = ash__fail(err, ASH_ETIMEOUT, "this NATS server is too far behind the others");
    return rc;
}

int ash__js_metas_next(ash_js_metas *m, ash_object **out, char **other, ash_error *err)
{
    ash_js_fed fed = {0};
    ash_js_message message;
    int rc = 0;

    *out = NULL;
    while (rc == 0 && (m->pending > 0 || m->seen < m->newest) && fed.message == NULL) {
        rc = ash__js_feed_next(m->feed, WAIT_MS, &m->op, &fed, err);
        if (rc == 0 && fed.message == NULL)
            rc = ask_again(m, err);
    }
    if (rc != 0 || fed.message == NULL)
        return rc;
    m->pending = fed.pending;
    m->seen = fed.sequence;
    m->heard_ms = ash__clock_ms();
    ash__js_feed_take(m->feed, &fed, &message);
    rc = ash__js_message_object(&message, m->store->base.name, out, err);
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
    ash__free(m->subject);
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
    return (l->deleted || !o->deleted) && !ash__js_is_expired(o) &&
           o->revision > l->after_revision &&
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

static int compare_revisions(const void *a, const void *b)
{
    uint64_t x = (*(ash_object *const *)a)->revision, y = (*(ash_object *const *)b)->revision;
    return x < y ? -1 : x > y;
}

static int compare_names(const void *a, const void *b)
{
    int order = strcmp((*(ash_object *const *)a)->name, (*(ash_object *const *)b)->name);
    return order != 0 ? order : compare_revisions(a, b);
}

/* The newest of each, of those that are wanted. */
static void keep_newest(listing *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        bool last = i + 1 == l->count || strcmp(l->objects[i]->name, l->objects[i + 1]->name) != 0;
        if (last && wanted(l, l->objects[i]))
            l->objects[kept++] = l->objects[i];
        else
            ash_object_free(l->objects[i]);
    }
    l->count = kept;
}

/* The stream has its own order; another one needs them all, and so does it to tell which of two is
 * the newer one. */
static int gather(listing *l, bool by_name, ash_error *err)
{
    ash_object *o = NULL;
    int rc = ash__js_metas_next(l->metas, &o, NULL, err);
    while (rc == 0 && o != NULL) {
        l->objects = ash__grow_array(l->objects, l->count, &l->capacity, sizeof(ash_object *));
        l->objects[l->count++] = o;
        rc = ash__js_metas_next(l->metas, &o, NULL, err);
    }
    if (l->count > 0)
        qsort(l->objects, l->count, sizeof(ash_object *), compare_names);
    keep_newest(l);
    if (l->count > 0 && !by_name)
        qsort(l->objects, l->count, sizeof(ash_object *), compare_revisions);
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
    ash_js_store *store = ash__js_store_of(s);
    int rc = ash__js_metas_open(store, op, &l->metas, err);
    if (rc == 0 && (opts->by_name || store->stream.replicas))
        rc = gather(l, opts->by_name, err);
    if (rc == 0)
        *out = &l->base;
    else
        listing_free(&l->base);
    return rc;
}
