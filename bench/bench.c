/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads on peers, side by side.  usage: bench FOLDER RUNS SCALE WORKLOAD...
 *
 * Prints "workload,peer,value,unit" lines, the median of RUNS runs; within a run the peers take
 * turns, so that what else the machine does hits all of them.  SCALE 1 is about 512 MiB a peer and
 * run. */
#include "peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES  (64 * (size_t)BENCH_CHUNK_BYTES)
#define MAX_RUNS    25
#define SMALL_BYTES 4096
#define WRITERS     32

const bench_peer *const bench_peers[] = {&bench_ashlar,
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
        p->put(store, (uint64_t)i, s->data, FILE_BYTES);
    return store;
}

/* P1: files of 16 MiB, each durable. */
static double run_ingest(const struct setup *s, const bench_peer *p)
{
    bench_empty_folder(s->folder);
    void *store = p->open(s->folder);
    double start = bench_now();
    for (int i = 0; i < s->files; i++)
        p->put(store, (uint64_t)i, s->data, FILE_BYTES);
    double seconds = bench_now() - start;
    p->close(store);
    return megabytes(s) / seconds;
}

/* P2: delete half at random and write as much anew, five rounds; the figure is the slowest round's.
 */
static double run_churn(const struct setup *s, const bench_peer *p)
{
    double slowest = 0;
    uint64_t *ids = calloc((size_t)s->files, sizeof *ids), next = (uint64_t)s->files;
    void *store = fill_store(s, p);
    uint64_t device = bench_device_bytes(s->folder);
    srand(7);
    for (int i = 0; i < s->files; i++)
        ids[i] = (uint64_t)i;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < s->files / 2; i++) {
            int pick = i + rand() % (s->files - i);
            uint64_t id = ids[pick];
            ids[pick] = ids[i];
            p->remove(store, id);
        }
        double start = bench_now();
        for (int i = 0; i < s->files / 2; i++) {
            ids[i] = next++;
            p->put(store, ids[i], s->data, FILE_BYTES);
        }
        double speed = megabytes(s) / 2 / (bench_now() - start);
        slowest = round == 0 || speed < slowest ? speed : slowest;
    }
    double stored = megabytes(s) / 2 * 5 * 1e6;
    if (device != 0)
        bench_report("churn_written", p->name,
                     (double)(bench_device_bytes(s->folder) - device) / stored, "bytes/byte");
    bench_report("churn_disk", p->name,
                 (double)bench_folder_bytes(s->folder) / (megabytes(s) * 1e6), "x live");
    p->close(store);
    free(ids);
    return slowest;
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

static double run_ranges(const struct setup *s, const bench_peer *p)
{
    enum { READS = 20000 };
    uint64_t sum = 0;
    void *store = fill_store(s, p);
    srand(11);
    double start = bench_now();
    for (int i = 0; i < READS; i++) {
        uint64_t offset = (uint64_t)rand() % (FILE_BYTES / 4096) * 4096;
        p->get_range(store, (uint64_t)(rand() % s->files), offset, take_sum, &sum);
    }
    double speed = READS / (bench_now() - start);
    p->close(store);
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
        w->peer->put(w->store, i, w->data, SMALL_BYTES);
    return NULL;
}

static double run_small(const struct setup *s, const bench_peer *p, int writers, uint64_t each)
{
    pthread_t threads[WRITERS];
    struct small work[WRITERS];
    bench_empty_folder(s->folder);
    void *store = p->open(s->folder);
    p->put(store, UINT64_MAX / 4, s->data, SMALL_BYTES);
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

static void report_memcpy(const struct setup *s)
{
    size_t total = 1u << 30;
    uint8_t *from = malloc(total), *to = malloc(BENCH_CHUNK_BYTES);
    bench_check(from != NULL && to != NULL, "memory");
    memset(from, 1, total);
    double start = bench_now();
    for (size_t at = 0; at + BENCH_CHUNK_BYTES <= total; at += BENCH_CHUNK_BYTES)
        memcpy(to, from + at, BENCH_CHUNK_BYTES);
    bench_report("read", "memcpy", (double)total / 1e6 / (bench_now() - start), "MB/s");
    (void)s;
    free(from);
    free(to);
}

static const struct {
    const char *name, *unit;
    double (*run)(const struct setup *s, const bench_peer *p);
} workloads[] = {
    {"ingest", "MB/s", run_ingest},
    {"churn", "MB/s", run_churn},
    {"read", "MB/s", run_read},
    {"ranges", "reads/s", run_ranges},
    {"small_1", "files/s", run_small_one},
    {"small_32", "files/s", run_small_many},
};
#define WORKLOADS (sizeof workloads / sizeof workloads[0])

static void run_workload(const struct setup *s, size_t w, int runs)
{
    double values[8][MAX_RUNS];
    for (int run = 0; run < runs; run++) {
        for (int p = 0; bench_peers[p] != NULL; p++)
            values[p][run] = workloads[w].run(s, bench_peers[p]);
    }
    for (int p = 0; bench_peers[p] != NULL; p++)
        bench_report(workloads[w].name, bench_peers[p]->name,
                     bench_percentile(values[p], runs, 0.5), workloads[w].unit);
    if (strcmp(workloads[w].name, "read") == 0)
        report_memcpy(s);
}

int main(int argc, char **argv)
{
    bench_check(argc >= 5, "usage: bench FOLDER RUNS SCALE WORKLOAD...");
    uint8_t *data = malloc(FILE_BYTES);
    bench_check(data != NULL, "memory");
    bench_fill(data, FILE_BYTES, 1);
    int runs = atoi(argv[2]);
    struct setup s = {argv[1], (int)(32 * atof(argv[3])), data};
    bench_check(runs >= 1 && runs <= MAX_RUNS && s.files >= 4, "RUNS 1..25, SCALE at least 0.125");
    for (int p = 0; bench_peers[p] != NULL; p++)
        fprintf(stderr, "# %s: %s\n", bench_peers[p]->name, bench_peers[p]->setting);
    for (int i = 4; i < argc; i++) {
        for (size_t w = 0; w < WORKLOADS; w++) {
            if (strcmp(argv[i], workloads[w].name) == 0 || strcmp(argv[i], "all") == 0)
                run_workload(&s, w, runs);
        }
    }
    bench_empty_folder(s.folder);
    free(data);
    return 0;
}
