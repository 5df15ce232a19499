/* SPDX-License-Identifier: Apache-2.0 */
#include "aim.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "image.h"
#include "judge.h"
#include "places.h"
#include "scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Flips of metadata's pages, so aimed that each kind of place gets its share.
 *
 * Every flip has a generator of its own, so that its number repeats it.  Where pages lie depends on
 * when the store committed, too: --keep keeps the sound store for that. */

enum { SERVED_EVERY = 50, LAY_IN_TRIES = 40, ANOTHER_SEED = 1000003 };

typedef struct tally {
    atomic_int flips, seen, nothing, refused, died, wrong, unseen;
} tally;

typedef struct campaign {
    const aim_options *o;
    char *folder; /* of this run */
    image image;
    places places;
    stock *stock;
    tally *tallies; /* shared: one a kind */
} campaign;

typedef struct shot {
    campaign *c;
    aim aim;
} shot;

static void *shared(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(p != MAP_FAILED);
    return p;
}

/* ---- the sound store ---- */

/* In a process of its own, so that this one has no threads. */
static bool lay_in(const campaign *c, const char *folder, uint64_t seed)
{
    int status = 0;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ash_error err = ASH_ERROR_INIT;
        int result = stock_lay_in(folder, c->stock, seed, &err);
        if (result != 0)
            fprintf(stderr, "# %s\n", err.text);
        _exit(result != 0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool keep_stock(const stock *of, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool whole = fd >= 0 && write(fd, of, sizeof *of) == (ssize_t)sizeof *of;
    if (fd >= 0)
        close(fd);
    return whole;
}

static bool fetch_stock(stock *of, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && read(fd, of, sizeof *of) == (ssize_t)sizeof *of;
    if (fd >= 0)
        close(fd);
    return whole;
}

/* When a store commits is a matter of time and of what is in it, so that not each has pages of
 * every kind. */
static bool lay_in_whole(campaign *c, const char *store, const char *meta)
{
    for (int i = 0; i < LAY_IN_TRIES; i++) {
        remove_folder(store);
        if (!lay_in(c, store, c->o->seed + (uint64_t)i * ANOTHER_SEED))
            return false;
        if (places_read(&c->places, meta))
            return true;
        places_release(&c->places);
    }
    return false;
}

static bool prepare(campaign *c)
{
    const char *where = c->o->keep != NULL ? c->o->keep : c->folder;
    char *store = ash__sprintf("%s/store-%llu", where, (unsigned long long)c->o->seed);
    char *list = ash__sprintf("%s/stock-%llu", where, (unsigned long long)c->o->seed);
    char *meta = ash__path_join(store, "meta.mdb");
    mkdir(where, 0700);
    bool there = fetch_stock(c->stock, list)
                     ? places_read(&c->places, meta)
                     : lay_in_whole(c, store, meta) && keep_stock(c->stock, list);
    if (there)
        image_read(&c->image, store);
    ash__free(meta);
    ash__free(list);
    ash__free(store);
    return there;
}

/* ---- flips ---- */

static void make_copy(void *ctx, const char *folder)
{
    const shot *s = ctx;
    image_write(&s->c->image, folder, s->aim.offset, s->aim.bits);
}

static void count(campaign *c, enum place_kind kind, unsigned is)
{
    tally *t = &c->tallies[kind];
    atomic_fetch_add(&t->flips, 1);
    atomic_fetch_add(&t->seen, (is & JUDGED_SEEN) != 0);
    atomic_fetch_add(&t->nothing, is == 0);
    atomic_fetch_add(&t->refused, (is & JUDGED_REFUSED) != 0);
    atomic_fetch_add(&t->died, (is & JUDGED_DIED) != 0);
    atomic_fetch_add(&t->wrong, (is & JUDGED_WRONG) != 0);
    atomic_fetch_add(&t->unseen, (is & JUDGED_UNSEEN) != 0);
}

static shot aim_at(campaign *c, int number)
{
    rng r = rng_for(c->o->seed, (uint64_t)number + 1000);
    return (shot){c, places_choose(&c->places, &r)};
}

static void one_flip(campaign *c, int number, const char *folder, scene *shown)
{
    char where[160], line[900];
    verdict v;
    shot s = aim_at(c, number);
    judge j = {.sound = c->stock,
               .folder = folder,
               .copy = make_copy,
               .ctx = &s,
               .ashlar = c->o->ashlar,
               .served = number % SERVED_EVERY == SERVED_EVERY - 1,
               .loud = c->o->loud,
               .seed = c->o->seed * 1000003 + (uint64_t)number,
               .scene = shown};
    judge_store(&j, &v);
    count(c, s.aim.where->kind, v.is);
    if ((v.is & JUDGED_BAD) == 0 && c->o->only < 0)
        return;
    aim_describe(&c->places, &s.aim, where, sizeof where);
    int len = snprintf(line, sizeof line, "# %s: seed %llu, flip %d: %s: %s\n",
                       (v.is & JUDGED_DIED) != 0     ? "DIED"
                       : (v.is & JUDGED_WRONG) != 0  ? "WRONG"
                       : (v.is & JUDGED_UNSEEN) != 0 ? "UNSEEN"
                       : v.is == 0                   ? "means nothing"
                                                     : "noticed",
                       (unsigned long long)c->o->seed, number, where, v.text);
    if (len >= (int)sizeof line)
        line[sizeof line - 2] = '\n';
    REQUIRE(write(STDERR_FILENO, line, strlen(line)) > 0);
}

static void run_job(campaign *c, int job)
{
    scene *shown = scene_new();
    char *folder = ash__sprintf("%s/copy-%d", c->folder, job);
    int64_t end = c->o->seconds == 0 ? INT64_MAX : ash__clock_ms() + c->o->seconds * INT64_C(1000);
    for (int i = job; i < c->o->flips && ash__clock_ms() < end; i += c->o->jobs)
        one_flip(c, i, folder, shown);
    ash__free(folder);
}

/* Without a flip nothing may be found; else the judge itself is not to be trusted. */
static bool judge_is_sound(campaign *c)
{
    bool good = true;
    char *folder = ash__path_join(c->folder, "sound");
    shot s = {.c = c};
    judge j = {.sound = c->stock,
               .folder = folder,
               .copy = make_copy,
               .ctx = &s,
               .ashlar = c->o->ashlar,
               .loud = c->o->loud,
               .seed = c->o->seed,
               .scene = scene_new()};
    for (int i = 0; i < 2 && good; i++) {
        verdict v;
        j.served = i == 1;
        judge_store(&j, &v);
        good = v.is == 0;
        if (!good)
            fprintf(stderr, "# without a flip: %s\n", v.text);
    }
    ash__free(folder);
    return good;
}

static bool run_jobs(campaign *c)
{
    bool good = true;
    if (c->o->only >= 0) {
        char *folder = ash__path_join(c->folder, "copy");
        one_flip(c, c->o->only, folder, scene_new());
        ash__free(folder);
        return true;
    }
    fflush(stdout);
    for (int i = 0; i < c->o->jobs; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* they end with the one that counts */
            run_job(c, i);
            _exit(0);
        }
    }
    for (int status = 0; wait(&status) > 0;)
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return good;
}

/* ---- report ---- */

static bool report(const campaign *c)
{
    tally all = {0};
    printf("# %-20s %6s %8s %8s %8s %6s %6s %7s\n", "place", "flips", "noticed", "nothing",
           "refused", "died", "wrong", "unseen");
    for (int i = 0; i <= PLACE_KINDS; i++) {
        tally *t = i < PLACE_KINDS ? &c->tallies[i] : &all;
        printf("# %-20s %6d %8d %8d %8d %6d %6d %7d\n", i < PLACE_KINDS ? place_names[i] : "all",
               t->flips, t->seen, t->nothing, t->refused, t->died, t->wrong, t->unseen);
        all.flips += t->flips;
        all.seen += t->seen;
        all.nothing += t->nothing;
        all.refused += t->refused;
        all.died += t->died;
        all.wrong += t->wrong;
        all.unseen += t->unseen;
        if (i == PLACE_KINDS - 1)
            printf("#\n");
    }
    return true;
}

static bool is_good(const campaign *c)
{
    bool good = true;
    for (int i = 0; i < PLACE_KINDS; i++) {
        const tally *t = &c->tallies[i];
        good = good && t->died == 0 && t->wrong == 0 && t->unseen == 0;
    }
    return good;
}

bool aim_run(const aim_options *o)
{
    campaign c = {.o = o,
                  .folder = scratch_new(),
                  .stock = shared(sizeof *c.stock),
                  .tallies = shared(PLACE_KINDS * sizeof *c.tallies)};
    bool good = prepare(&c);
    if (good && o->leave != NULL) {
        shot s = aim_at(&c, o->only);
        make_copy(&s, o->leave);
    } else if (good) {
        good = judge_is_sound(&c) && run_jobs(&c);
        report(&c);
        good = good && is_good(&c);
    }
    places_release(&c.places);
    image_release(&c.image);
    remove_folder(c.folder);
    ash__free(c.folder);
    return good;
}
