/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "base/file.h"
#include "base/mem.h"
#include "disk.h"
#include "scratch.h"
#include "steps.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Simulated power cuts.  A process writes under record.c's eyes; its journal is replayed onto a
 * simulated disk up to a random point, what a power cut there may leave is written to a folder,
 * and the store in it must open, pass its check and hold everything acknowledged before.
 *
 * usage: cut --record MODULE --workload PROGRAM [--seed N] [--cuts N] [--per-run N] [--steps N]
 *            [--rule 1|2|3] [--journal FILE [--only N]]
 *
 * --rule breaks a rule of the engine in the recorded process; then cuts must find damage.
 * A failure names the journal that it keeps and the command that replays it. */

enum {
    MAKING = 60, /* about as many entries make an empty store */
    CLOSING = 60 /* and so many give back what it has reserved, behind the commit that closes it */
};

typedef struct options {
    const char *record, *workload, *journal;
    uint64_t seed;
    int cuts, per_run, steps, rule, only;
} options;

typedef struct run {
    const options *o;
    uint64_t seed;
    char *folder, *journal, *acks;
    uint8_t *bytes;
    size_t len;
    size_t entries;
    work *work;
    disk *disk;
    int bad; /* cuts that left damage */
    int done;
} run;

static _Noreturn void be_workload(const run *r, const char *root, const char *store)
{
    char seed[24], steps[24], rule[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
    snprintf(steps, sizeof steps, "%d", r->o->steps);
    snprintf(rule, sizeof rule, "%d", r->o->rule);
    setenv(JOURNAL_ENV_ROOT, root, 1);
    setenv(JOURNAL_ENV_FILE, r->journal, 1);
    setenv(JOURNAL_ENV_ACKS, r->acks, 1);
    setenv(BREAK_RULE_ENV, rule, 1);
    setenv("LD_PRELOAD", r->o->record, 1);
    alarm(300);
    execl(r->o->workload, r->o->workload, store, r->acks, seed, steps, "1", (char *)NULL);
    _exit(99);
}

/* A broken engine may well stop its process; what it acknowledged before counts all the same. */
static bool record(run *r)
{
    int status = 0;
    char *root = ash__path_join(r->folder, "recorded");
    char *store = ash__path_join(root, "store");
    REQUIRE(mkdir(root, 0700) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        be_workload(r, root, store);
    REQUIRE(waitpid(child, &status, 0) == child);
    remove_folder(root);
    ash__free(store);
    ash__free(root);
    REQUIRE(!WIFEXITED(status) || WEXITSTATUS(status) != 99);
    return r->o->rule != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool next_entry(const run *r, size_t *at, journal_entry *e, const uint8_t **bytes)
{
    if (r->len - *at < sizeof *e)
        return false;
    memcpy(e, r->bytes + *at, sizeof *e);
    if (r->len - *at - sizeof *e < e->len)
        return false;
    *bytes = r->bytes + *at + sizeof *e;
    *at += sizeof *e + e->len;
    return true;
}

static void load(run *r)
{
    ash_error err = ASH_ERROR_INIT;
    journal_entry e;
    const uint8_t *bytes;
    size_t at = 0;
    REQUIRE(ash__file_load(r->journal, (size_t)4 << 30, &r->bytes, &r->len, &err) == 0);
    while (next_entry(r, &at, &e, &bytes))
        r->entries++;
    REQUIRE(r->entries > 0);
}

static void cut(run *r, int number, size_t entry)
{
    rng random = rng_for(r->seed, (uint64_t)number + 1);
    enum disk_cut kind = (enum disk_cut)rng_below(&random, DISK_CUT_SECTORS + 1);
    char *folder = ash__sprintf("%s/cut", r->folder);
    char *what =
        ash__sprintf("seed %llu, cut %d behind entry %zu of %zu, %s", (unsigned long long)r->seed,
                     number, entry, r->entries, disk_cut_name(kind));
    REQUIRE(mkdir(folder, 0700) == 0);
    REQUIRE(disk_save(r->disk, kind, &random, folder));
    char *store = ash__path_join(folder, "store");
    bool good = work_is_good_in_child(r->work, store, rng_below(&random, 3) == 0, what);
    r->bad += !good;
    r->done++;
    remove_folder(folder);
    ash__free(store);
    ash__free(what);
    ash__free(folder);
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Every fifth while the store is made, and one while it is closed for the last time. */
static size_t choose_point(const run *r, rng *random, int i)
{
    size_t at = (size_t)rng_next(random);
    if (i % 5 == 0 && r->entries > MAKING)
        return at % MAKING;
    if (i % 5 == 1 && r->entries > CLOSING)
        return r->entries - 1 - at % CLOSING;
    return at % r->entries;
}

/* Cut behind random entries, in their order. */
static void replay(run *r, int cuts)
{
    rng random = rng_for(r->seed, 0);
    size_t *points = ash__alloc_array((size_t)cuts, sizeof *points);
    journal_entry e;
    const uint8_t *bytes;
    size_t at = 0;
    int next = 0;
    for (int i = 0; i < cuts; i++)
        points[i] = choose_point(r, &random, i);
    qsort(points, (size_t)cuts, sizeof *points, compare_sizes);
    r->disk = disk_new();
    r->work = work_new(r->seed);
    for (size_t entry = 0; next < cuts && next_entry(r, &at, &e, &bytes); entry++) {
        disk_take(r->disk, &e, bytes);
        for (size_t i = 0; e.kind == JOURNAL_ACK && i + 8 <= e.len; i += 8) {
            uint32_t ack[2];
            memcpy(ack, bytes + i, sizeof ack);
            work_acknowledge(r->work, ack);
        }
        for (; next < cuts && points[next] == entry; next++) {
            if (r->o->only < 0 || r->o->only == next)
                cut(r, next, entry);
        }
    }
    work_free(r->work);
    disk_free(r->disk);
    ash__free(points);
}

static void keep_journal(const run *r, int cuts)
{
    char *kept = ash__sprintf("crash-%llu.journal", (unsigned long long)r->seed);
    uint8_t *bytes = NULL;
    size_t len = 0;
    if (ash__file_load(r->journal, (size_t)4 << 30, &bytes, &len, NULL) == 0)
        ash__file_replace(kept, bytes, len, NULL);
    fprintf(stderr, "# to replay: cut --journal %s --seed %llu --cuts %d --per-run %d\n", kept,
            (unsigned long long)r->seed, cuts, cuts);
    ash__free(bytes);
    ash__free(kept);
}

/* One recording and its cuts; the number of cuts that left damage, or -1. */
static int run_one(const options *o, uint64_t seed, int cuts)
{
    run r = {.o = o, .seed = seed, .folder = scratch_new()};
    r.journal = o->journal != NULL ? ash__strdup(o->journal) : ash__path_join(r.folder, "journal");
    r.acks = ash__path_join(r.folder, "acks");
    bool recorded = o->journal != NULL || record(&r);
    if (recorded) {
        load(&r);
        replay(&r, cuts);
    }
    bool good = recorded && r.bad == 0;
    if (!good && o->rule == 0 && o->journal == NULL)
        keep_journal(&r, cuts);
    ash__free(r.bytes);
    ash__free(r.acks);
    ash__free(r.journal);
    remove_folder(r.folder);
    ash__free(r.folder);
    return recorded ? r.bad : -1;
}

static bool run_all(const options *o)
{
    int done = 0, bad = 0;
    for (uint64_t seed = o->seed; done < o->cuts && bad >= 0; seed++) {
        int cuts = o->cuts - done < o->per_run ? o->cuts - done : o->per_run;
        int found = run_one(o, seed, cuts);
        bad = found < 0 ? -1 : bad + found;
        done += cuts;
        if (o->rule != 0 && bad > 0)
            break;
        if (done % 1000 < cuts && o->cuts > 1000)
            printf("# %d of %d cuts, %d left damage\n", done, o->cuts, bad);
        fflush(stdout);
    }
    printf("# %d cuts from seed %llu on, %d left damage\n", done, (unsigned long long)o->seed, bad);
    return o->rule == 0 ? bad == 0 : bad > 0;
}

static const struct option long_options[] = {
    {"record", required_argument, NULL, 'r'},  {"workload", required_argument, NULL, 'w'},
    {"seed", required_argument, NULL, 's'},    {"cuts", required_argument, NULL, 'c'},
    {"per-run", required_argument, NULL, 'p'}, {"steps", required_argument, NULL, 'n'},
    {"rule", required_argument, NULL, 'b'},    {"journal", required_argument, NULL, 'j'},
    {"only", required_argument, NULL, 'o'},    {NULL, 0, NULL, 0}};

static bool parse(int argc, char **argv, options *o)
{
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (c == 'r')
            o->record = optarg;
        else if (c == 'w')
            o->workload = optarg;
        else if (c == 's')
            o->seed = strtoull(optarg, NULL, 10);
        else if (c == 'c')
            o->cuts = atoi(optarg);
        else if (c == 'p')
            o->per_run = atoi(optarg);
        else if (c == 'n')
            o->steps = atoi(optarg);
        else if (c == 'b')
            o->rule = atoi(optarg);
        else if (c == 'j')
            o->journal = optarg;
        else if (c == 'o')
            o->only = atoi(optarg);
        else
            return false;
    }
    return o->journal != NULL || (o->record != NULL && o->workload != NULL);
}

int main(int argc, char **argv)
{
    options o = {.seed = 1, .cuts = 60, .per_run = 20, .steps = 30, .only = -1};
    if (!parse(argc, argv, &o))
        return 2;
    if (o.rule != 0)
        printf("# with rule %d broken on purpose\n", o.rule);
    bool good = run_all(&o);
    printf("%s 1 %s\n1..1\n", good ? "ok" : "not ok",
           o.rule == 0 ? "power cuts lose nothing acknowledged" : "the broken rule is noticed");
    return good ? 0 : 1;
}
