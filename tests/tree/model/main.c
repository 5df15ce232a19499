/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "kills.h"
#include "remove_folder.h"

#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Random changes of a tree by several writers against a naive one, while collection runs.
 *
 * usage: model-trees [--seed N] [--seconds S] [--uri STORE] [--kills]
 *
 * The writers are threads of this process; with --uri, which names a served store that is empty,
 * processes.  With --kills one writer is a process that is killed at random (kills.h).  The exit
 * status is 1 when the tree differs. */

enum { WRITERS = 3, COMPARE_EVERY = 20 };

static atomic_bool over;

typedef struct options {
    uint64_t seed;
    int64_t seconds;
    const char *uri;
    bool seeded, kills;
} options;

static int64_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static bool one_round(worker *w, uint64_t i)
{
    step s = model_next(&w->m, &w->r, w->moments, w->moment_count);
    bool same = work_step(w, &s) && work_learn(w);
    if (same && i % 4 == 0)
        same = work_race(w);
    if (same && rng_below(&w->r, 8) == 0)
        same = work_remember(w);
    if (same && i % COMPARE_EVERY == 0)
        same = work_compare(w, true, true);
    return same;
}

static bool write_until(worker *w, int64_t until)
{
    bool same = true;
    for (uint64_t i = 0; same && !atomic_load(&over) && now_s() < until; i++)
        same = one_round(w, i);
    if (!same)
        atomic_store(&over, true);
    fflush(stdout);
    return same && work_compare(w, true, true);
}

/* Collection without a break would never let a writer of many pieces come to its end. */
static void rest(rng *r)
{
    struct timespec t = {0, rng_below(r, 40) * 1000000L};
    nanosleep(&t, NULL);
}

static bool collect_until(ash_tree *tree, int64_t until)
{
    ash_tree_collect_report report;
    ash_error err = ASH_ERROR_INIT;
    int64_t taken = 0;
    rng r = rng_for((uint64_t)until, 3);
    bool good = true;
    while (good && !atomic_load(&over) && now_s() < until) {
        good = work_collect(tree, &report, &err);
        taken += report.contents;
        rest(&r);
    }
    printf("# collected %lld contents meanwhile\n", (long long)taken);
    fflush(stdout);
    return good;
}

static void make_worker(worker *w, uint64_t seed, int number)
{
    *w = (worker){.r = rng_for(seed, (uint64_t)number)};
    w->ids = calloc(NODES_MAX, sizeof *w->ids);
    w->known = calloc(NODES_MAX, sizeof *w->known);
    model_init(&w->m);
}

static void free_worker(worker *w)
{
    free(w->ids);
    free(w->known);
    model_release(&w->m);
}

/* ---- threads ---- */

typedef struct thread {
    pthread_t id;
    worker w;
    int64_t until;
    bool same;
} thread;

static void *write_in_thread(void *ctx)
{
    thread *t = ctx;
    t->same = write_until(&t->w, t->until);
    return NULL;
}

static void *collect_in_thread(void *ctx)
{
    thread *t = ctx;
    t->same = collect_until(t->w.tree, t->until);
    return NULL;
}

static bool begin_shared(const char *uri)
{
    worker w = {0};
    bool good = work_open(&w, uri, WRITERS);
    ash_tree_writer *writer = NULL;
    int rc = !good ? -1 : ash_tree_open_writer(w.tree, "/shared", NULL, NULL, &writer, &w.err);
    if (rc == 0)
        rc = ash_tree_writer_finish(writer, NULL, NULL, &w.err);
    ash_tree_writer_free(writer);
    work_close(&w);
    return rc == 0;
}

