/* SPDX-License-Identifier: Apache-2.0 */
#include "faulty_store.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct faulty {
    ash_store base;
    ash_store *inner;
    atomic_int countdown;
    atomic_int calls;
    atomic_bool happened;
    bool done;
    int delay_ms;
    int every_ms;
    void (*before)(void *ctx);
    void *before_ctx;
    bool bare;
    bool counts; /* work, of one thread */
    bool inside; /* a transaction, whose work is `now` */
    faulty_work now, most;
    pthread_mutex_t concern_lock;
    bson_t *last_concern; /* guarded by it; or NULL */
} faulty;

static faulty *of(ash_store *store)
{
    return (faulty *)store;
}

/* concern NULL: none was given. */
static void note_concern(faulty *f, const bson_t *concern)
{
    pthread_mutex_lock(&f->concern_lock);
    if (f->last_concern != NULL)
        bson_destroy(f->last_concern);
    f->last_concern = concern != NULL ? bson_copy(concern) : NULL;
    pthread_mutex_unlock(&f->concern_lock);
}

static bool is_due(ash_store *store)
{
    faulty *f = of(store);
    atomic_fetch_add(&f->calls, 1);
    if (f->counts && f->inside)
        f->now.calls++;
    if (f->every_ms > 0)
        ash__clock_sleep_ms(f->every_ms);
    if (atomic_load(&f->countdown) <= 0 || atomic_fetch_sub(&f->countdown, 1) != 1)
        return false;
    atomic_store(&f->happened, true);
    if (f->before != NULL)
        f->before(f->before_ctx);
    if (f->delay_ms > 0)
        ash__clock_sleep_ms(f->delay_ms);
    return f->delay_ms == 0 && f->before == NULL;
}

static int fail(ash_error *err, const char *call)
{
    return ash__fail(err, ASH_ENOSPC, "%s: failed on purpose", call);
}

static int lose(ash_error *err, const char *call)
{
    return ash__fail(err, ASH_EIO, "%s: its result is lost", call);
}

/* One slot: hand the call on, unless it is to fail. */
#define SLOT(name, parameters, arguments)                                                          \
    static int faulty_##name parameters                                                            \
    {                                                                                              \
        ash_store *inner = of(store)->inner;                                                       \
        bool due = is_due(store);                                                                  \
        if (due && !of(store)->done)                                                               \
            return fail(err, #name);                                                               \
        int rc = inner->ops->name arguments;                                                       \
        return due && rc == 0 ? lose(err, #name) : rc;                                             \
    }

/* One whose output the caller would not release after a failure. */
#define GIVING_SLOT(name, parameters, arguments)                                                   \
    static int faulty_##name parameters                                                            \
    {                                                                                              \
        ash_store *inner = of(store)->inner;                                                       \
        return is_due(store) ? fail(err, #name) : inner->ops->name arguments;                      \
    }

SLOT(create,
     (ash_store * store, ash_ns ns, const bson_t *options, const ash_op *op, ash_error *err),
     (inner, ns, options, op, err))
SLOT(drop, (ash_store * store, ash_ns ns, const ash_op *op, ash_error *err), (inner, ns, op, err))
SLOT(rename,
     (ash_store * store, ash_ns ns, ash_ns to, bool drop_target, const ash_op *op, ash_error *err),
     (inner, ns, to, drop_target, op, err))
GIVING_SLOT(find,
            (ash_store * store, ash_ns ns, const bson_t *filter, const ash_find_options *opts,
             ash_cursor **out, ash_error *err),
            (inner, ns, filter, opts, out, err))
GIVING_SLOT(aggregate,
            (ash_store * store, ash_ns ns, const bson_t *pipeline,
             const ash_aggregate_options *opts, ash_cursor **out, ash_error *err),
            (inner, ns, pipeline, opts, out, err))
SLOT(count,
     (ash_store * store, ash_ns ns, const bson_t *filter, const ash_count_options *opts,
      int64_t *out, ash_error *err),
     (inner, ns, filter, opts, out, err))
SLOT(insert,
     (ash_store * store, ash_ns ns, const ash_doc_list *list, const ash_insert_options *opts,
      ash_write_result *result, ash_error *err),
     (inner, ns, list, opts, result, err))
SLOT(update,
     (ash_store * store, ash_ns ns, const ash_update_request *request,
      const ash_update_options *opts, ash_write_result *result, ash_error *err),
     (inner, ns, request, opts, result, err))
static int faulty_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                         const ash_remove_options *opts, ash_write_result *result, ash_error *err)
{
    ash_store *inner = of(store)->inner;
    bool due = is_due(store);
    if (due && !of(store)->done)
        return fail(err, "remove");
    int rc = inner->ops->remove(inner, ns, filter, opts, result, err);
    if (of(store)->counts)
        of(store)->now.removed += result->deleted;
    return due && rc == 0 ? lose(err, "remove") : rc;
}

static int faulty_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                                  const ash_find_and_modify_options *opts,
                                  const ash_modify_answer *answer, ash_error *err)
{
    ash_store *inner = of(store)->inner;
    note_concern(of(store), opts->op.write_concern);
    if (is_due(store))
        return fail(err, "find_and_modify");
    return inner->ops->find_and_modify(inner, ns, filter, opts, answer, err);
}
GIVING_SLOT(create_indexes,
            (ash_store * store, ash_ns ns, const bson_t *specs, const ash_op *op, bson_t *reply,
             ash_error *err),
            (inner, ns, specs, op, reply, err))
GIVING_SLOT(list_indexes,
            (ash_store * store, ash_ns ns, const ash_op *op, ash_cursor **out, ash_error *err),
            (inner, ns, op, out, err))
GIVING_SLOT(maintain,
            (ash_store * store, const bson_t *action, ash_progress_fn progress, void *ctx,
             bson_t *out, ash_error *err),
            (inner, action, progress, ctx, out, err))

typedef struct inside {
    ash_store *store;
    ash_transact_fn fn;
    void *ctx;
} inside;

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void begin_work(faulty *f)
{
    if (!f->counts)
        return;
    f->now = (faulty_work){0};
    f->inside = true;
}

static void end_work(faulty *f)
{
    if (!f->counts)
        return;
    f->inside = false;
    f->most.calls = more(f->most.calls, f->now.calls);
    f->most.removed = more(f->most.removed, f->now.removed);
    f->most.transactions++;
}

/* Operations of the transaction name the store that it was begun on: this one. */
static int run_inside(ash_transaction *t, void *ctx, ash_error *err)
{
    const inside *in = ctx;
    ash_store *inner = t->store;
    t->store = in->store;
    begin_work(of(in->store));
    int result = in->fn(t, in->ctx, err);
    t->store = inner;
    end_work(of(in->store));
    /* The commit is a step like any other to whoever is stopped before it. */
    if (result == 0 && of(in->store)->before != NULL)
        (void)is_due(in->store);
    return result;
}

static int hand_on(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                   ash_error *err)
{
    inside in = {store, fn, ctx};
    ash_store *inner = of(store)->inner;
    return inner->ops->transact(inner, run_inside, &in, op, err);
}

static int faulty_look(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err)
{
    inside in = {store, fn, ctx};
    ash_store *inner = of(store)->inner;
    if (is_due(store) && !of(store)->done)
        return fail(err, "look");
    return inner->ops->look(inner, run_inside, &in, op, err);
}

static int faulty_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                           ash_error *err)
{
    bool due = is_due(store);
    if (due && !of(store)->done)
        return fail(err, "transact");
    int rc = hand_on(store, fn, ctx, op, err);
    return due && rc == 0 ? lose(err, "transact") : rc;
}

