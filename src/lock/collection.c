/* SPDX-License-Identifier: Apache-2.0 */
/* A lock collection: its index, its two collections of documents, its three threads. */
#include "lock/lock.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>
#include <unistd.h>

#define POLL_MS_DEFAULT  5000
#define LEASE_MS_DEFAULT 30000
#define OPEN_MS          10000 /* for a server to answer in, beside what a lock may wait */

/* Unique, since a resource that was never locked gets its document by an upsert: of two that come
 * at once, the index refuses one. */
static int make_index(ash_lock_collection *c, ash_error *err)
{
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "files_id", BCON_INT32(1), "}", "name",
                             BCON_UTF8("files_id_1"), "unique", BCON_BOOL(true), "}");
    if (c->remote)
        ash__lock_limit(ash__clock_ms() + c->settings.time_out_ms + OPEN_MS, NULL);
    ash_op op = ash__lock_op(c);
    int rc = ash_collection_create_indexes(c->locks, specs, &op, NULL, err);
    ash__lock_limit(0, NULL);
    bson_destroy(specs);
    return rc;
}

static int take_options(ash_lock_collection *c, const ash_lock_options *o, ash_error *err)
{
    const ash_lock_settings defaults = {
        .lease_ms = LEASE_MS_DEFAULT, .poll_ms = POLL_MS_DEFAULT, .grace_ms = 2 * POLL_MS_DEFAULT};
    c->db = ash__strdup(o->db != NULL ? o->db : ash_store_default_db(c->store));
    c->name = ash__sprintf("%s.locks", o->root != NULL ? o->root : "fs");
    c->write_concern = o->write_concern != NULL ? bson_copy(o->write_concern) : NULL;
    c->fn = o->on_event;
    c->fn_ctx = o->event_ctx;
    c->pid = (int32_t)getpid();
    /* One byte less than there is: a longer name comes without its NUL. */
    if (gethostname(c->host, sizeof c->host - 1) != 0)
        strncpy(c->host, "unknown", sizeof c->host - 1);
    return ash__lock_settings_from(o, &defaults, &c->settings, err);
}

static int open_collections(ash_lock_collection *c, const ash_lock_options *o, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    char *sequence = ash__sprintf("%s.lockseq", o->root != NULL ? o->root : "fs");
    int rc = ash_store_capabilities(c->store, &can, err);
    if (rc == 0)
        rc = ash_collection_new(c->store, c->db, c->name, &c->locks, err);
    if (rc == 0)
        rc = ash_collection_new(c->store, c->db, sequence, &c->sequence, err);
    ash__free(sequence);
    if (rc == 0)
        c->can_watch = can.watch;
    return rc;
}

static int start_threads(ash_lock_collection *c, ash_error *err)
{
    pthread_t *const threads[] = {&c->watcher, &c->timer, &c->worker};
    void *(*const runs[])(void *) = {ash__lock_watcher, ash__lock_timer, ash__lock_worker};
    for (; c->threads < 3; c->threads++) {
        int failed = ash__thread_start(threads[c->threads], 0, runs[c->threads], c);
        if (failed != 0)
            return ash__fail_errno(err, failed, "cannot start a thread for locks");
    }
    return 0;
}

static void tell(ash_lock_collection *c, ash_lock_event_kind kind, const ash_error *why)
{
    ash_lock_event event = {.size = sizeof event, .kind = kind};
    if (why != NULL)
        event.error = *why;
    if (c->fn != NULL)
        c->fn(c->fn_ctx, NULL, &event);
}

int ash_lock_collection_open(ash_store *store, const ash_lock_options *opts,
                             ash_lock_collection **out, ash_error *err)
{
    ash_lock_options o;
    ash_error why = ASH_ERROR_INIT;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc != 0)
        return rc;
    ash_lock_collection *c = ash__new(ash_lock_collection);
    c->store = store;
    c->next_due_ms = ASH_LOCK_NEVER;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    /* Who cannot say counts as remote: then operations have time limits. */
    c->remote = ash_store_capabilities(store, &can, NULL) != 0 || !can.in_process;
    ash__mutex_init(&c->mutex, ASH_RANK_LOCK);
    ash__cond_init(&c->watcher_wake);
    ash__cond_init(&c->timer_wake);
    ash__cond_init(&c->worker_wake);
    rc = ash__lock_programs_init(&c->programs, &why);
    if (rc == 0)
        rc = take_options(c, &o, &why);
    if (rc == 0)
        rc = open_collections(c, &o, &why);
    if (rc == 0)
        rc = make_index(c, &why);
    if (rc == ASH_EREADONLY) /* the locks can be listed all the same */
        rc = 0;
    if (rc == 0) {
        ash__lock_measure_clock(c);
        rc = start_threads(c, &why);
    }
    tell(c, rc == 0 ? ASH_LOCK_READY : ASH_LOCK_ERROR, rc == 0 ? NULL : &why);
    if (rc == 0) {
        *out = c;
        return 0;
    }
    /* With as many threads as were started, and whatever else is there by now. */
    ash_lock_collection_close(c);
    if (err != NULL)
        *err = why;
    return rc;
}

static void join_threads(ash_lock_collection *c)
{
    pthread_t threads[] = {c->watcher, c->timer, c->worker};
    ash__mutex_lock(&c->mutex);
    __atomic_store_n(&c->closing, 1, __ATOMIC_RELAXED); /* operations look without the mutex */
    ash__cond_broadcast(&c->watcher_wake);
    ash__cond_broadcast(&c->timer_wake);
    ash__cond_broadcast(&c->worker_wake);
    ash__mutex_unlock(&c->mutex);
    for (int i = 0; i < c->threads; i++)
        pthread_join(threads[i], NULL);
}

void ash_lock_collection_close(ash_lock_collection *c)
{
    if (c == NULL)
        return;
    ash_assert(c->open == NULL);
    /* The worker gives back what expired before it ends. */
    join_threads(c);
    ash_collection_free(c->locks);
    ash_collection_free(c->sequence);
    ash__lock_programs_release(&c->programs);
    if (c->settings.meta != NULL)
        bson_destroy(c->settings.meta);
    if (c->write_concern != NULL)
        bson_destroy(c->write_concern);
    ash__cond_release(&c->watcher_wake);
    ash__cond_release(&c->timer_wake);
    ash__cond_release(&c->worker_wake);
    ash__mutex_release(&c->mutex);
    ash__free(c->db);
    ash__free(c->name);
    ash__free(c);
}
