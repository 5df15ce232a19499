/* SPDX-License-Identifier: Apache-2.0 */
/* Changes as they happen: what there is, in the order of revisions, then the change stream.
 *
 * The stream is opened first.  Since the changes of a store come one after the other, everything up
 * to the newest revision that was listed was listed, or has a later one by then: what the stream has
 * of those is passed over.  With history the beginning ends at the revision that the store had
 * before, and all later ones are the stream's. */
#include "object/docs/docs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bson/value.h"
#include "bucket/bucket.h"
#include "object/docs/history.h"

#include <string.h>

typedef struct docs_watch {
    ash_object_watch watch;
    ash_docs *store;
    ash_op op;
    ash_object_watch_options opts;
    char *prefix, *meta, *locks;
    ash_cursor *stream;
    bool beginning;              /* what there is is still being told, … */
    ash_object_listing *initial; /* … from here, … */
    ash_docs_history *history;   /* … or from here; later, what the stream passed over */
    uint64_t since;              /* the store's revision when the watch began */
    uint64_t seen;               /* the newest revision that was told or passed over */
    bool caught_up;              /* the stream has come to what is newer than what there was */
    bson_t *locked;              /* names that are, as far as is known: {name: 1} */
    ash_object *object;          /* of the last event */
    char *name;
} docs_watch;

static void close_watch(ash_object_watch *base)
{
    docs_watch *w = (docs_watch *)base;
    ash_cursor_free(w->stream);
    ash_object_listing_free(w->initial);
    ash__docs_history_free(w->history);
    ash_object_free(w->object);
    bson_destroy(w->locked);
    ash__free(w->prefix);
    ash__free(w->meta);
    ash__free(w->locks);
    ash__free(w->name);
    ash__free(w);
}

/* ---- telling ---- */

static bool is_wanted(const docs_watch *w, const char *name)
{
    return w->prefix == NULL || strncmp(name, w->prefix, strlen(w->prefix)) == 0;
}

static void tell_name(docs_watch *w, const char *name, ash_object_event_kind kind,
                      ash_object_event *out)
{
    ash__free(w->name);
    w->name = ash__strdup(name);
    out->kind = kind;
    out->name = w->name;
}

/* Takes over the object. */
static void tell(docs_watch *w, ash_object *object, bool initial, ash_object_event *out)
{
    ash_object_free(w->object);
    w->object = object;
    w->seen = object->revision > w->seen ? object->revision : w->seen;
    if (!is_wanted(w, object->name) || (object->deleted && w->opts.ignore_deletes))
        return;
    tell_name(w, object->name, object->deleted ? ASH_OBJECT_DELETED : ASH_OBJECT_PUT, out);
    out->initial = initial;
    out->object = object;
}

/* ---- what there is ---- */

static int next_present(docs_watch *w, ash_object **out, ash_error *err)
{
    const ash_object *o = NULL;
    if (w->history != NULL)
        return ash__docs_history_next(w->history, out, err);
    int rc = w->initial->next(w->initial, &o, err);
    *out = rc == 0 && o != NULL ? ash_object_copy(o) : NULL;
    return rc;
}

static int tell_present(docs_watch *w, ash_object_event *out, ash_error *err)
{
    ash_object *o = NULL;
    int rc = next_present(w, &o, err);
    if (rc != 0)
        return rc;
    if (o != NULL) {
        tell(w, o, w->beginning, out);
        return 0;
    }
    ash_object_listing_free(w->initial);
    w->initial = NULL;
    ash__docs_history_free(w->history);
    w->history = NULL;
    if (w->beginning)
        out->kind = ASH_OBJECT_CURRENT;
    w->beginning = false;
    w->seen = w->since > w->seen ? w->since : w->seen;
    return 0;
}

/* ---- what happens ---- */

static const char *text(const bson_t *doc, const char *path)
{
    bson_iter_t it, at;
    return bson_iter_init(&it, doc) && bson_iter_find_descendant(&it, path, &at) &&
                   BSON_ITER_HOLDS_UTF8(&at)
               ? bson_iter_utf8(&at, NULL)
               : "";
}

static bool document(const bson_t *event, const char *field, bson_t *out)
{
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    if (!bson_iter_init_find(&it, event, field) || !BSON_ITER_HOLDS_DOCUMENT(&it))
        return false;
    bson_iter_document(&it, &len, &data);
    return bson_init_static(out, data, len);
}

static int64_t number(const bson_t *doc, const char *field)
{
    bson_iter_t it;
    int64_t v = 0;
    if (bson_iter_init_find(&it, doc, field) && !BSON_ITER_HOLDS_BOOL(&it))
        (void)ash__value_as_int64(ash__value_of_iter(&it), &v);
    else if (bson_iter_init_find(&it, doc, field))
        v = bson_iter_bool(&it);
    return v;
}

static bool is_locked(const docs_watch *w, const char *name)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, w->locked, name);
}

static void set_locked(docs_watch *w, const char *name, bool held)
{
    bson_t *left = bson_new();
    bson_iter_t it;
    if (bson_iter_init(&it, w->locked))
        while (bson_iter_next(&it))
            if (strcmp(bson_iter_key(&it), name) != 0)
                bson_append_iter(left, NULL, 0, &it);
    if (held)
        BSON_APPEND_BOOL(left, name, true);
    bson_destroy(w->locked);
    w->locked = left;
}

