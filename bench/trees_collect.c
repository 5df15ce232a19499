/* SPDX-License-Identifier: Apache-2.0 */
/* How long a writer waits beside a collection: files are put one after the other while nothing else
 * happens, and while a thread collects contents that nobody has, small ones and large ones.
 *
 * usage: ashlar-bench-trees-collect FOLDER [CONTENTS]
 *
 * Prints figure,peer,value,unit; the peers are "alone" and "beside".  The longest a put takes alone
 * is what the machine does to anybody. */
#include "peer.h"

#include <ashlar/ashlar.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SMALL_BYTES = 2000, LARGE_BYTES = 8 * 1024 * 1024, LARGE_ONES = 24, PROBES_MAX = 200000 };

static ash_store *store;
static ash_tree *tree;
static ash_error err = ASH_ERROR_INIT;
static uint8_t data[LARGE_BYTES];

static void must(int result)
{
    if (result != 0)
        bench_die("trees-collect", err.text);
}

static void put(const char *path, uint64_t seed, size_t len)
{
    ash_tree_writer *w = NULL;
    bench_fill(data, len, seed);
    must(ash_tree_open_writer(tree, path, NULL, NULL, &w, &err));
    must(ash_tree_writer_write(w, data, len, &err));
    must(ash_tree_writer_finish(w, NULL, NULL, &err));
    ash_tree_writer_free(w);
}

/* Contents that no version has any more. */
static void leave_contents(uint64_t contents)
{
    ash_tree_change_options all = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_prune_options none = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    char path[64];
    must(ash_tree_make_folder(tree, "old", NULL, NULL, NULL, &err));
    for (uint64_t i = 0; i < contents + LARGE_ONES; i++) {
        snprintf(path, sizeof path, "old/%" PRIu64, i);
        put(path, 1000000 + i, i < contents ? SMALL_BYTES : LARGE_BYTES);
    }
    all.recursive = true;
    none.keep = &keep;
    must(ash_tree_remove(tree, "old", &all, NULL, &err));
    must(ash_tree_prune(tree, "/", &none, NULL, NULL, &err));
}

static void *collect(void *arg)
{
    atomic_bool *done = arg;
    ash_tree_collect_options opts = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    ash_error own = ASH_ERROR_INIT;
    opts.min_age_s = -1;
    if (ash_tree_collect(tree, &opts, NULL, &report, &own) != 0)
        bench_die("trees-collect", own.text);
    bench_report("tree_collected", "beside", (double)report.contents, "contents");
    atomic_store(done, true);
    return NULL;
}

/* Puts until *done, or as many as before when that is NULL; how many. */
static int put_many(double *waits, int count, atomic_bool *done, uint64_t seed)
{
    char path[64];
    int n = 0;
    while (n < PROBES_MAX && (done != NULL ? !atomic_load(done) : n < count)) {
        snprintf(path, sizeof path, "new %" PRIu64 " %d", seed, n);
        double start = bench_now();
        put(path, seed + (uint64_t)n, 400);
        waits[n++] = (bench_now() - start) * 1e3;
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    return n;
}

static void report(const char *peer, double *waits, int count)
{
    bench_report("tree_put_median", peer, bench_percentile(waits, count, 0.5), "ms");
    bench_report("tree_put_p99", peer, bench_percentile(waits, count, 0.99), "ms");
    bench_report("tree_put_p999", peer, bench_percentile(waits, count, 0.999), "ms");
    bench_report("tree_put_longest", peer, bench_percentile(waits, count, 1), "ms");
    bench_report("tree_puts", peer, count, "puts");
}

int main(int argc, char **argv)
{
    static double beside[PROBES_MAX], alone[PROBES_MAX];
    ash_store_options o = ASH_STORE_OPTIONS_INIT;
    atomic_bool done = false;
    pthread_t thread;
    if (argc < 2) {
        fprintf(stderr, "usage: ashlar-bench-trees-collect FOLDER [CONTENTS]\n");
        return 2;
    }
    bench_empty_folder(argv[1]);
    o.durability = ASH_DURABILITY_INTERVAL; /* the disk is not what is measured */
    must(ash_store_open(argv[1], &o, &store, &err));
    must(ash_tree_open(store, "/", NULL, &tree, &err));
    leave_contents(argc > 2 ? strtoull(argv[2], NULL, 10) : 20000);
    bench_check(pthread_create(&thread, NULL, collect, &done) == 0, "a thread");
    int count = put_many(beside, 0, &done, 1);
    pthread_join(thread, NULL);
    bench_check(count > 0, "puts beside the collection");
    put_many(alone, count, NULL, 500000);
    report("alone", alone, count);
    report("beside", beside, count);
    ash_tree_close(tree);
    ash_store_close(store);
    bench_empty_folder(argv[1]);
    return 0;
}
