/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/feed.h"
#include "object/jetstream/jetstream.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum { LOOK_MS = 500 };

typedef struct watch {
    ash_object_watch base;
    ash_js_store *store;
    ash_js_feed *feed;
    ash_object *object; /* of the last event */
    char *prefix;
    ash_op op;
    bool ignore_deletes;
    bool initial;     /* what was there before is still coming */
    bool current_due; /* it has come */
} watch;

static void watch_close(ash_object_watch *base)
{
    watch *w = (watch *)base;
    ash__js_feed_free(w->feed);
    ash_object_free(w->object);
    ash__free(w->prefix);
    ash__free(w);
}

static bool wanted(const watch *w)
{
    return !(w->ignore_deletes && w->object->deleted) &&
           (w->prefix == NULL || strncmp(w->object->name, w->prefix, strlen(w->prefix)) == 0);
}

static int take(watch *w, ash_js_fed *fed, ash_object_event *out, ash_error *err)
{
    ash_js_message message;
    bool last = w->initial && fed->pending == 0;
    ash_object_free(w->object);
    w->object = NULL;
    ash__js_feed_take(w->feed, fed, &message);
    int rc = ash__js_message_object(&message, w->store->base.name, &w->object, err);
    if (rc == 0 && wanted(w)) {
        out->kind = w->object->deleted ? ASH_OBJECT_DELETED : ASH_OBJECT_PUT;
        out->initial = w->initial;
        out->name = w->object->name;
        out->object = w->object;
    }
    if (last) {
        w->initial = false;
        w->current_due = true;
    }
    ash__js_message_release(&message);
    return rc;
}

static int watch_next(ash_object_watch *base, int64_t timeout_ms, ash_object_event *out,
                      ash_error *err)
{
    watch *w = (watch *)base;
    int64_t until = ash__clock_ms() + timeout_ms;
    int rc = 0;
    while (rc == 0 && out->kind == 0) {
        ash_js_fed fed = {0};
        bool more = true;
        int64_t left = until - ash__clock_ms();
        if (w->current_due) {
            w->current_due = false;
            out->kind = ASH_OBJECT_CURRENT;
            break;
        }
        left = w->initial && left > LOOK_MS ? LOOK_MS : left;
        rc = ash__js_feed_next(w->feed, left > 0 ? left : 0, &w->op, &fed, err);
        if (rc == 0 && fed.message != NULL) {
            rc = take(w, &fed, out, err);
            continue;
        }
        if (rc == 0 && w->initial)
            rc = ash__js_feed_has_more(w->feed, &w->op, &more, err);
        if (rc == 0 && !more) {
            w->initial = false;
            w->current_due = true;
        } else if (ash__clock_ms() >= until) {
            break;
        }
    }
    return rc;
}

int ash__js_watch(ash_object_store *s, const ash_object_watch_options *opts, const ash_op *op,
                  ash_object_watch **out, ash_error *err)
{
    watch *w = ash__new(watch);
    uint64_t pending = 0;
    char *subject = ash__sprintf("$O.%s.M.>", s->name);
    ash_js_feed_request r = {.subject = subject,
                             .from = opts->updates_only ? ASH_JS_FROM_NOW
                                     : opts->history    ? ASH_JS_FROM_START
                                                        : ASH_JS_FROM_LAST_OF_EACH};
    w->base.next = watch_next;
    w->base.close = watch_close;
    w->store = ash__js_store_of(s);
    w->op = *op;
    w->op.deadline_ms = 0; /* of the opening alone: each call has a time of its own */
    w->prefix = opts->prefix != NULL ? ash__strdup(opts->prefix) : NULL;
    w->ignore_deletes = opts->ignore_deletes;
    int rc = ash__js_feed_open(&w->store->stream, &r, op, &w->feed, &pending, err);
    w->initial = !opts->updates_only && pending > 0;
    w->current_due = !opts->updates_only && pending == 0;
    ash__free(subject);
    if (rc == 0)
        *out = &w->base;
    else
        watch_close(&w->base);
    return rc;
}
