/* SPDX-License-Identifier: Apache-2.0 */
#include "kills.h"

#include "work.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_US = 400000 };

/* Shared with the child. */
typedef struct page {
    atomic_uint_least64_t done;
    bson_oid_t ids[NODES_MAX];
    bool known[NODES_MAX];
} page;

typedef struct run {
    worker w;
    page *page;
    const char *folder;
    uint64_t seed, round, kills, further, steps;
} run;

static void *collect(void *ctx)
{
    ash_tree_collect_report report;
    ash_error err = ASH_ERROR_INIT;
    while (work_collect(ctx, &report, &err))
        usleep(1000 * 15);
    fflush(stdout);
    _exit(1);
}

static rng steps_of(const run *k)
{
    return rng_for(k->seed, 1000 + k->round);
}

static _Noreturn void work_until_killed(run *k)
{
    pthread_t collector;
    rng r = steps_of(k);
    worker *w = &k->w;
    if (!work_open(w, k->folder, 0) || pthread_create(&collector, NULL, collect, w->tree) != 0)
        _exit(1);
    for (;;) {
        step s = model_next(&w->m, &r, w->moments, w->moment_count);
        if (!work_step(w, &s)) {
            fflush(stdout);
            _exit(1);
        }
        atomic_fetch_add(&k->page->done, 1);
        if (!work_learn(w)) {
            fflush(stdout);
            _exit(1);
        }
    }
}

/* Brings the model to where the store is. */
static bool settle(run *k)
{
    worker *w = &k->w;
    rng r = steps_of(k);
    uint64_t done = atomic_load(&k->page->done);
    for (uint64_t i = 0; i < done; i++) {
        step s = model_next(&w->m, &r, w->moments, w->moment_count);
        model_apply(&w->m, &s);
    }
    k->steps += done;
    if (!work_compare(w, false, false)) {
        step s = model_next(&w->m, &r, w->moments, w->moment_count);
        model_apply(&w->m, &s);
        k->further++;
    }
    return work_compare(w, true, true) && work_learn(w) && work_remember(w);
}

static bool one_kill(run *k)
{
    int status = 0;
    atomic_store(&k->page->done, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        work_until_killed(k);
    usleep(20000 + rng_below(&k->w.r, LONGEST_US));
    kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        return false;
    k->kills++;
    bool same = work_open(&k->w, k->folder, 0) && settle(k);
    if (same && k->kills % 8 == 0)
        same = work_settled(&k->w, 0);
    if (k->w.tree != NULL)
        work_close(&k->w);
    k->round++;
    return same;
}

bool kills_run(uint64_t seed, int64_t seconds, const char *folder)
{
    run k = {.seed = seed, .folder = folder};
    struct timespec t;
    bool same = true;
    k.w.r = rng_for(seed, 7);
    k.page = mmap(NULL, sizeof *k.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (k.page == MAP_FAILED)
        abort();
    k.w.ids = k.page->ids;
    k.w.known = k.page->known;
    model_init(&k.w.m);
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (int64_t until = t.tv_sec + seconds; same && t.tv_sec < until;) {
        same = one_kill(&k);
        clock_gettime(CLOCK_MONOTONIC, &t);
    }
    printf("# %llu kills, %llu steps acknowledged, %llu times the step under way was done, "
           "%llu versions compared\n",
           (unsigned long long)k.kills, (unsigned long long)k.steps, (unsigned long long)k.further,
           (unsigned long long)k.w.compared);
    model_release(&k.w.m);
    munmap(k.page, sizeof *k.page);
    return same;
}
