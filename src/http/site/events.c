/* SPDX-License-Identifier: Apache-2.0 */
/* Changes as they happen, as server-sent events.  One watch for each mount, however many listen; a
 * listener that is behind is told to look anew, instead of being kept everything for. */
#include "http/gate/gate.h"
#include "http/site/events.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "http/json.h"

#include <stdatomic.h>
#include <string.h>

enum {
    MAX_FEEDS = 256,
    MAX_PENDING_BYTES = 32 * 1024,
    HEARTBEAT_MS = 15000,
    WATCH_MS = 500, /* how soon a watch notices that nobody listens any more */
    RETRY_MS = 1000
};

typedef struct feed {
    struct feed *next;
    struct hub *hub;
    ash_exchange *x;
    char *folder;
    ash_buffer pending; /* hub's lock */
    bool behind;        /* hub's lock: more came than was kept */
    bool begun;
    int64_t heartbeat_ms;
} feed;

typedef struct hub {
    const ash_site_mount *mount;
    ash_mutex lock; /* guards what follows */
    feed *feeds;
    size_t count;
    bool started;
    pthread_t thread;
    _Atomic int stopping; /* also the watch's cancel flag */
} hub;

struct ash_site_events {
    hub hubs[ASH_SITE_MAX_MOUNTS];
    size_t count;
};

/* ---- one mount's watch ---- */

static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return len == 1 || (strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

static void append_event(const hub *h, const ash_tree_event *e, ash_buffer *out)
{
    static const char *const kinds[] = {"", "created", "changed", "moved", "deleted"};
    char *path = ash__sprintf("%s%s", h->mount->prefix, e->path);
    ash__buffer_append_text(out, "event: change\ndata: {");
    ash__json_add_text(out, "kind", kinds[e->kind]);
    ash__json_add_text(out, "path", path);
    if (e->from != NULL) {
        char *from = ash__sprintf("%s%s", h->mount->prefix, e->from);
        ash__json_add_text(out, "from", from);
        ash__free(from);
    }
    ash__buffer_append_text(out, "}\n\n");
    ash__free(path);
}

static bool may_look_into(const hub *h, const ash_op *op, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *above = ash__strndup(path, slash > path ? (size_t)(slash - path) : 1);
    int rc = ash_tree_allows(h->mount->tree, above, op->principal, ASH_TREE_READ | ASH_TREE_ENTER,
                             NULL, NULL);
    ash__free(above);
    return rc == 0;
}

/* Under a folder that they may not look into, users are not told of anything. */
static bool may_know(const hub *h, const feed *f, const ash_tree_event *e)
{
    const ash_op *op = f->x->op;
    return op == NULL || may_look_into(h, op, e->path) ||
           (e->from != NULL && may_look_into(h, op, e->from));
}

/* What somebody may see of an event; false: that something happened, and no more.  What is gone has
 * no access list that could be asked. */
static bool may_see(const hub *h, const feed *f, const ash_tree_event *e)
{
    const ash_op *op = f->x->op;
    return op == NULL || (e->kind != ASH_TREE_DELETED &&
                          ash_tree_allows(h->mount->tree, e->path, op->principal, ASH_TREE_READ,
                                          NULL, NULL) == 0 &&
                          (e->from == NULL || may_look_into(h, op, e->from)));
}

static bool is_within(const hub *h, const feed *f, const char *path)
{
    char *url = ash__sprintf("%s%s", h->mount->prefix, path);
    bool within = ash__site_is_within(f->x, url);
    ash__free(url);
    return within;
}

/* What comes from, or goes to, a place that a token is not for, comes from nowhere, or is gone. */
static ash_tree_event as_seen_by(const hub *h, const feed *f, const ash_tree_event *e)
{
    ash_tree_event seen = *e;
    if (e->from == NULL)
        return seen;
    if (!is_within(h, f, e->path)) {
        seen.kind = ASH_TREE_DELETED;
        seen.path = e->from;
        seen.from = NULL;
    } else if (!is_within(h, f, e->from)) {
        seen.kind = ASH_TREE_CREATED;
        seen.from = NULL;
    }
    return seen;
}

static void tell_one(hub *h, feed *f, const ash_tree_event *e)
{
    if (!is_in(e->path, f->folder) && (e->from == NULL || !is_in(e->from, f->folder)))
        return;
    const ash_tree_event seen = as_seen_by(h, f, e);
    if (!may_know(h, f, &seen))
        return;
    f->behind = f->behind || f->pending.len > MAX_PENDING_BYTES || !may_see(h, f, &seen);
    if (!f->behind)
        append_event(h, &seen, &f->pending);
    ash__exchange_wake(f->x);
}

/* e NULL: nobody knows what happened. */
static void tell(hub *h, const ash_tree_event *e)
{
    ash__mutex_lock(&h->lock);
    for (feed *f = h->feeds; f != NULL; f = f->next) {
        if (e != NULL) {
            tell_one(h, f, e);
        } else {
            f->behind = true;
            ash__exchange_wake(f->x);
        }
    }
    ash__mutex_unlock(&h->lock);
}

/* Until it fails or the site goes. */
static void watch(hub *h, ash_tree_watch *w)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = 0;
    while (rc == 0 && !atomic_load(&h->stopping)) {
        ash_tree_event e = ASH_TREE_EVENT_INIT;
        rc = ash_tree_watch_next(w, WATCH_MS, &e, &err);
        if (rc == 0 && e.kind != 0 && e.path != NULL)
            tell(h, &e);
    }
    if (rc != 0 && !atomic_load(&h->stopping))
        ash__log(ASH_LOG_WARN, "the watch of a tree ended: %s", err.text);
}

