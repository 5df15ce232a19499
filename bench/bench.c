/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads on peers, side by side.  usage: bench FOLDER RUNS SCALE WORKLOAD...
 *
 * Prints "workload,peer,value,unit" lines, the median of RUNS runs; within a run the peers take
 * turns, so that what else the machine does hits all of them.  SCALE 1 is about 512 MiB a peer and
 * run. */
#include "peer.h"

#include "commits.h"
#include "docs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES  (64 * (size_t)BENCH_CHUNK_BYTES)
#define MAX_RUNS    25
#define SMALL_BYTES 4096
#define WRITERS     32

const bench_peer *bench_peers[] = {&bench_ashlar,
                                   &bench_ashlar_bare,
                                   &bench_raw,
                                   &bench_lmdb,
                                   &bench_sqlite,
#ifdef BENCH_ROCKSDB
                                   &bench_rocksdb,
#endif
                                   NULL};

struct setup {
    const char *folder;
    int files; /* of FILE_BYTES, a run */
    const uint8_t *data;
};

static void take_sum(void *ctx, const uint8_t *data, size_t len)
{
    /* Touch every cache line, as a copy would. */
    uint64_t sum = 0, word;
    for (size_t i = 0; i + 8 <= len; i += 64) {
        memcpy(&word, data + i, 8);
        sum += word;
    }
    *(uint64_t *)ctx += sum + len;
}

static double megabytes(const struct setup *s)
{
    return (double)s->files * (double)FILE_BYTES / 1e6;
}

static void *fill_store(const struct setup *s, const bench_peer *p)
{
    bench_empty_folder(s->folder);
    void *store = p->open(s->folder);
    for (int i = 0; i < s->files; i++)
        p->put(store, (uint64_t)i, s->data, FILE_BYTES, BENCH_CHUNK_BYTES);
    return store;
}

/* P1: files of 16 MiB, each durable. */
static double run_ingest(const struct setup *s, const bench_peer *p)
{
    bench_empty_folder(s->folder);
    void *store = p->open(s->folder);
    double start = bench_now();
    for (int i = 0; i < s->files; i++)
        p->put(store, (uint64_t)i, s->data, FILE_BYTES, BENCH_CHUNK_BYTES);
    double seconds = bench_now() - start;
    p->close(store);
    return megabytes(s) / seconds;
}

/* ---- P2: delete half at random and write as much anew, five rounds ---- */

struct churn {
    const struct setup *setup;
    const bench_peer *peer;
    const char *name;
    bool mixed; /* a quarter of the files has chunks of 4 to 255 KiB */
    void *store;
    uint64_t *ids;
    uint64_t next;
};

static void put_next(struct churn *c, int i)
{
    size_t chunk = BENCH_CHUNK_BYTES;
    if (c->mixed && c->next % 4 == 0)
        chunk = 4096 + (size_t)rand() % (BENCH_CHUNK_BYTES - 4096);
    c->ids[i] = c->next++;
    c->peer->put(c->store, c->ids[i], c->setup->data, FILE_BYTES, chunk);
}

/* MB/s of the writing. */
static double churn_round(struct churn *c)
{
    int files = c->setup->files;
    for (int i = 0; i < files / 2; i++) {
        int pick = i + rand() % (files - i);
        uint64_t id = c->ids[pick];
        c->ids[pick] = c->ids[i];
        c->peer->remove(c->store, id);
    }
    double start = bench_now();
    for (int i = 0; i < files / 2; i++)
        put_next(c, i);
    return megabytes(c->setup) / 2 / (bench_now() - start);
}

/* The figure is the slowest round's. */
static double run_rounds(struct churn *c)
{
    const struct setup *s = c->setup;
    double slowest = 0, stored = megabytes(s) / 2 * 5 * 1e6;
    char label[64];
    /* The same choices for every peer and run. */
    srand(7);
    c->ids = calloc((size_t)s->files, sizeof *c->ids);
    bench_empty_folder(s->folder);
    c->store = c->peer->open(s->folder);
    for (int i = 0; i < s->files; i++)
        put_next(c, i);
    uint64_t before = bench_device_bytes(s->folder);
    for (int round = 0; round < 5; round++) {
        double speed = churn_round(c);
        slowest = round == 0 || speed < slowest ? speed : slowest;
    }
    snprintf(label, sizeof label, "%s_written", c->name);
    if (before != 0)
        bench_report(label, c->peer->name,
                     (double)(bench_device_bytes(s->folder) - before) / stored, "bytes/byte");
    snprintf(label, sizeof label, "%s_disk", c->name);
    bench_report(label, c->peer->name, (double)bench_folder_bytes(s->folder) / (megabytes(s) * 1e6),
                 "x live");
    c->peer->close(c->store);
    free(c->ids);
    return slowest;
}

