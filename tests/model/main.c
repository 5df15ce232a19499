/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include "kills.h"
#include "remove_folder.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Random steps on an embedded store against the naive evaluator.
 *
 * usage: model-documents [--seed N] [--steps M] [--seconds S] [--episode E] [--test]
 *        model-documents --kills [--seed N] [--seconds S]
 *
 * A run is a row of episodes, each from empty collections; --episode replays one of them.  --test
 * runs a list of fixed seeds and one random seed, for M steps each.  When the store differs, the
 * smallest list of steps that still shows it is printed, and the exit status is 1.  --kills lets
 * processes do the steps that are killed at random moments (kills.h); a store that differs is
 * kept. */

enum { EPISODE_STEPS = 150, EPISODE_INSERTS = 14, KILLS_SECONDS = 10 };

typedef struct options {
    uint64_t seed;
    int64_t steps, seconds, episode;
    bool test, seeded, kills;
} options;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static uint64_t random_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        abort();
    return seed;
}

static bson_t *next_step(rng *r, uint32_t number)
{
    mv *step;
    do
        step = gen_step(r);
    while (number < EPISODE_INSERTS && strcmp(step->names[0], "insert") != 0 &&
           strcmp(step->names[0], "index") != 0);
    bson_t *bytes = mv_bson(step);
    pool_empty();
    return bytes;
}

static void report(scenario *s, bson_t **steps, uint32_t count)
{
    count = scenario_shrink(s, steps, count);
    printf("# the smallest difference found:\n");
    for (uint32_t i = 0; i < count; i++) {
        char *text = bson_as_canonical_extended_json(steps[i], NULL);
        printf("#   %s\n", text == NULL ? "(no UTF-8)" : text);
        bson_free(text);
    }
    s->loud = true;
    scenario_run(s, steps, count);
    fflush(stdout);
}

static void print_counts(const scenario *s, int64_t steps, int64_t seconds)
{
    printf("# %lld steps, %llu answers compared, %llu steps left open, %lld s\n", (long long)steps,
           (unsigned long long)s->compared, (unsigned long long)s->left_open, (long long)seconds);
    fflush(stdout);
}

/* One row of steps from empty collections; false when the store differs. */
static bool episode(scenario *s, uint64_t seed, int64_t number, int64_t *steps_done)
{
    rng r = rng_for(seed, (uint64_t)number);
    bson_t *steps[EPISODE_STEPS];
    uint32_t count = 0;
    s->capped = number % 6 == 5;
    bool same = scenario_reset(s);
    s->loud = true;
    while (same && count < EPISODE_STEPS) {
        steps[count] = next_step(&r, count);
        same = scenario_step(s, steps[count++]);
    }
    *steps_done += count;
    if (!same) {
        printf("# differs: --seed %llu --episode %lld, step %u\n", (unsigned long long)seed,
               (long long)number, count);
        fflush(stdout);
        report(s, steps, count);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        bson_destroy(steps[i]);
    return true;
}

static bool run(scenario *s, uint64_t seed, const options *o)
{
    int64_t steps = 0, start = now(), told = start;
    printf("# seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    if (o->episode >= 0)
        return episode(s, seed, o->episode, &steps);
    for (int64_t number = 0;; number++) {
        if ((o->steps > 0 && steps >= o->steps) || (o->seconds > 0 && now() - start >= o->seconds))
            break;
        if (!episode(s, seed, number, &steps))
            return false;
        if (now() - told >= 60) {
            told = now();
            print_counts(s, steps, told - start);
        }
    }
    print_counts(s, steps, now() - start);
    return true;
}

static bool run_test(scenario *s, const options *o)
{
    static const uint64_t seeds[] = {1, 2, 3, 20261120};
    bool all = true;
    for (unsigned i = 0; i < 5; i++) {
        bool same = run(s, i < 4 ? seeds[i] : random_seed(), o);
        printf("%s %u - %s\n", same ? "ok" : "not ok", i + 1, i < 4 ? "fixed seed" : "random seed");
        all = all && same;
    }
    printf("1..5\n");
    return all;
}

static bool read_options(int argc, char **argv, options *o)
{
    static const struct option names[] = {{"seed", required_argument, NULL, 's'},
                                          {"steps", required_argument, NULL, 'm'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"episode", required_argument, NULL, 'e'},
                                          {"test", no_argument, NULL, 'T'},
                                          {"kills", no_argument, NULL, 'k'},
                                          {0}};
    int c;
    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 's') {
            o->seed = strtoull(optarg, NULL, 10);
            o->seeded = true;
        } else if (c == 'm')
            o->steps = strtoll(optarg, NULL, 10);
        else if (c == 't')
            o->seconds = strtoll(optarg, NULL, 10);
        else if (c == 'e')
            o->episode = strtoll(optarg, NULL, 10);
        else if (c == 'T')
            o->test = true;
        else if (c == 'k')
            o->kills = true;
        else
            return false;
    }
    if (o->steps == 0 && o->seconds == 0)
        o->steps = 3000;
    return optind == argc;
}

static bool run_steps(const char *folder, const options *o)
{
    scenario s = {.loud = true};
    if (!real_open(&s.r, folder, NULL))
        return false;
    bool same = o->test ? run_test(&s, o) : run(&s, o->seeded ? o->seed : random_seed(), o);
    model_clear(&s.m);
    real_close(&s.r);
    return same;
}

int main(int argc, char **argv)
{
    options o = {.episode = -1};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: %s [--seed N] [--steps M] [--seconds S] [--episode E] [--test]\n"
                "       %s --kills [--seed N] [--seconds S]\n",
                argv[0], argv[0]);
        return 2;
    }
    const char *base = getenv("TMPDIR");
    char folder[300];
    snprintf(folder, sizeof folder, "%s/ashlar-model-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(folder) == NULL) {
        fprintf(stderr, "cannot make a folder like %s\n", folder);
        return 2;
    }
    bool same = o.kills ? kills_run(o.seeded ? o.seed : random_seed(),
                                    o.seconds > 0 ? o.seconds : KILLS_SECONDS, folder)
                        : run_steps(folder, &o);
    if (same || !o.kills)
        remove_folder(folder);
    pool_empty();
    return same ? 0 : 1;
}
