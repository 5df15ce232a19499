/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "scratch.h"
#include "steps.h"
#include "wrapped_engine.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Processes killed at random moments: one works on a store, acknowledges each step in a file and
 * is killed with SIGKILL; then the store must be as its acknowledgements say, and the next process
 * goes on with it.
 *
 * usage: kill [--seed N] [--kills N] [--per-run N] */

typedef struct options {
    uint64_t seed;
    int kills, per_run;
} options;

typedef struct run {
    uint64_t seed;
    char *folder, *store, *acks;
    work *work;
    rng random;
    int interrupted; /* kills that came before the work was done */
} run;

enum { STEPS = 400, LONGEST_MS = 400 };

static _Noreturn void be_worker(run *r)
{
    ash_error err = ASH_ERROR_INIT;
    int acks = open(r->acks, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    work_options opts = {.folder = r->store, .steps = STEPS, .reopens = 20, .acks = acks};
    REQUIRE(acks >= 0);
    wrapped_engine_journal_eagerly(rng_below(&r->random, 2) == 0);
    steps_trim_eagerly(rng_below(&r->random, 2) == 0);
    int result = work_do(r->work, &opts, &err);
    if (result != 0)
        fprintf(stderr, "# seed %llu: %s\n", (unsigned long long)r->seed, err.text);
    _exit(result == 0 ? 0 : 3);
}

/* Work until killed; false when the work itself failed. */
static bool work_and_kill(run *r)
{
    int status = 0;
    int64_t ms = rng_below(&r->random, 1 + rng_below(&r->random, LONGEST_MS));
    unlink(r->acks);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        be_worker(r);
    ash__clock_sleep_ms(ms);
    kill(child, SIGKILL);
    REQUIRE(waitpid(child, &status, 0) == child);
    r->interrupted += WIFSIGNALED(status);
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0;
}

static void take_acks(run *r)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    /* A process that was killed at once has not made it. */
    if (access(r->acks, F_OK) != 0)
        return;
    REQUIRE(ash__file_load(r->acks, 1 << 20, &bytes, &len, NULL) == 0);
    for (size_t at = 0; at + 8 <= len; at += 8) {
        uint32_t ack[2];
        memcpy(ack, bytes + at, sizeof ack);
        work_acknowledge(r->work, ack);
    }
    ash__free(bytes);
}

/* A process of its own looks first, so that one that crashes is a failure like others. */
static bool one_kill(run *r, int number)
{
    ash_error err = ASH_ERROR_INIT;
    char what[64];
    snprintf(what, sizeof what, "seed %llu, kill %d", (unsigned long long)r->seed, number);
    bool good = work_and_kill(r);
    if (!good)
        fprintf(stderr, "# %s: the work failed\n", what);
    take_acks(r);
    good = good && work_is_good_in_child(r->work, r->store, false, what) &&
           work_is_good(r->work, r->store, false, &err);
    work_interrupt(r->work);
    return good;
}

/* Kills on one store; how many were bad: none or one, which ends it. */
static int run_one(const options *o, uint64_t seed, int kills, int *interrupted)
{
    run r = {.seed = seed, .folder = scratch_new(), .random = rng_for(seed, MODEL_THREADS)};
    int bad = 0;
    (void)o;
    r.store = ash__path_join(r.folder, "store");
    r.acks = ash__path_join(r.folder, "acks");
    r.work = work_new(seed);
    for (int i = 0; i < kills && bad == 0; i++)
        bad = !one_kill(&r, i);
    work_free(r.work);
    *interrupted += r.interrupted;
    if (bad > 0)
        fprintf(stderr, "# the store is kept in %s\n", r.store);
    else
        remove_folder(r.folder);
    ash__free(r.acks);
    ash__free(r.store);
    ash__free(r.folder);
    return bad;
}

static bool run_all(const options *o)
{
    int bad = 0, done = 0, interrupted = 0;
    for (uint64_t seed = o->seed; done < o->kills; seed++) {
        int kills = o->kills - done < o->per_run ? o->kills - done : o->per_run;
        bad += run_one(o, seed, kills, &interrupted);
        done += kills;
    }
    printf("# %d kills from seed %llu on, %d of them during work, %d stores damaged\n", done,
           (unsigned long long)o->seed, interrupted, bad);
    return bad == 0 && interrupted > done / 2;
}

static const struct option long_options[] = {{"seed", required_argument, NULL, 's'},
                                             {"kills", required_argument, NULL, 'k'},
                                             {"per-run", required_argument, NULL, 'p'},
                                             {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    options o = {.seed = 1, .kills = 20, .per_run = 20};
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (c == 's')
            o.seed = strtoull(optarg, NULL, 10);
        else if (c == 'k')
            o.kills = atoi(optarg);
        else if (c == 'p')
            o.per_run = atoi(optarg);
        else
            return 2;
    }
    bool good = run_all(&o);
    printf("%s 1 killed processes lose nothing acknowledged\n1..1\n", good ? "ok" : "not ok");
    return good ? 0 : 1;
}