static double run_churn(const struct setup *s, const bench_peer *p)
{
    struct churn c = {.setup = s, .peer = p, .name = "churn"};
    return run_rounds(&c);
}

static double run_churn_mixed(const struct setup *s, const bench_peer *p)
{
    struct churn c = {.setup = s, .peer = p, .name = "churn_mixed", .mixed = true};
    return run_rounds(&c);
}

/* P3: warm sequential read of everything. */
static double run_read(const struct setup *s, const bench_peer *p)
{
    uint64_t sum = 0;
    void *store = fill_store(s, p);
    for (int i = 0; i < s->files; i++)
        p->get(store, (uint64_t)i, take_sum, &sum);
    double start = bench_now();
    for (int i = 0; i < s->files; i++)
        p->get(store, (uint64_t)i, take_sum, &sum);
    double speed = megabytes(s) / (bench_now() - start);
    p->close(store);
    return sum != 0 ? speed : 0;
}

/* Peers differ by a factor of a thousand: each gets the same time. */
struct random_reads {
    const struct setup *setup;
    const bench_peer *peer;
    void *store;
    void **files; /* open ones; NULL: none are */
    uint64_t sum;
};

static double read_at_random(struct random_reads *r)
{
    enum { LOOK_EVERY = 64 };
    const double seconds = 0.7;
    uint64_t reads = 0;
    srand(11);
    double start = bench_now(), now = start;
    while (now - start < seconds) {
        for (int i = 0; i < LOOK_EVERY; i++, reads++) {
            uint64_t offset = (uint64_t)rand() % (FILE_BYTES / 4096) * 4096;
            int file = rand() % r->setup->files;
            if (r->files != NULL)
                r->peer->read_at(r->files[file], offset, take_sum, &r->sum);
            else
                r->peer->get_range(r->store, (uint64_t)file, offset, take_sum, &r->sum);
        }
        now = bench_now();
    }
    return r->sum != 0 ? (double)reads / (now - start) : 0;
}

static double run_ranges(const struct setup *s, const bench_peer *p)
{
    struct random_reads r = {.setup = s, .peer = p, .store = fill_store(s, p)};
    double speed = read_at_random(&r);
    p->close(r.store);
    return speed;
}

/* With every file open; for those that look a part up by a key it is the same. */
static double run_seeks(const struct setup *s, const bench_peer *p)
{
    struct random_reads r = {.setup = s, .peer = p, .store = fill_store(s, p)};
    if (p->open_file != NULL)
        r.files = calloc((size_t)s->files, sizeof *r.files);
    for (int i = 0; r.files != NULL && i < s->files; i++)
        r.files[i] = p->open_file(r.store, (uint64_t)i);
    double speed = read_at_random(&r);
    for (int i = 0; r.files != NULL && i < s->files; i++)
        p->close_file(r.files[i]);
    free(r.files);
    p->close(r.store);
    return speed;
}

/* ---- P4: small files, each durable ---- */

struct small {
    const bench_peer *peer;
    void *store;
    const uint8_t *data;
    uint64_t from, to;
};

static void *put_small(void *arg)
{
    struct small *w = arg;
    for (uint64_t i = w->from; i < w->to; i++)
        w->peer->put(w->store, i, w->data, SMALL_BYTES, BENCH_CHUNK_BYTES);
    return NULL;
}

static double run_small(const struct setup *s, const bench_peer *p, int writers, uint64_t each)
{
    pthread_t threads[WRITERS];
    struct small work[WRITERS];
    bench_empty_folder(s->folder);
    void *store = p->open(s->folder);
    /* The first put makes what the store is made of; it is not measured. */
    p->put(store, UINT64_MAX / 4, s->data, SMALL_BYTES, BENCH_CHUNK_BYTES);
    double start = bench_now();
    for (int i = 0; i < writers; i++) {
        work[i] = (struct small){p, store, s->data, (uint64_t)i * each, (uint64_t)(i + 1) * each};
        bench_check(pthread_create(&threads[i], NULL, put_small, &work[i]) == 0, "thread");
    }
    for (int i = 0; i < writers; i++)
        pthread_join(threads[i], NULL);
    double speed = (double)writers * (double)each / (bench_now() - start);
    p->close(store);
    return speed;
}

static double run_small_one(const struct setup *s, const bench_peer *p)
{
    return run_small(s, p, 1, 2000);
}

static double run_small_many(const struct setup *s, const bench_peer *p)
{
    return run_small(s, p, WRITERS, 250);
}

/* ---- what memory itself can do ---- */