/* A lock document changes all the time; only whether somebody holds it counts. */
static void take_lock(docs_watch *w, const bson_t *event, ash_object_event *out)
{
    bson_t doc;
    if (!w->opts.locks || !document(event, "fullDocument", &doc))
        return;
    const char *name = text(&doc, "files_id");
    bool held = number(&doc, "write_lock") != 0 || number(&doc, "read_locks") > 0;
    if (!is_wanted(w, name) || held == is_locked(w, name))
        return;
    set_locked(w, name, held);
    tell_name(w, name, held ? ASH_OBJECT_LOCKED : ASH_OBJECT_UNLOCKED, out);
}

/* The removal may be from before the listing, and the name be there again, as was told. */
static int take_removal(docs_watch *w, const char *name, ash_object_event *out, ash_error *err)
{
    ash_object *now = NULL;
    int rc = 0;
    if (!is_wanted(w, name) || w->opts.ignore_deletes)
        return 0;
    if (!w->caught_up)
        rc = ash__docs_find_name(w->store, name, &w->op, &now, err);
    if (rc == 0 && now == NULL)
        tell_name(w, name, ASH_OBJECT_REMOVED, out);
    ash_object_free(now);
    return rc;
}

static int take_object(docs_watch *w, const bson_t *event, ash_object_event *out, ash_error *err)
{
    ash_object *object = NULL;
    bson_t doc;
    if (strcmp(text(event, "operationType"), "delete") == 0)
        return take_removal(w, text(event, "documentKey._id"), out, err);
    if (!document(event, "fullDocument", &doc))
        return 0;
    int rc = ash__docs_object(ash__doc_from_bson(&doc), &object, err);
    if (rc != 0)
        return rc;
    if (object->revision <= w->seen) {
        ash_object_free(object);
        return 0;
    }
    w->caught_up = true;
    /* An event has no document once another one stands in its place: it is a version now. */
    if (w->opts.history && object->revision > w->seen + 1)
        w->history = ash__docs_history_before(w->store, &w->op, w->seen, object);
    else
        tell(w, object, false, out);
    return 0;
}

static int take(docs_watch *w, ash_doc doc, ash_object_event *out, ash_error *err)
{
    bson_t event;
    ash__doc_to_bson(doc, &event);
    const char *kind = text(&event, "operationType");
    if (strcmp(kind, "drop") == 0 || strcmp(kind, "invalidate") == 0 ||
        strcmp(kind, "dropDatabase") == 0)
        return ash__fail(err, ASH_ENOTFOUND, "object store %s was deleted", w->store->base.name);
    if (strcmp(text(&event, "ns.coll"), w->locks) == 0) {
        take_lock(w, &event, out);
        return 0;
    }
    return take_object(w, &event, out, err);
}

/* Asked in turns, since an event that nobody wants is no reason to wait anew. */
static int next(ash_object_watch *base, int64_t timeout_ms, ash_object_event *out, ash_error *err)
{
    docs_watch *w = (docs_watch *)base;
    int64_t end = ash__clock_ms() + timeout_ms;
    int rc = 0;
    while (rc == 0 && out->kind == 0) {
        ash_doc doc = {NULL, 0};
        int64_t left = end - ash__clock_ms();
        if (w->beginning || w->history != NULL) {
            rc = tell_present(w, out, err);
            continue;
        }
        ash_cursor_set_op(w->stream, 0, w->op.cancel, left > 0 ? left : 0);
        rc = ash_cursor_next(w->stream, &doc, err);
        if (rc == 0 && doc.data != NULL)
            rc = take(w, doc, out, err);
        else if (rc == 0 && ash__clock_ms() >= end)
            break;
    }
    return rc;
}

/* ---- opening ---- */

static int open_stream(docs_watch *w, const ash_op *op, ash_error *err)
{
    ash_watch_options o = ASH_WATCH_OPTIONS_INIT;
    ash_docs_manager *m = w->store->manager;
    bson_t *pipeline = BCON_NEW("0", "{", "$match", "{", "ns.coll", "{", "$in", "[",
                                BCON_UTF8(w->meta), BCON_UTF8(w->locks), "]", "}", "}", "}");
    o.op = *op;
    o.pipeline = pipeline;
    o.full_document = "updateLookup";
    int rc = ash_store_watch(m->store, m->db, NULL, &o, &w->stream, err);
    bson_destroy(pipeline);
    return rc;
}

static int open_initial(docs_watch *w, const ash_op *op, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_docs_config c;
    int rc = ash__docs_config_own(w->store, op, &c, err);
    if (rc != 0)
        return rc;
    w->since = (uint64_t)c.revision;
    ash__docs_config_release(&c);
    w->beginning = !w->opts.updates_only;
    if (w->opts.updates_only) {
        w->seen = w->since;
        return 0;
    }
    if (w->opts.history)
        return ash__docs_history_open(w->store, &w->op, w->since, &w->history, err);
    o.deleted = true;
    return ash__docs_list(&w->store->base, &o, &w->op, &w->initial, err);
}

int ash__docs_watch(ash_object_store *base, const ash_object_watch_options *opts, const ash_op *op,
                    ash_object_watch **out, ash_error *err)
{
    docs_watch *w = ash__new(docs_watch);
    w->watch = (ash_object_watch){next, close_watch};
    w->store = ash__docs(base);
    w->op = *op;
    w->op.deadline_ms = 0; /* of the opening alone: each call has a time of its own */
    w->opts = *opts;
    w->prefix = opts->prefix != NULL ? ash__strdup(opts->prefix) : NULL;
    w->meta = ash__sprintf("%s.meta", w->store->prefix);
    w->locks = ash__sprintf("%s.locks", w->store->prefix);
    w->locked = bson_new();
    int rc = open_stream(w, op, err);
    if (rc == 0)
        rc = open_initial(w, op, err);
    if (rc != 0)
        close_watch(&w->watch);
    else
        *out = &w->watch;
    return rc;
}
