/* SPDX-License-Identifier: Apache-2.0 */
#include "aim.h"

#include "base/file.h"
#include "base/mem.h"
#include "scratch.h"
#include "steps.h"
#include "work.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bit rot: bytes of a closed store are changed, one at a time, and the store is read and checked.
 *
 * What is read is what was written, or an error, or (where LMDB cannot find its way any more)
 * missing; never something else.  Whatever makes a read fail is found by check as well.  Changes of
 * bytes that mean nothing may go unnoticed.  No process dies of one.
 *
 * usage: flip [--seed N] [--flips N] [--steps N]
 *        flip --aim meta [--seed N] [--flips N] [--jobs N] [--seconds N]
 *             [--only N [--leave FOLDER]] [--keep FOLDER] [--ashlar PATH] [--loud] (aim.c) */

typedef struct options {
    uint64_t seed;
    int flips, steps;
} options;

enum { OUTCOMES = OUTCOME_DIED + 1, TIMEOUT_S = 60, WHY_BYTES = 600 };

static const char *const outcome_names[] = {"nothing noticed", "something missing", "refused",
                                            "WRONG BYTES", "died"};

enum kind { KIND_SEGMENT, KIND_META, KIND_SUPERBLOCK, KINDS };

static const char *const kind_names[] = {"segments", "meta.mdb", "superblock"};

typedef struct run {
    uint64_t seed;
    char *folder, *store;
    work *work;
    rng random;
    int read[KINDS][OUTCOMES], check[KINDS][OUTCOMES];
    int bad;
    char *why; /* the newest child's error; shared with it */
} run;

static enum outcome read_all(run *r, ash_error *err)
{
    return work_read(r->work, r->store, err);
}

static enum outcome check_all(run *r, ash_error *err)
{
    ash_store *store = steps_open_store(r->store, true, err);
    enum outcome out = store != NULL && steps_check(store, err) ? OUTCOME_GOOD : OUTCOME_REFUSED;
    ash_store_close(store);
    return out;
}

static enum outcome in_child(run *r, enum outcome (*look)(run *r, ash_error *err), const char *what)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        static const struct rlimit no_core = {0, 0};
        ash_error err = ASH_ERROR_INIT;
        setrlimit(RLIMIT_CORE, &no_core);
        alarm(TIMEOUT_S);
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int told = dup(STDERR_FILENO);
        dup2(fd, STDERR_FILENO);
        enum outcome out = look(r, &err);
        if (out == OUTCOME_WRONG)
            dprintf(told, "# %s: %s\n", what, err.text);
        snprintf(r->why, WHY_BYTES, "%s", err.text);
        _exit(out);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) < OUTCOMES ? (enum outcome)WEXITSTATUS(status)
                                                               : OUTCOME_DIED;
}

/* ---- flipping ---- */

static enum kind choose(run *r, char **path)
{
    uint32_t die = rng_below(&r->random, 40);
    enum kind kind = die == 0 ? KIND_SUPERBLOCK : die < 20 ? KIND_SEGMENT : KIND_META;
    if (kind == KIND_SEGMENT) {
        uint32_t count = 0;
        for (struct stat st; count == 0 || stat(*path, &st) == 0; count++) {
            if (count > 0)
                ash__free(*path);
            *path = ash__sprintf("%s/segments/%08x.seg", r->store, (unsigned)count + 1);
        }
        ash__free(*path);
        REQUIRE(count > 1);
        *path = ash__sprintf("%s/segments/%08x.seg", r->store,
                             (unsigned)rng_below(&r->random, count - 1) + 1);
    } else {
        *path = ash__path_join(r->store, kind == KIND_META ? "meta.mdb" : "ashlar.store");
    }
    return kind;
}

static void flip(const char *path, off_t offset, uint8_t bits)
{
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
    byte ^= bits;
    REQUIRE(pwrite(fd, &byte, 1, offset) == 1);
    close(fd);
}

/* The check leaves a note for whoever opens the store next. */
static void forget_damage(const run *r)
{
    char *path = ash__path_join(r->store, "damage");
    unlink(path);
    ash__free(path);
}

static void one_flip(run *r, int number)
{
    struct stat st;
    char what[96];
    char *path = NULL;
    enum kind kind = choose(r, &path);
    REQUIRE(stat(path, &st) == 0);
    off_t offset = (off_t)(rng_next(&r->random) % (uint64_t)st.st_size);
    uint8_t bits = (uint8_t)(1 + rng_below(&r->random, 255));
    snprintf(what, sizeof what, "seed %llu, flip %d: %s, byte %lld ^ 0x%02x",
             (unsigned long long)r->seed, number, kind_names[kind], (long long)offset, bits);
    flip(path, offset, bits);
    enum outcome seen = in_child(r, read_all, what);
    char why[WHY_BYTES];
    snprintf(why, sizeof why, "%s", r->why);
    enum outcome found = in_child(r, check_all, what);
    flip(path, offset, bits);
    forget_damage(r);
    r->read[kind][seen]++;
    r->check[kind][found]++;
    if (seen == OUTCOME_WRONG || seen == OUTCOME_DIED || found == OUTCOME_DIED ||
        (seen != OUTCOME_GOOD && found == OUTCOME_GOOD)) {
        fprintf(stderr, "# %s: reading: %s (%s); check: %s\n", what, outcome_names[seen], why,
                outcome_names[found]);
        r->bad++;
    }
    ash__free(path);
}