/* Threads share one store, and each has a tree object of its own. */
static bool run_threads(const options *o, const char *folder)
{
    thread threads[WRITERS + 1];
    uint64_t steps = 0, done = 0, compared = 0, wins = 0, losses = 0, again = 0;
    bool same = begin_shared(folder);
    worker first = {0};
    same = same && work_open(&first, folder, WRITERS);
    for (int i = 0; same && i <= WRITERS; i++) {
        thread *t = &threads[i];
        make_worker(&t->w, o->seed, i);
        t->until = now_s() + o->seconds;
        t->same = false;
        same = work_share(&t->w, first.store, i);
        if (same &&
            pthread_create(&t->id, NULL, i < WRITERS ? write_in_thread : collect_in_thread, t) != 0)
            abort();
    }
    for (int i = 0; same && i <= WRITERS; i++)
        pthread_join(threads[i].id, NULL);
    for (int i = 0; same && i <= WRITERS; i++) {
        thread *t = &threads[i];
        same = t->same;
        steps += t->w.steps;
        done += t->w.done;
        compared += t->w.compared;
        wins += t->w.wins;
        losses += t->w.losses;
        again += t->w.again;
        ash_tree_close(t->w.tree);
        free_worker(&t->w);
    }
    same = same && work_settled(&first, (int64_t)wins + 1);
    printf("# %llu steps, %llu of them done, %llu versions compared, %llu races won, %llu lost, "
           "%llu puts done again\n",
           (unsigned long long)steps, (unsigned long long)done, (unsigned long long)compared,
           (unsigned long long)wins, (unsigned long long)losses, (unsigned long long)again);
    work_close(&first);
    return same;
}

/* ---- processes ---- */

static _Noreturn void be_process(const options *o, int number)
{
    worker w;
    make_worker(&w, o->seed, number);
    bool same = work_open(&w, o->uri, number);
    int64_t until = now_s() + o->seconds;
    same = same && (number < WRITERS ? write_until(&w, until) : collect_until(w.tree, until));
    printf("# %s: %llu steps, %llu done, %llu compared, %llu races won, %llu lost\n", w.top,
           (unsigned long long)w.steps, (unsigned long long)w.done, (unsigned long long)w.compared,
           (unsigned long long)w.wins, (unsigned long long)w.losses);
    fflush(stdout);
    _exit(same ? 0 : 1);
}

static bool run_processes(const options *o)
{
    pid_t children[WRITERS + 1];
    worker w = {0};
    bool same = begin_shared(o->uri);
    fflush(stdout);
    for (int i = 0; i <= WRITERS; i++)
        if ((children[i] = fork()) == 0)
            be_process(o, i);
    for (int i = 0; i <= WRITERS; i++) {
        int status = 1;
        same = waitpid(children[i], &status, 0) == children[i] && status == 0 && same;
    }
    same = same && work_open(&w, o->uri, WRITERS);
    same = same && work_settled(&w, 0);
    work_close(&w);
    return same;
}

static bool read_options(int argc, char **argv, options *o)
{
    static const struct option names[] = {{"seed", required_argument, NULL, 's'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"uri", required_argument, NULL, 'u'},
                                          {"kills", no_argument, NULL, 'k'},
                                          {0}};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 's') {
            o->seed = strtoull(optarg, NULL, 10);
            o->seeded = true;
        } else if (c == 't')
            o->seconds = strtoll(optarg, NULL, 10);
        else if (c == 'u')
            o->uri = optarg;
        else if (c == 'k')
            o->kills = true;
        else
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    options o = {.seconds = 10};
    char folder[300];
    const char *base = getenv("TMPDIR");
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: %s [--seed N] [--seconds S] [--uri STORE] [--kills]\n", argv[0]);
        return 2;
    }
    if (!o.seeded && getrandom(&o.seed, 4, 0) != 4)
        abort();
    printf("# seed %llu\n", (unsigned long long)o.seed);
    snprintf(folder, sizeof folder, "%s/ashlar-trees-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(folder) == NULL)
        return 2;
    bool same = o.kills         ? kills_run(o.seed, o.seconds, folder)
                : o.uri != NULL ? run_processes(&o)
                                : run_threads(&o, folder);
    if (!same)
        printf("# differs: --seed %llu; the store is in %s\n", (unsigned long long)o.seed, folder);
    if (same)
        remove_folder(folder);
    return same ? 0 : 1;
}
