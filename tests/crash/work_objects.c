/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "object_steps.h"
#include "scratch.h"
#include "steps.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Object stores.  What must be there after each step is asked of a twin, as with trees. */

enum { AHEAD = 40, MORE_STEPS = 4 };

struct work {
    uint64_t seed;
    uint32_t done[OBJECT_THREADS];    /* acknowledged, or found to be done */
    char *folder;                     /* of the twin */
    char **portraits[OBJECT_THREADS]; /* after so many steps */
    uint32_t count;                   /* of portraits of each */
};

void work_free(work *w)
{
    if (w == NULL)
        return;
    for (uint32_t i = 0; i < OBJECT_THREADS; i++) {
        for (uint32_t n = 0; n < w->count; n++)
            ash__free(w->portraits[i][n]);
        ash__free(w->portraits[i]);
    }
    remove_folder(w->folder);
    ash__free(w->folder);
    ash__free(w);
}

/* ---- the twin ---- */

static void portray_twin(work *w, ash_store *store, uint32_t thread, uint32_t until)
{
    ash_error err = ASH_ERROR_INIT;
    ash_buffer portrait = ASH_BUFFER_INIT;
    object_worker t;
    int rc = object_worker_open(&t, store, w->seed, thread, &err);
    for (uint32_t n = w->count; rc == 0 && n < until; n++) {
        rc = n > 0 ? object_worker_do(&t, n - 1, &err) : 0;
        if (rc == 0)
            rc = object_portrait(&t, &portrait, &err);
        if (rc == 0)
            w->portraits[thread][n] = ash__strdup(ash__buffer_text(&portrait));
    }
    if (rc != 0)
        scratch_stop(err.text, "the twin", (int)thread);
    ash__buffer_release(&portrait);
    object_worker_close(&t);
}

/* So that it is known what must be there after so many steps. */
static void foresee(work *w, uint32_t steps)
{
    ash_error err = ASH_ERROR_INIT;
    if (steps < w->count)
        return;
    ash_store *store = steps_open_store(w->folder, false, &err);
    REQUIRE(store != NULL);
    for (uint32_t i = 0; i < OBJECT_THREADS; i++) {
        w->portraits[i] =
            ash__realloc_array(w->portraits[i], steps + AHEAD, sizeof *w->portraits[i]);
        portray_twin(w, store, i, steps + AHEAD);
    }
    w->count = steps + AHEAD;
    ash_store_close(store);
}

work *work_new(uint64_t seed)
{
    work *w = ash__new(work);
    w->seed = seed;
    w->folder = scratch_new();
    foresee(w, 1 + MORE_STEPS);
    return w;
}

void work_acknowledge(work *w, const uint32_t ack[2])
{
    REQUIRE(ack[0] < OBJECT_THREADS);
    if (ack[1] > w->done[ack[0]])
        w->done[ack[0]] = ack[1];
    foresee(w, w->done[ack[0]] + 1 + MORE_STEPS);
}

void work_interrupt(work *w)
{
    (void)w; /* an interrupted step is simply done again */
}

/* ---- working ---- */

typedef struct task {
    object_worker t;
    uint32_t from, until;
    int acks;
    int rc;
    ash_error err;
    pthread_t thread;
} task;

static void *run_task(void *arg)
{
    task *k = arg;
    for (uint32_t n = k->from; k->rc == 0 && n < k->until; n++) {
        k->rc = object_worker_do(&k->t, n, &k->err);
        uint32_t ack[2] = {k->t.thread, n + 1};
        if (k->rc == 0 && write(k->acks, ack, sizeof ack) != (ssize_t)sizeof ack)
            k->rc = ash__fail(&k->err, ASH_EIO, "cannot acknowledge");
    }
    return NULL;
}

static int run_tasks(work *w, ash_store *store, uint32_t steps, int acks, ash_error *err)
{
    task tasks[OBJECT_THREADS];
    int rc = 0;
    for (uint32_t i = 0; i < OBJECT_THREADS; i++) {
        tasks[i] = (task){.from = w->done[i], .until = w->done[i] + steps, .acks = acks};
        int opened = object_worker_open(&tasks[i].t, store, w->seed, i, err);
        rc = rc == 0 ? opened : rc;
    }
    bool started = rc == 0;
    for (uint32_t i = 0; started && i < OBJECT_THREADS; i++)
        ash_assert(ash__thread_start(&tasks[i].thread, 0, run_task, &tasks[i]) == 0);
    for (uint32_t i = 0; i < OBJECT_THREADS; i++) {
        if (started)
            pthread_join(tasks[i].thread, NULL);
        if (tasks[i].rc != 0 && rc == 0) {
            rc = tasks[i].rc;
            *err = tasks[i].err;
        }
        object_worker_close(&tasks[i].t);
        w->done[i] += steps;
    }
    return rc;
}

