/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "scratch.h"
#include "steps.h"
#include "tree_steps.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Trees.  What must be there after each step is asked of a twin: the same steps, done to a store
 * that nobody interrupts.  It is open only while it does some, since its owner forks. */

enum { AHEAD = 40, MORE_STEPS = 4 };

struct work {
    uint64_t seed;
    uint32_t done[TREE_THREADS];    /* acknowledged, or found to be done */
    char *folder;                   /* of the twin */
    char **portraits[TREE_THREADS]; /* after so many steps */
    uint32_t count;                 /* of portraits of each */
};

void work_free(work *w)
{
    if (w == NULL)
        return;
    for (uint32_t i = 0; i < TREE_THREADS; i++) {
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
    tree_worker t;
    int rc = tree_worker_open(&t, store, w->seed, thread, &err);
    for (uint32_t n = w->count; rc == 0 && n < until; n++) {
        rc = n > 0 ? tree_worker_do(&t, n - 1, &err) : 0;
        if (rc == 0)
            rc = tree_portrait(t.tree, &portrait, &err);
        if (rc == 0)
            w->portraits[thread][n] = ash__strdup(ash__buffer_text(&portrait));
    }
    if (rc != 0)
        scratch_stop(err.text, "the twin", (int)thread);
    ash__buffer_release(&portrait);
    tree_worker_close(&t);
}

/* So that it is known what must be there after so many steps. */
static void foresee(work *w, uint32_t steps)
{
    ash_error err = ASH_ERROR_INIT;
    if (steps < w->count)
        return;
    ash_store *store = steps_open_store(w->folder, false, &err);
    REQUIRE(store != NULL);
    for (uint32_t i = 0; i < TREE_THREADS; i++) {
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
    REQUIRE(ack[0] < TREE_THREADS);
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
    tree_worker t;
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
        k->rc = tree_worker_do(&k->t, n, &k->err);
        uint32_t ack[2] = {k->t.thread, n + 1};
        if (k->rc == 0 && write(k->acks, ack, sizeof ack) != (ssize_t)sizeof ack)
            k->rc = ash__fail(&k->err, ASH_EIO, "cannot acknowledge");
    }
    return NULL;
}

static int run_tasks(work *w, ash_store *store, uint32_t steps, int acks, ash_error *err)
{
    task tasks[TREE_THREADS];
    int rc = 0;
    for (uint32_t i = 0; i < TREE_THREADS; i++) {
        tasks[i] = (task){.from = w->done[i], .until = w->done[i] + steps, .acks = acks};
        int opened = tree_worker_open(&tasks[i].t, store, w->seed, i, err);
        rc = rc == 0 ? opened : rc;
    }
    for (uint32_t i = 0; rc == 0 && i < TREE_THREADS; i++)
        ash_assert(ash__thread_start(&tasks[i].thread, 0, run_task, &tasks[i]) == 0);
    bool started = rc == 0;
    for (uint32_t i = 0; i < TREE_THREADS; i++) {
        if (started)
            pthread_join(tasks[i].thread, NULL);
        if (tasks[i].rc != 0 && rc == 0) {
            rc = tasks[i].rc;
            *err = tasks[i].err;
        }
        tree_worker_close(&tasks[i].t);
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

static bool is_portrait(work *w, tree_worker *t, uint32_t steps, ash_error *err)
{
    ash_buffer got = ASH_BUFFER_INIT;
    const char *want = w->portraits[t->thread][steps];
    bool same = tree_portrait(t->tree, &got, err) == 0;
    if (same && strcmp(ash__buffer_text(&got), want) != 0)
        same = complain(ash__buffer_text(&got), want, err);
    ash__buffer_release(&got);
    return same;
}

/* As acknowledged, or one step on.  Pruning is several commits: what began is brought to its end. */
static bool settle(work *w, tree_worker *t, ash_error *err)
{
    uint32_t *done = &w->done[t->thread];
    char what[120];
    if (is_portrait(w, t, *done, err))
        return true;
    bool further = is_portrait(w, t, *done + 1, NULL);
    if (!further && tree_step_is_prune(w->seed, t->thread, *done))
        further = tree_worker_do(t, *done, err) == 0 && is_portrait(w, t, *done + 1, NULL);
    *done += further;
    tree_step_describe(w->seed, t->thread, *done, what, sizeof what);
    if (!further)
        ash__error_prefix(err, "before %s", what);
    return further;
}

/* What was on its way is not in the way. */
static bool clean_up(tree_worker *t, ash_error *err)
{
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_sweep_options s = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report swept = ASH_SWEEP_REPORT_INIT;
    ash_bucket *bucket = NULL;
    int64_t gone = 0;
    o.bucket_name = "v7.fs";
    s.min_age_s = -1;
    int rc = ash_bucket_new(t->store, &o, &bucket, err);
    if (rc == 0)
        rc = ash_bucket_sweep(bucket, &s, &swept, err);
    if (rc == 0)
        rc = tree_collect(t->tree, &gone, err);
    if (rc == 0)
        rc = tree_collect(t->tree, &gone, err);
    ash_bucket_free(bucket);
    if (rc == 0 && gone > 0)
        rc = ash__fail(err, ASH_ECONDITION, "a collection left %lld contents", (long long)gone);
    return rc == 0;
}

static bool go_on_from(work *w, tree_worker *t, ash_error *err)
{
    uint32_t *done = &w->done[t->thread];
    bool good = true;
    for (int i = 0; good && i < MORE_STEPS; i++) {
        good = tree_worker_do(t, (*done)++, err) == 0;
        good = good && is_portrait(w, t, *done, err);
    }
    return good;
}

typedef bool (*look_fn)(work *w, tree_worker *t, ash_error *err);

static bool stay(work *w, tree_worker *t, ash_error *err)
{
    return is_portrait(w, t, w->done[t->thread], err);
}

static bool each_thread(work *w, ash_store *store, look_fn look, ash_error *err)
{
    bool good = true;
    for (uint32_t i = 0; good && i < TREE_THREADS; i++) {
        tree_worker t;
        good = tree_worker_open(&t, store, w->seed, i, err) == 0 && look(w, &t, err);
        tree_worker_close(&t);
    }
    return good;
}

static bool check_and_collect(work *w, ash_store *store, ash_error *err)
{
    tree_worker t;
    bool good = tree_worker_open(&t, store, w->seed, 0, err) == 0 && tree_is_sound(t.tree, err) &&
                clean_up(&t, err) && tree_is_sound(t.tree, err);
    tree_worker_close(&t);
    return good && each_thread(w, store, stay, err) && steps_check(store, err);
}

bool work_is_good(work *w, const char *folder, bool go_on, ash_error *err)
{
    for (uint32_t i = 0; i < TREE_THREADS; i++)
        foresee(w, w->done[i] + 1 + MORE_STEPS);
    ash_store *store = steps_open_store(folder, false, err);
    bool good = store != NULL && steps_check(store, err) && each_thread(w, store, settle, err) &&
                check_and_collect(w, store, err);
    if (good && go_on)
        good = each_thread(w, store, go_on_from, err) && check_and_collect(w, store, err);
    ash_store_close(store);
    return good;
}

/* ---- reading what may be damaged ---- */

static enum outcome outcome_of(const ash_error *err)
{
    return err->code == ASH_ENOTFOUND || err->code == ASH_ENOREVISION ? OUTCOME_MISSING
                                                                      : OUTCOME_REFUSED;
}

static bool is_line_of(const char *portrait, const char *line, size_t len)
{
    for (const char *at = portrait; (at = strstr(at, line)) != NULL; at++)
        if ((at == portrait || at[-1] == '\n') && at[len] == '\n')
            return true;
    return false;
}

/* Each line is one of the sound tree's; the last one counts them, and is not compared. */
static enum outcome compare_lines(char *got, const char *want, ash_error *err)
{
    size_t lines = 0, wanted = 0;
    for (const char *at = want; (at = strchr(at, '\n')) != NULL; at++)
        wanted++;
    for (char *at = got, *end; (end = strchr(at, '\n')) != NULL && end[1] != 0; at = end + 1) {
        *end = 0;
        lines++;
        if (!is_line_of(want, at, (size_t)(end - at))) {
            ash__fail(err, ASH_ECONDITION, "nobody wrote \"%s\"", at);
            return OUTCOME_WRONG;
        }
    }
    if (lines + 1 == wanted)
        return OUTCOME_GOOD;
    ash__fail(err, ASH_ENOTFOUND, "%zu lines instead of %zu", lines + 1, wanted);
    return OUTCOME_MISSING;
}

static enum outcome read_bytes(ash_tree *tree, const ash_tree_entry *e, ash_error *err)
{
    static uint8_t buf[65536];
    ash_tree_reader *r = NULL;
    ash_digest *digest = ash__digest_new(ASH_DIGEST_SHA256);
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[ASH_DIGEST_TEXT_BYTES];
    size_t got = 1;
    int rc = ash_tree_open_entry(tree, e, NULL, NULL, &r, err);
    while (rc == 0 && got > 0) {
        rc = ash_tree_reader_read(r, buf, sizeof buf, &got, err);
        ash__digest_add(digest, buf, rc == 0 ? got : 0);
    }
    size_t len = ash__digest_finish(digest, bytes);
    for (size_t i = 0; i < len; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    ash__digest_free(digest);
    ash_tree_reader_free(r);
    if (rc != 0)
        return outcome_of(err);
    if (strcmp(hex, ash_tree_entry_digest(e)) == 0)
        return OUTCOME_GOOD;
    ash__fail(err, ASH_ECONDITION, "other bytes of %s", ash_tree_entry_path(e));
    return OUTCOME_WRONG;
}

static enum outcome read_versions(ash_tree *tree, const char *path, ash_error *err)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    enum outcome out = OUTCOME_GOOD;
    int rc = ash_tree_history(tree, path, 0, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        if (!ash_tree_entry_is_folder(e) && !ash_tree_entry_is_deleted(e))
            out = outcome_worse(out, read_bytes(tree, e, err));
    ash_tree_listing_free(l);
    return rc == 0 ? out : outcome_worse(out, outcome_of(err));
}

static enum outcome read_root(ash_tree *tree, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    enum outcome out = OUTCOME_GOOD;
    o.recursive = true;
    int rc = ash_tree_list(tree, "", &o, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        out = outcome_worse(out, read_versions(tree, ash_tree_entry_path(e), err));
    ash_tree_listing_free(l);
    return rc == 0 ? out : outcome_worse(out, outcome_of(err));
}

static enum outcome read_thread(work *w, ash_store *store, uint32_t thread, ash_error *err)
{
    ash_buffer got = ASH_BUFFER_INIT;
    tree_worker t;
    enum outcome out;
    int rc = tree_worker_open(&t, store, w->seed, thread, err);
    if (rc == 0)
        rc = tree_portrait(t.tree, &got, err);
    if (rc == 0) {
        char *text = ash__strdup(ash__buffer_text(&got));
        out = compare_lines(text, w->portraits[thread][w->done[thread]], err);
        ash__free(text);
    } else {
        out = outcome_of(err);
    }
    if (t.tree != NULL && out != OUTCOME_WRONG)
        out = outcome_worse(out, read_root(t.tree, err));
    ash__buffer_release(&got);
    tree_worker_close(&t);
    return out;
}

enum outcome work_read(work *w, const char *folder, ash_error *err)
{
    enum outcome out = OUTCOME_GOOD;
    ash_store *store = steps_open_store(folder, true, err);
    if (store == NULL)
        return OUTCOME_REFUSED;
    for (uint32_t i = 0; i < TREE_THREADS && out != OUTCOME_WRONG; i++)
        out = outcome_worse(out, read_thread(w, store, i, err));
    ash_store_close(store);
    return out;
}