static void *run(void *arg)
{
    hub *h = arg;
    while (!atomic_load(&h->stopping)) {
        ash_error err = ASH_ERROR_INIT;
        ash_tree_watch *w = NULL;
        if (ash_tree_watch_open(h->mount->tree, "/", NULL, &w, &err) == 0) {
            watch(h, w);
            ash_tree_watch_close(w);
        }
        /* What happened in between is not known. */
        tell(h, NULL);
        for (int64_t until = ash__clock_ms() + RETRY_MS;
             !atomic_load(&h->stopping) && ash__clock_ms() < until;)
            ash__clock_sleep_ms(50);
    }
    return NULL;
}

/* ---- one listener ---- */

static int more(ash_exchange *x, ash_buffer *out)
{
    feed *f = x->state;
    int64_t now = ash__clock_ms();
    /* Who has lost something since asks again, and is told no. */
    if (f->begun && now >= f->heartbeat_ms && !ash__gate_stays(x))
        return ASH_MORE_LAST;
    ash__mutex_lock(&f->hub->lock);
    if (!f->begun)
        /* Proxies that gather the beginning of an answer give it on, and a client that comes back
         * knows that it missed something. */
        ash__buffer_append_text(out, "retry: 2000\n\nevent: open\ndata: {}\n\n");
    else if (f->behind)
        ash__buffer_append_text(out, "event: reload\ndata: {}\n\n");
    else if (f->pending.len > 0)
        ash__buffer_append(out, f->pending.data, f->pending.len);
    else if (now >= f->heartbeat_ms)
        ash__buffer_append_text(out, ": still here\n\n");
    f->begun = true;
    f->behind = false;
    ash__buffer_clear(&f->pending);
    ash__mutex_unlock(&f->hub->lock);
    if (out->len > 0)
        f->heartbeat_ms = now + HEARTBEAT_MS;
    x->due_ms = f->heartbeat_ms;
    return out->len > 0 ? ASH_MORE_TO_COME : ASH_MORE_LATER;
}

static void release(ash_exchange *x)
{
    feed *f = x->state;
    hub *h = f->hub;
    ash__mutex_lock(&h->lock);
    for (feed **at = &h->feeds; *at != NULL; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            h->count--;
            break;
        }
    ash__mutex_unlock(&h->lock);
    ash__buffer_release(&f->pending);
    ash__free(f->folder);
    ash__free(f);
}

static hub *hub_of(ash_site *s, const ash_site_mount *m)
{
    for (size_t i = 0; i < s->events->count; i++)
        if (s->events->hubs[i].mount == m)
            return &s->events->hubs[i];
    return NULL;
}

/* false: there are too many, or no thread for it. */
static bool join_hub(hub *h, feed *f)
{
    ash__mutex_lock(&h->lock);
    bool fits = h->count < MAX_FEEDS;
    if (fits && !h->started)
        fits = h->started = ash__thread_start(&h->thread, 0, run, h) == 0;
    if (fits) {
        f->next = h->feeds;
        h->feeds = f;
        h->count++;
    }
    ash__mutex_unlock(&h->lock);
    return fits;
}

void ash__site_events(ash_site *s, ash_exchange *x, const char *rest)
{
    const char *path = NULL;
    const ash_site_mount *m = ash__site_mount_of(s, rest[0] == '\0' ? "/" : rest, &path);
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_error err = ASH_ERROR_INIT;
    if (m == NULL || strcmp(x->method, "GET") != 0) {
        ash__answer_text(x, m == NULL ? 404 : 405, "changes are listened to by a GET below a tree");
        return;
    }
    if (ash_store_capabilities(s->store, &can, &err) != 0 || !can.watch) {
        ash__answer_text(x, 501, "this store does not tell of changes");
        return;
    }
    feed *f = ash__new(feed);
    f->hub = hub_of(s, m);
    f->x = x;
    f->folder = ash__strdup(path);
    x->state = f;
    x->release = release;
    x->more = more;
    if (!join_hub(f->hub, f)) {
        ash__answer_field(x, "Retry-After", "10");
        ash__answer_text(x, 503, "%d listen already", (int)MAX_FEEDS);
        return;
    }
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_field(x, "X-Accel-Buffering", "no"); /* nginx would gather it */
    ash__answer_stream(x, 200, "text/event-stream", -1);
}

/* ---- with the site ---- */

void ash__site_events_new(ash_site *s)
{
    s->events = ash__new(ash_site_events);
    for (size_t i = 0; i < s->mount_count; i++) {
        hub *h = &s->events->hubs[s->events->count++];
        h->mount = &s->mounts[i];
        ash__mutex_init(&h->lock, ASH_RANK_BUCKET);
    }
}

void ash__site_events_free(ash_site *s)
{
    if (s->events == NULL)
        return;
    for (size_t i = 0; i < s->events->count; i++) {
        hub *h = &s->events->hubs[i];
        atomic_store(&h->stopping, 1);
        if (h->started)
            pthread_join(h->thread, NULL);
        ash_assert(h->feeds == NULL);
        ash__mutex_release(&h->lock);
    }
    ash__free(s->events);
}
