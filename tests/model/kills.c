/* SPDX-License-Identifier: Apache-2.0 */
#include "kills.h"

#include "remove_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILLS_A_STORE = 24, CAPPED_DOCS = 10, PATIENCE_S = 300 };

typedef struct run {
    uint64_t seed;
    rng r; /* when to kill */
    kills_page *page;
    char folder[400];
    scenario s;
    int64_t next_parcel;
    uint64_t stores, kills, amid_opening, finished;
} run;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void pause_us(uint32_t us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};
    nanosleep(&t, NULL);
}

/* The child is gone when true. */
static bool is_over(pid_t child, int *status)
{
    return waitpid(child, status, WNOHANG) == child;
}

/* Either soon, which is amid opening, or when some writes were acknowledged.  False when the child
 * came to an end by itself. */
static bool wait_for_moment(run *k, pid_t child, int *status)
{
    uint32_t us = rng_below(&k->r, 1 + rng_below(&k->r, 4000));
    uint64_t writes = rng_below(&k->r, 1 + rng_below(&k->r, 200));
    int64_t late = now() + PATIENCE_S;
    if (rng_below(&k->r, 5) == 0) {
        pause_us(us * 8);
        return !is_over(child, status);
    }
    while (!atomic_load(&k->page->opened) || atomic_load(&k->page->done) < writes) {
        if (is_over(child, status))
            return false;
        if (now() > late) {
            printf("# nothing happens any more\n");
            break;
        }
        pause_us(200);
    }
    pause_us(us);
    return !is_over(child, status);
}

/* Lets the child go on until it is killed; false when it ended as it should not. */
static bool kill_one(run *k, pid_t child)
{
    int status = 0;
    if (wait_for_moment(k, child, &status)) {
        kill(child, SIGKILL);
        if (waitpid(child, &status, 0) != child)
            abort();
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        k->kills++;
        k->amid_opening += !atomic_load(&k->page->opened);
        return true;
    }
    k->finished++;
    if (WIFSIGNALED(status))
        printf("# a process died of signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static pid_t begin_child(run *k, const kills_round *round)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0)
        kills_work(&k->s, k->folder, round, k->page);
    return child;
}

/* Some processes are killed while they bring a store back that an earlier kill left. */
static bool kill_at_opening(run *k, const kills_round *round)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        ash_store_options opts = kills_options(round);
        bool good = real_open(&k->s.r, k->folder, &opts);
        if (good)
            real_close(&k->s.r);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    pause_us(rng_below(&k->r, 1 + rng_below(&k->r, 20000)));
    kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child)
        abort();
    k->kills += WIFSIGNALED(status);
    k->amid_opening += WIFSIGNALED(status);
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0;
}

static bool one_kill(run *k, uint64_t number)
{
    kills_round round = {.seed = k->seed * 1000003 + number, .parcels = k->next_parcel};
    round.strict = rng_below(&k->r, 3) != 0;
    round.quiet = rng_below(&k->r, 2) == 0;
    atomic_store(&k->page->opened, false);
    atomic_store(&k->page->done, 0);
    atomic_store(&k->page->flushed, 0);
    atomic_store(&k->page->parcels_done, 0);
    atomic_store(&k->page->parcels_flushed, 0);
    bool good = kill_one(k, begin_child(k, &round));
    while (good && rng_below(&k->r, 3) == 0)
        good = kill_at_opening(k, &round);
    good = good && kills_settle(&k->s.m, k->folder, &round, k->page, &k->next_parcel);
    if (!good)
        printf("# differs: --seed %llu, store %llu, process %llu, write %llu; the store is in %s\n",
               (unsigned long long)k->seed, (unsigned long long)k->stores,
               (unsigned long long)number, (unsigned long long)atomic_load(&k->page->done),
               k->folder);
    fflush(stdout);
    return good;
}

static void print_counts(const run *k, int64_t seconds)
{
    const kills_page *p = k->page;
    printf(
        "# %llu kills (%llu amid opening), %llu processes that ended by themselves, %llu stores; "
        "%llu steps, %llu answers compared, %llu transactions, %llu reopens, %llu index builds, "
        "%llu compactions, %llu checks amid work, %llu change events, %llu histories lost; "
        "0 differences, %lld s\n",
        (unsigned long long)k->kills, (unsigned long long)k->amid_opening,
        (unsigned long long)k->finished, (unsigned long long)k->stores,
        (unsigned long long)p->steps, (unsigned long long)p->answers,
        (unsigned long long)p->transactions, (unsigned long long)p->reopens,
        (unsigned long long)p->builds, (unsigned long long)p->compactions,
        (unsigned long long)p->checks, (unsigned long long)p->events,
        (unsigned long long)p->lost_histories, (long long)seconds);
    fflush(stdout);
}

static void begin_store(run *k, const char *folder)
{
    snprintf(k->folder, sizeof k->folder, "%s/store%llu", folder, (unsigned long long)k->stores);
    model_clear(&k->s.m);
    k->s.m.most = k->stores % 6 == 5 ? CAPPED_DOCS : 0;
    k->next_parcel = 0;
    memset(k->page->tokens, 0, sizeof k->page->tokens);
    k->page->tokens[0].seen = k->page->tokens[1].seen = -1;
    k->stores++;
}

bool kills_run(uint64_t seed, int64_t seconds, const char *folder)
{
    run k = {.seed = seed, .r = rng_for(seed, 0), .s.loud = true};
    int64_t start = now(), told = start;
    bool good = true;
    k.page = mmap(NULL, sizeof *k.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (k.page == MAP_FAILED)
        abort();
    printf("# seed %llu\n", (unsigned long long)seed);
    for (uint64_t number = 0; good && now() - start < seconds; number++) {
        if (number % KILLS_A_STORE == 0) {
            if (number > 0)
                remove_folder(k.folder);
            begin_store(&k, folder);
        }
        good = one_kill(&k, number);
        if (now() - told >= 60) {
            told = now();
            print_counts(&k, told - start);
        }
    }
    if (good)
        print_counts(&k, now() - start);
    model_clear(&k.s.m);
    munmap(k.page, sizeof *k.page);
    return good;
}