static void report(const run *r)
{
    for (int k = 0; k < KINDS; k++) {
        printf("# %-10s reading:", kind_names[k]);
        for (int i = 0; i < OUTCOMES; i++)
            printf(" %d %s%s", r->read[k][i], outcome_names[i], i < OUTCOMES - 1 ? "," : "");
        printf("; check: %d clean, %d damage, %d died\n", r->check[k][OUTCOME_GOOD],
               r->check[k][OUTCOME_REFUSED], r->check[k][OUTCOME_DIED]);
    }
}

static bool fill(run *r, int steps)
{
    ash_error err = ASH_ERROR_INIT;
    char *path = ash__path_join(r->folder, "acks");
    uint32_t ack[2];
    int acks = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    r->work = work_new(r->seed);
    work_options opts = {.folder = r->store, .steps = (uint32_t)steps, .acks = acks};
    int result = work_do(r->work, &opts, &err);
    if (result != 0)
        fprintf(stderr, "# %s\n", err.text);
    for (off_t at = 0; pread(acks, ack, sizeof ack, at) == (ssize_t)sizeof ack; at += 8)
        work_acknowledge(r->work, ack);
    close(acks);
    ash__free(path);
    return result == 0;
}

static bool run_all(const options *o)
{
    run r = {.seed = o->seed, .folder = scratch_new(), .random = rng_for(o->seed, MODEL_THREADS)};
    r.store = ash__path_join(r.folder, "store");
    r.why = mmap(NULL, WHY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(r.why != MAP_FAILED);
    bool good = fill(&r, o->steps);
    for (int i = 0; good && i < o->flips; i++)
        one_flip(&r, i);
    /* Every flip was taken back. */
    good = good && in_child(&r, read_all, "at the end") == OUTCOME_GOOD &&
           in_child(&r, check_all, "at the end") == OUTCOME_GOOD;
    report(&r);
    printf("# %d flips from seed %llu, %d not noticed as they must\n", o->flips,
           (unsigned long long)o->seed, r.bad);
    good = good && r.bad == 0 && r.read[KIND_SEGMENT][OUTCOME_REFUSED] > 0 &&
           r.check[KIND_META][OUTCOME_REFUSED] > 0;
    work_free(r.work);
    remove_folder(r.folder);
    ash__free(r.store);
    ash__free(r.folder);
    return good;
}

static const struct option long_options[] = {
    {"seed", required_argument, NULL, 's'},    {"flips", required_argument, NULL, 'f'},
    {"steps", required_argument, NULL, 'n'},   {"aim", required_argument, NULL, 'a'},
    {"only", required_argument, NULL, 'o'},    {"jobs", required_argument, NULL, 'j'},
    {"seconds", required_argument, NULL, 't'}, {"keep", required_argument, NULL, 'k'},
    {"leave", required_argument, NULL, 'l'},   {"ashlar", required_argument, NULL, 'b'},
    {"loud", no_argument, NULL, 'v'},          {NULL, 0, NULL, 0}};

/* What only aimed flips have; false: something else. */
static bool take_aimed(int c, aim_options *o)
{
    if (c == 'o')
        o->only = atoi(optarg);
    else if (c == 'j')
        o->jobs = atoi(optarg);
    else if (c == 't')
        o->seconds = atoi(optarg);
    else if (c == 'k')
        o->keep = optarg;
    else if (c == 'l')
        o->leave = optarg;
    else if (c == 'b')
        o->ashlar = optarg;
    else if (c == 'v')
        o->loud = true;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    options o = {.seed = 1, .flips = 200, .steps = 40};
    aim_options aimed = {.only = -1, .jobs = 1};
    bool is_aimed = false;
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (c == 's')
            o.seed = strtoull(optarg, NULL, 10);
        else if (c == 'f')
            o.flips = atoi(optarg);
        else if (c == 'n')
            o.steps = atoi(optarg);
        else if (c == 'a' && strcmp(optarg, "meta") == 0)
            is_aimed = true;
        else if (!take_aimed(c, &aimed))
            return 2;
    }
    aimed.seed = o.seed;
    aimed.flips = o.flips;
    if (aimed.jobs < 1 || (aimed.leave != NULL && aimed.only < 0))
        return 2;
    bool good = is_aimed ? aim_run(&aimed) : run_all(&o);
    printf("%s 1 changed bytes are noticed\n1..1\n", good ? "ok" : "not ok");
    return good ? 0 : 1;
}
