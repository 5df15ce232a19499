/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/watch.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum {
    ROOM = 64,       /* objects that wait for the client */
    WAIT_MS = 250,   /* then the thread looks whether it is to end */
    PLACE_MS = 5000, /* how long a new watch waits for threads that are about to end */
    STACK = 512 * 1024
};

struct ash_jsd_watch {
    ash_jetstream *jetstream;
    struct ash_jsd_watch *next; /* ash_jetstream.mutex, as `left` */
    bool left;                  /* by its client; the thread is about to end */
    uint64_t owner;             /* that client's id */
    ash_object_store *store;    /* its own */
    ash_jsd_watch_request want;
    char *name;
    ash_object_watch *watch; /* the thread's */
    volatile int cancel;     /* __atomic_… */
    ash_mutex
        mutex; /* guards what follows; the client is woken under it, for as long as it is there */
    ash_nats_client *client;
    ash_cond moved; /* there is room, or it is over */
    ash_object *objects[ROOM];
    size_t first, count;
    size_t initial; /* of these, how many come first that were there before */
    bool current;   /* all that was there before was put in */
    bool stop;
    int rc; /* why it ended */
    ash_error err;
    uint64_t total, told; /* of what was there; the client's thread's */
};

/* ---- places ---- */

/* Under the mutex.  owner 0: anybody's. */
static int count_watches(const ash_jetstream *j, uint64_t owner, bool left_alone)
{
    int count = 0;
    for (const ash_jsd_watch *w = j->watches; w != NULL; w = w->next)
        count += (owner == 0 || w->owner == owner) && (w->left || !left_alone) ? 1 : 0;
    return count;
}

/* Under the mutex: is there a place for one more, or about to be one? */
static bool has_place(const ash_jetstream *j, uint64_t owner, bool *soon)
{
    bool for_it = count_watches(j, owner, false) < ASH_JSD_WATCHES_OF_ONE;
    bool at_all = j->watch_count < ASH_JSD_WATCHES;
    *soon = count_watches(j, for_it ? 0 : owner, true) > 0;
    return for_it && at_all;
}

/* Clients that look at a store again and again leave one watch after the other behind. */
static bool take_place(ash_jetstream *j, ash_jsd_watch *w)
{
    int64_t deadline = ash__clock_deadline(PLACE_MS);
    bool soon = false, in_time = true;
    ash__mutex_lock(&j->mutex);
    bool good = has_place(j, w->owner, &soon);
    while (!good && soon && in_time) {
        in_time = ash__cond_wait_until(&j->watch_ended, &j->mutex, deadline);
        good = has_place(j, w->owner, &soon);
    }
    if (good) {
        w->next = j->watches;
        j->watches = w;
        j->watch_count++;
    }
    ash__mutex_unlock(&j->mutex);
    return good;
}

static void leave_place(ash_jetstream *j, const ash_jsd_watch *w)
{
    ash__mutex_lock(&j->mutex);
    ash_jsd_watch **at = &j->watches;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    j->watch_count--;
    ash__cond_broadcast(&j->watch_ended);
    ash__mutex_unlock(&j->mutex);
}

bool ash__jsd_watch_share_is_used(const ash_jsd_client *c)
{
    ash_jetstream *j = c->jetstream;
    ash__mutex_lock(&j->mutex);
    bool used = count_watches(j, c->id, false) >= ASH_JSD_WATCHES_OF_ONE;
    ash__mutex_unlock(&j->mutex);
    return used;
}

/* ---- the thread ---- */

static bool has_name(const ash_jsd_watch *w, const ash_object *o)
{
    return w->name == NULL || strcmp(o->name, w->name) == 0;
}

/* Of what was there before. */
static bool is_new_enough(const ash_jsd_watch *w, const ash_object *o)
{
    return o->revision >= w->want.revision && o->modified_ms >= w->want.changed_ms;
}

static bool is_wanted(const ash_jsd_watch *w, const ash_object_event *e)
{
    const ash_object *o = e->object;
    return o != NULL && has_name(w, o) && (!e->initial || is_new_enough(w, o));
}

/* false: it is over. */
static bool put_in(ash_jsd_watch *w, const ash_object_event *e)
{
    ash_object *copy = is_wanted(w, e) ? ash_object_copy(e->object) : NULL;
    ash__mutex_lock(&w->mutex);
    while (copy != NULL && w->count == ROOM && !w->stop)
        ash__cond_wait(&w->moved, &w->mutex);
    bool stop = w->stop;
    if (copy != NULL && !stop) {
        w->objects[(w->first + w->count++) % ROOM] = copy;
        w->initial += e->initial ? 1 : 0;
        copy = NULL;
    }
    w->current = w->current || e->kind == ASH_OBJECT_CURRENT;
    ash__mutex_unlock(&w->mutex);
    ash_object_free(copy);
    return !stop;
}

static void end(ash_jsd_watch *w, int rc, const ash_error *err)
{
    ash__mutex_lock(&w->mutex);
    w->rc = rc;
    w->err = *err;
    ash__mutex_unlock(&w->mutex);
}

static void wake(ash_jsd_watch *w)
{
    ash__mutex_lock(&w->mutex);
    if (!w->stop)
        ash__nats_wake(w->client);
    ash__mutex_unlock(&w->mutex);
}

