/* SPDX-License-Identifier: Apache-2.0 */
#include "twin.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "scratch.h"
#include "steps.h"
#include "work.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { AHEAD = 40, MORE_STEPS = 4 };

struct work {
    uint64_t seed;
    uint32_t done[SHARES];    /* acknowledged, or found to be done */
    char *folder;             /* of the twin */
    char **portraits[SHARES]; /* after so many steps */
    uint32_t count;           /* of portraits of each */
};

void work_free(work *w)
{
    if (w == NULL)
        return;
    for (uint32_t i = 0; i < SHARES; i++) {
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
    share *t = NULL;
    int rc = share_open(store, w->seed, thread, &t, &err);
    for (uint32_t n = w->count; rc == 0 && n < until; n++) {
        rc = n > 0 ? share_do(t, n - 1, &err) : 0;
        if (rc == 0)
            rc = share_portrait(t, &portrait, &err);
        if (rc == 0)
            w->portraits[thread][n] = ash__strdup(ash__buffer_text(&portrait));
    }
    if (rc != 0)
        scratch_stop(err.text, "the twin", (int)thread);
    ash__buffer_release(&portrait);
    share_close(t);
}

/* So that it is known what must be there after so many steps. */
static void foresee(work *w, uint32_t steps)
{
    ash_error err = ASH_ERROR_INIT;
    if (steps < w->count)
        return;
    ash_store *store = steps_open_store(w->folder, false, &err);
    REQUIRE(store != NULL);
    for (uint32_t i = 0; i < SHARES; i++) {
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
    REQUIRE(ack[0] < SHARES);
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
    share *t;
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
        k->rc = share_do(k->t, n, &k->err);
        uint32_t ack[2] = {share_thread(k->t), n + 1};
        if (k->rc == 0 && write(k->acks, ack, sizeof ack) != (ssize_t)sizeof ack)
            k->rc = ash__fail(&k->err, ASH_EIO, "cannot acknowledge");
    }
    return NULL;
}

static int run_tasks(work *w, ash_store *store, uint32_t steps, int acks, ash_error *err)
{
    task tasks[SHARES];
    int rc = 0;
    for (uint32_t i = 0; i < SHARES; i++) {
        tasks[i] = (task){.from = w->done[i], .until = w->done[i] + steps, .acks = acks};
        int opened = share_open(store, w->seed, i, &tasks[i].t, err);
        rc = rc == 0 ? opened : rc;
    }
    for (uint32_t i = 0; rc == 0 && i < SHARES; i++)
        ash_assert(ash__thread_start(&tasks[i].thread, 0, run_task, &tasks[i]) == 0);
    bool started = rc == 0;
    for (uint32_t i = 0; i < SHARES; i++) {
        if (started)
            pthread_join(tasks[i].thread, NULL);
        if (tasks[i].rc != 0 && rc == 0) {
            rc = tasks[i].rc;
            *err = tasks[i].err;
        }
        share_close(tasks[i].t);
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

static bool is_portrait(work *w, share *t, uint32_t steps, ash_error *err)
{
    ash_buffer got = ASH_BUFFER_INIT;
    const char *want = w->portraits[share_thread(t)][steps];
    bool same = share_portrait(t, &got, err) == 0;
    if (same && strcmp(ash__buffer_text(&got), want) != 0)
        same = complain(ash__buffer_text(&got), want, err);
    ash__buffer_release(&got);
    return same;
}

/* As acknowledged, or one step on.  Pruning is several commits: what began is brought to its end. */
static bool settle(work *w, share *t, ash_error *err)
{
    uint32_t *done = &w->done[share_thread(t)];
    char what[120];
    if (is_portrait(w, t, *done, err))
        return true;
    bool further = is_portrait(w, t, *done + 1, NULL);
    if (!further && step_is_prune(w->seed, share_thread(t), *done))
        further = share_do(t, *done, err) == 0 && is_portrait(w, t, *done + 1, NULL);
    *done += further;
    step_describe(w->seed, share_thread(t), *done, what, sizeof what);
    if (!further)
        ash__error_prefix(err, "before %s", what);
    return further;
}

static bool go_on_from(work *w, share *t, ash_error *err)
{
    uint32_t *done = &w->done[share_thread(t)];
    bool good = true;
    for (int i = 0; good && i < MORE_STEPS; i++) {
        good = share_do(t, (*done)++, err) == 0;
        good = good && is_portrait(w, t, *done, err);
    }
    return good;
}

typedef bool (*look_fn)(work *w, share *t, ash_error *err);

static bool each_thread(work *w, ash_store *store, look_fn look, ash_error *err)
{
    bool good = true;
    for (uint32_t i = 0; good && i < SHARES; i++) {
        share *t = NULL;
        good = share_open(store, w->seed, i, &t, err) == 0 && look(w, t, err);
        share_close(t);
    }
    return good;
}

static bool clean_up(work *w, share *t, ash_error *err)
{
    return share_clean_up(t, err) && is_portrait(w, t, w->done[share_thread(t)], err);
}

bool work_is_good(work *w, const char *folder, bool go_on, ash_error *err)
{
    for (uint32_t i = 0; i < SHARES; i++)
        foresee(w, w->done[i] + 1 + MORE_STEPS);
    ash_store *store = steps_open_store(folder, false, err);
    bool good = store != NULL && steps_check(store, err) && each_thread(w, store, settle, err) &&
                each_thread(w, store, clean_up, err) && steps_check(store, err);
    if (good && go_on)
        good = each_thread(w, store, go_on_from, err) && each_thread(w, store, clean_up, err) &&
               steps_check(store, err);
    ash_store_close(store);
    return good;
}

uint64_t twin_seed(const work *w)
{
    return w->seed;
}

const char *twin_portrait(const work *w, uint32_t thread)
{
    return w->portraits[thread][w->done[thread]];
}

/* ---- of stores that may be damaged ---- */

enum outcome twin_outcome(const ash_error *err)
{
    return err->code == ASH_ENOTFOUND || err->code == ASH_ENOREVISION ? OUTCOME_MISSING
                                                                      : OUTCOME_REFUSED;
}

static bool is_line_of(const char *portrait, const char *line, size_t len)
{
    for (const char *at = portrait, *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        if ((size_t)(end - at) == len && memcmp(at, line, len) == 0)
            return true;
    return false;
}

enum outcome twin_compare(const work *w, uint32_t thread, const char *got, ash_error *err)
{
    const char *want = twin_portrait(w, thread);
    size_t lines = 0, wanted = 0;
    for (const char *at = want; (at = strchr(at, '\n')) != NULL; at++)
        wanted++;
    for (const char *at = got, *end; (end = strchr(at, '\n')) != NULL && end[1] != 0;
         at = end + 1) {
        lines++;
        if (!is_line_of(want, at, (size_t)(end - at))) {
            ash__fail(err, ASH_ECONDITION, "nobody wrote \"%.*s\"", (int)(end - at), at);
            return OUTCOME_WRONG;
        }
    }
    if (lines + 1 == wanted)
        return OUTCOME_GOOD;
    ash__fail(err, ASH_ENOTFOUND, "%zu lines instead of %zu", lines + 1, wanted);
    return OUTCOME_MISSING;
}