int work_do(work *w, const work_options *opts, ash_error *err)
{
    int rc = 0;
    for (uint32_t i = 0, done = 0; rc == 0 && i <= opts->reopens; i++) {
        uint32_t until = opts->steps * (i + 1) / (opts->reopens + 1);
        ash_store *store = steps_open_store(opts->folder, false, err);
        if (store == NULL)
            return err->code;
        rc = run_tasks(w, store, until - done, opts->acks, err);
        done = until;
        ash_store_close(store);
    }
    return rc;
}

/* ---- looking ---- */

static bool complain(const char *got, const char *want, ash_error *err)
{
    size_t at = 0;
    for (size_t i = 0; got[i] == want[i] && got[i] != 0; i++)
        if (got[i] == '\n')
            at = i + 1;
    ash__fail(err, ASH_ECONDITION, "there is \"%.*s\" instead of \"%.*s\"",
              (int)strcspn(got + at, "\n"), got + at, (int)strcspn(want + at, "\n"), want + at);
    return false;
}

static bool is_portrait(work *w, object_worker *t, uint32_t steps, ash_error *err)
{
    ash_buffer got = ASH_BUFFER_INIT;
    const char *want = w->portraits[t->thread][steps];
    bool same = object_portrait(t, &got, err) == 0;
    if (same && strcmp(ash__buffer_text(&got), want) != 0)
        same = complain(ash__buffer_text(&got), want, err);
    ash__buffer_release(&got);
    return same;
}

/* As acknowledged, or one step on.  Pruning is several commits: what began is brought to its end. */
static bool settle(work *w, object_worker *t, ash_error *err)
{
    uint32_t *done = &w->done[t->thread];
    char what[120];
    if (is_portrait(w, t, *done, err))
        return true;
    bool further = is_portrait(w, t, *done + 1, NULL);
    if (!further && object_step_is_prune(w->seed, t->thread, *done))
        further = object_worker_do(t, *done, err) == 0 && is_portrait(w, t, *done + 1, NULL);
    *done += further;
    object_step_describe(w->seed, t->thread, *done, what, sizeof what);
    if (!further)
        ash__error_prefix(err, "before %s", what);
    return further;
}

static bool go_on_from(work *w, object_worker *t, ash_error *err)
{
    uint32_t *done = &w->done[t->thread];
    bool good = true;
    for (int i = 0; good && i < MORE_STEPS; i++) {
        good = object_worker_do(t, (*done)++, err) == 0;
        good = good && is_portrait(w, t, *done, err);
    }
    return good;
}

/* What was on its way goes with a sweep, and nothing else does. */
static bool sweep_and_read(work *w, object_worker *t, ash_error *err)
{
    int64_t left = 0;
    bool good = object_read_all(t, err) == 0 && object_sweep(t, &left, err) == 0;
    if (good && left != 0) {
        ash__fail(err, ASH_ECONDITION, "a sweep left %lld that nobody has", (long long)left);
        good = false;
    }
    return good && object_read_all(t, err) == 0 && is_portrait(w, t, w->done[t->thread], err);
}

typedef bool (*look_fn)(work *w, object_worker *t, ash_error *err);

static bool each_thread(work *w, ash_store *store, look_fn look, ash_error *err)
{
    bool good = true;
    for (uint32_t i = 0; good && i < OBJECT_THREADS; i++) {
        object_worker t;
        good = object_worker_open(&t, store, w->seed, i, err) == 0 && look(w, &t, err);
        object_worker_close(&t);
    }
    return good;
}

bool work_is_good(work *w, const char *folder, bool go_on, ash_error *err)
{
    for (uint32_t i = 0; i < OBJECT_THREADS; i++)
        foresee(w, w->done[i] + 1 + MORE_STEPS);
    ash_store *store = steps_open_store(folder, false, err);
    bool good = store != NULL && steps_check(store, err) && each_thread(w, store, settle, err) &&
                each_thread(w, store, sweep_and_read, err);
    if (good && go_on)
        good = each_thread(w, store, go_on_from, err) &&
               each_thread(w, store, sweep_and_read, err) && steps_check(store, err);
    ash_store_close(store);
    return good;
}