/* The store is the caller's again where `keep` is set. */
static void release(ash_jsd_watch *w, bool keep)
{
    ash_object_watch_close(w->watch);
    for (; w->count > 0; w->count--, w->first++)
        ash_object_free(w->objects[w->first % ROOM]);
    ash__cond_release(&w->moved);
    ash__mutex_release(&w->mutex);
    if (!keep)
        ash_object_store_close(w->store);
    ash__free(w->name);
    /* Last of all: who waits for it takes away what is shared. */
    leave_place(w->jetstream, w);
    ash__free(w);
}

/* After the last object it stays until the client lets go of it. */
static void wait_for_stop(ash_jsd_watch *w)
{
    ash__mutex_lock(&w->mutex);
    while (!w->stop)
        ash__cond_wait(&w->moved, &w->mutex);
    ash__mutex_unlock(&w->mutex);
}

static void *run(void *arg)
{
    ash_jsd_watch *w = arg;
    bool on = true;
    while (on) {
        ash_object_event e = ASH_OBJECT_EVENT_INIT;
        ash_error err = ASH_ERROR_INIT;
        int rc = ash_object_watch_next(w->watch, WAIT_MS, &e, &err);
        if (rc != 0)
            end(w, rc, &err);
        on = rc == 0 && put_in(w, &e);
        if (rc != 0 || e.kind != 0)
            wake(w);
    }
    wait_for_stop(w);
    release(w, false);
    return NULL;
}

/* ---- the client's side ---- */

/* As far as can be known before it is told: others go on changing. */
static int count(ash_jsd_watch *w, ash_object_store *s, const ash_op *op, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *l = NULL;
    const ash_object *object = NULL;
    o.deleted = true;
    o.prefix = w->name;
    o.after_revision = w->want.revision > 0 ? w->want.revision - 1 : 0;
    int rc = ash_object_store_list(s, &o, op, &l, err);
    while (rc == 0 && (rc = ash_object_listing_next(l, &object, err)) == 0 && object != NULL)
        w->total += has_name(w, object) && is_new_enough(w, object) ? 1 : 0;
    ash_object_listing_free(l);
    return rc;
}

int ash__jsd_watch_open(ash_jsd_client *c, ash_object_store *s, const ash_jsd_watch_request *r,
                        ash_jsd_watch **out, ash_error *err)
{
    ash_object_watch_options o = ASH_OBJECT_WATCH_OPTIONS_INIT;
    ash_op op = ASH_OP_INIT;
    pthread_t thread;
    ash_jsd_watch *w = ash__new(ash_jsd_watch);
    w->jetstream = c->jetstream;
    w->owner = c->id;
    if (!take_place(c->jetstream, w)) {
        ash__free(w);
        return ash__fail(err, ASH_ENOMEM, "there are too many watches already");
    }
    w->client = c->client;
    w->store = s;
    w->want = *r;
    w->name = r->name != NULL ? ash__strdup(r->name) : NULL;
    w->current = r->news;
    ash__mutex_init(&w->mutex, ASH_RANK_CONNECTION);
    ash__cond_init(&w->moved);
    o.updates_only = r->news;
    o.prefix = w->name;
    op.cancel = &w->cancel;
    int rc = ash_object_store_watch(s, &o, &op, &w->watch, err);
    if (rc == 0 && !r->news)
        rc = count(w, s, &op, err);
    if (rc == 0 && ash__thread_start(&thread, STACK, run, w) != 0)
        rc = ash__fail(err, ASH_ENOMEM, "no thread for a watch");
    if (rc != 0) {
        release(w, true);
        return rc;
    }
    (void)pthread_detach(thread);
    *out = w;
    return 0;
}

uint64_t ash__jsd_watch_pending(ash_jsd_watch *w)
{
    ash__mutex_lock(&w->mutex);
    bool more = w->initial > 0 || !w->current;
    ash__mutex_unlock(&w->mutex);
    if (!more)
        return 0;
    return w->total > w->told ? w->total - w->told : 1;
}

/* One of those that were there is given only when it is known whether it is the last. */
int ash__jsd_watch_next(ash_jsd_watch *w, ash_object **out, ash_error *err)
{
    int rc = 0;
    *out = NULL;
    ash__mutex_lock(&w->mutex);
    bool known = w->initial == 0 || w->initial > 1 || w->current || w->rc != 0;
    if (w->count > 0 && known) {
        *out = w->objects[w->first++ % ROOM];
        w->count--;
        w->told += w->initial > 0 ? 1 : 0;
        w->initial -= w->initial > 0 ? 1 : 0;
        ash__cond_signal(&w->moved);
    } else if (w->count == 0 && w->rc != 0) {
        rc = w->rc;
        if (err != NULL)
            *err = w->err;
    }
    ash__mutex_unlock(&w->mutex);
    return rc;
}

void ash__jsd_watch_free(ash_jsd_watch *w)
{
    if (w == NULL)
        return;
    ash__mutex_lock(&w->jetstream->mutex);
    w->left = true;
    ash__mutex_unlock(&w->jetstream->mutex);
    __atomic_store_n(&w->cancel, 1, __ATOMIC_RELAXED);
    ash__mutex_lock(&w->mutex);
    w->stop = true;
    ash__cond_broadcast(&w->moved);
    ash__mutex_unlock(&w->mutex);
}

void ash__jsd_watches_end(ash_jetstream *j)
{
    ash__mutex_lock(&j->mutex);
    while (j->watch_count > 0)
        ash__cond_wait(&j->watch_ended, &j->mutex);
    ash__mutex_unlock(&j->mutex);
}