static void report_memcpy(void)
{
    size_t total = 1u << 30;
    uint8_t *from = malloc(total), *to = malloc(BENCH_CHUNK_BYTES);
    uint64_t sum = 0;
    bench_check(from != NULL && to != NULL, "memory");
    memset(from, 1, total);
    double start = bench_now();
    for (size_t at = 0; at + BENCH_CHUNK_BYTES <= total; at += BENCH_CHUNK_BYTES) {
        memcpy(to, from + at, BENCH_CHUNK_BYTES);
        sum += *(volatile uint8_t *)(to + (at >> 12) % BENCH_CHUNK_BYTES); /* or no copy is made */
    }
    bench_report("read", "memcpy", (double)total / 1e6 / (bench_now() - start), "MB/s");
    (void)sum;
    free(from);
    free(to);
}

static const struct {
    const char *name, *unit;
    double (*run)(const struct setup *s, const bench_peer *p);
    bool puts_large;
} workloads[] = {
    {"ingest", "MB/s", run_ingest, true},           {"churn", "MB/s", run_churn, true},
    {"churn_mixed", "MB/s", run_churn_mixed, true}, {"read", "MB/s", run_read, false},
    {"ranges", "reads/s", run_ranges, false},       {"seeks", "reads/s", run_seeks, false},
    {"small_1", "files/s", run_small_one, false},   {"small_32", "files/s", run_small_many, false},
};
#define WORKLOADS (sizeof workloads / sizeof workloads[0])

static bool takes_part(const bench_peer *p, size_t w)
{
    return workloads[w].puts_large || !p->only_large;
}

static void run_workload(const struct setup *s, size_t w, int runs)
{
    double values[8][MAX_RUNS];
    for (int run = 0; run < runs; run++) {
        for (int p = 0; bench_peers[p] != NULL; p++)
            if (takes_part(bench_peers[p], w))
                values[p][run] = workloads[w].run(s, bench_peers[p]);
    }
    for (int p = 0; bench_peers[p] != NULL; p++)
        if (takes_part(bench_peers[p], w))
            bench_report(workloads[w].name, bench_peers[p]->name,
                         bench_percentile(values[p], runs, 0.5), workloads[w].unit);
    if (strcmp(workloads[w].name, "read") == 0)
        report_memcpy();
}

/* P5 */
static void run_commits(const struct setup *s, int runs)
{
    double values[5][MAX_RUNS];
    for (int run = 0; run < runs; run++) {
        struct commit_times t;
        bench_commits(s->folder, s->data, FILE_BYTES, &t);
        values[0][run] = t.busy_p50, values[1][run] = t.idle_p50;
        values[2][run] = t.busy_p99, values[3][run] = t.idle_p99;
        values[4][run] = t.bulk;
    }
    for (int i = 0; i < 4; i++)
        bench_report(i < 2 ? "commit_p50" : "commit_p99", i % 2 == 0 ? "during upload" : "idle",
                     bench_percentile(values[i], runs, 0.5), "us");
    bench_report("commit_bulk", "ashlar", bench_percentile(values[4], runs, 0.5), "MB/s");
}

/* Leave out the peers that the list, if there is one, does not name. */
static void choose_peers(const char *names)
{
    size_t kept = 0;
    for (size_t i = 0; bench_peers[i] != NULL; i++)
        if (names == NULL || strstr(names, bench_peers[i]->name) != NULL)
            bench_peers[kept++] = bench_peers[i];
    bench_peers[kept] = NULL;
}

int main(int argc, char **argv)
{
    bench_check(argc >= 5, "usage: bench FOLDER RUNS SCALE WORKLOAD...");
    uint8_t *data = malloc(FILE_BYTES);
    bench_check(data != NULL, "memory");
    bench_fill(data, FILE_BYTES, 1);
    int runs = atoi(argv[2]);
    choose_peers(getenv("PEERS"));
    struct setup s = {argv[1], (int)(32 * atof(argv[3])), data};
    bench_check(runs >= 1 && runs <= MAX_RUNS && s.files >= 4, "RUNS 1..25, SCALE at least 0.125");
    for (int p = 0; bench_peers[p] != NULL; p++)
        fprintf(stderr, "# %s: %s\n", bench_peers[p]->name, bench_peers[p]->setting);
    for (int i = 4; i < argc; i++) {
        for (size_t w = 0; w < WORKLOADS; w++) {
            if (strcmp(argv[i], workloads[w].name) == 0 || strcmp(argv[i], "all") == 0)
                run_workload(&s, w, runs);
        }
        if (strcmp(argv[i], "commits") == 0 || strcmp(argv[i], "all") == 0)
            run_commits(&s, runs);
        if (strcmp(argv[i], "docs") == 0 || strcmp(argv[i], "all") == 0)
            bench_docs(s.folder, runs);
    }
    bench_empty_folder(s.folder);
    free(data);
    return 0;
}