SLOT(time, (ash_store * store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err),
     (inner, wall_ms, operation_time, err))
static int faulty_capabilities(ash_store *store, ash_capabilities *out, ash_error *err)
{
    ash_store *inner = of(store)->inner;
    if (is_due(store))
        return fail(err, "capabilities");
    int rc = inner->ops->capabilities(inner, out, err);
    if (rc == 0 && of(store)->bare)
        *out = (ash_capabilities){.backend = "mongodb"};
    return rc;
}

SLOT(hold, (ash_store * store, uint64_t time, const ash_op *op, uint64_t *out, ash_error *err),
     (inner, time, op, out, err))
SLOT(flush, (ash_store * store, const ash_op *op, ash_error *err), (inner, op, err))

/* Slots that buckets do not use stay NULL: a call of one ends the test. */
static const ash_store_ops faulty_ops = {
    .capabilities = faulty_capabilities,
    .create = faulty_create,
    .drop = faulty_drop,
    .rename = faulty_rename,
    .find = faulty_find,
    .aggregate = faulty_aggregate,
    .count = faulty_count,
    .insert = faulty_insert,
    .update = faulty_update,
    .remove = faulty_remove,
    .find_and_modify = faulty_find_and_modify,
    .create_indexes = faulty_create_indexes,
    .list_indexes = faulty_list_indexes,
    .transact = faulty_transact,
    .time = faulty_time,
    .hold = faulty_hold,
    .flush = faulty_flush,
    .maintain = faulty_maintain,
    .look = faulty_look,
};

ash_store *faulty_store_new(ash_store *inner)
{
    faulty *f = ash__new(faulty);
    f->base = *inner;
    f->base.ops = &faulty_ops;
    f->inner = inner;
    pthread_mutex_init(&f->concern_lock, NULL);
    return &f->base;
}

void faulty_store_free(ash_store *store)
{
    note_concern(of(store), NULL);
    pthread_mutex_destroy(&of(store)->concern_lock);
    ash__free(of(store));
}

void faulty_store_set(ash_store *store, int n, bool done, int delay_ms)
{
    faulty *f = of(store);
    f->done = done;
    f->delay_ms = delay_ms;
    f->before = NULL;
    atomic_store(&f->happened, false);
    atomic_store(&f->countdown, n);
}

int faulty_store_calls(const ash_store *store)
{
    return atomic_load(&((const faulty *)store)->calls);
}

void faulty_store_slow(ash_store *store, int every_ms)
{
    of(store)->every_ms = every_ms;
}

bool faulty_store_happened(const ash_store *store)
{
    return atomic_load(&((const faulty *)store)->happened);
}

void faulty_store_before(ash_store *store, int n, void (*fn)(void *ctx), void *ctx)
{
    faulty_store_set(store, 0, false, 0);
    of(store)->before = fn;
    of(store)->before_ctx = ctx;
    atomic_store(&of(store)->countdown, n);
}

void faulty_store_bare(ash_store *store)
{
    of(store)->bare = true;
}

const bson_t *faulty_store_write_concern(const ash_store *store)
{
    return ((const faulty *)store)->last_concern;
}

void faulty_store_count(ash_store *store)
{
    of(store)->counts = true;
}

faulty_work faulty_store_work(const ash_store *store)
{
    return ((const faulty *)store)->most;
}
