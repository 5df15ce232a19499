/* SPDX-License-Identifier: Apache-2.0 */
/* Documents against SQLite with JSON text.  Each peer runs in a process of its own, so that its
 * memory is its own. */
#include "docs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOTAL = 50000, GETS = 20000, RANGES = 500, UPDATES = 1000, MAX_RUNS = 25 };

int docs_total = TOTAL;

static const docs_peer *const peers[] = {&docs_ashlar, &docs_sqlite};
#define PEERS (sizeof peers / sizeof peers[0])

static const struct {
    const char *name, *unit;
} figures[] = {{"docs_load", "docs/s"},      {"docs_get", "gets/s"}, {"docs_range", "ranges/s"},
               {"docs_update", "updates/s"}, {"docs_memory", "MB"},  {"docs_disk", "MB"}};
#define FIGURES (sizeof figures / sizeof figures[0])

const char *docs_text(void)
{
    static char text[DOCS_TEXT + 1];
    for (int i = 0; text[0] == 0 && i < DOCS_TEXT; i++)
        text[DOCS_TEXT - 1 - i] = (char)('a' + i * i % 26);
    return text;
}

/* Memory of this process that is no file's, in MB: the most that was seen. */
static void note_memory(double *most)
{
    char line[200];
    double kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    bench_check(f != NULL, "/proc/self/status");
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = atof(line + 8);
    fclose(f);
    *most = kib * 1024 / 1e6 > *most ? kib * 1024 / 1e6 : *most;
}

static void run_peer(const docs_peer *p, const char *folder, double values[FIGURES])
{
    bench_empty_folder(folder);
    void *d = p->open(folder);
    srand(13);
    double start = bench_now();
    for (int id = 0; id < docs_total; id += DOCS_A_COMMIT)
        p->load(d, id, DOCS_A_COMMIT);
    values[0] = docs_total / (bench_now() - start);
    note_memory(&values[4]);
    start = bench_now();
    for (int i = 0; i < GETS; i++)
        bench_check(p->get(d, rand() % docs_total) > DOCS_TEXT, "get");
    values[1] = GETS / (bench_now() - start);
    start = bench_now();
    for (int i = 0; i < RANGES; i++)
        bench_check(p->range(d, rand() % (docs_total - DOCS_RANGE)) == DOCS_RANGE, "range");
    values[2] = RANGES / (bench_now() - start);
    note_memory(&values[4]);
    start = bench_now();
    for (int i = 0; i < UPDATES; i++)
        p->update(d, rand() % docs_total, docs_total + i);
    values[3] = UPDATES / (bench_now() - start);
    note_memory(&values[4]);
    p->close(d);
    values[5] = (double)bench_folder_bytes(folder) / 1e6;
}

static void run_apart(const docs_peer *p, const char *folder, double values[FIGURES])
{
    int pipes[2], status;
    bench_check(pipe(pipes) == 0, "pipe");
    fflush(NULL);
    pid_t child = fork();
    bench_check(child >= 0, "fork");
    if (child == 0) {
        double got[FIGURES] = {0};
        run_peer(p, folder, got);
        bench_check(write(pipes[1], got, sizeof got) == sizeof got, "write");
        _exit(0);
    }
    close(pipes[1]);
    ssize_t n = read(pipes[0], values, FIGURES * sizeof *values);
    close(pipes[0]);
    waitpid(child, &status, 0);
    bench_check(n == (ssize_t)(FIGURES * sizeof *values), p->name);
}

void bench_docs(const char *folder, int runs)
{
    static double values[PEERS][FIGURES][MAX_RUNS];
    const char *total = getenv("DOCS");
    docs_total = total != NULL ? atoi(total) : TOTAL;
    bench_check(docs_total >= DOCS_A_COMMIT && docs_total % DOCS_A_COMMIT == 0 &&
                    docs_total % 7919 != 0,
                "DOCS is a multiple of 1000");
    for (int run = 0; run < runs; run++) {
        for (size_t p = 0; p < PEERS; p++) {
            double got[FIGURES];
            run_apart(peers[p], folder, got);
            for (size_t f = 0; f < FIGURES; f++)
                values[p][f][run] = got[f];
        }
    }
    for (size_t f = 0; f < FIGURES; f++) {
        for (size_t p = 0; p < PEERS; p++)
            bench_report(figures[f].name, peers[p]->name, bench_percentile(values[p][f], runs, 0.5),
                         figures[f].unit);
    }
    for (size_t p = 0; p < PEERS; p++)
        fprintf(stderr, "# %s: %s\n", peers[p]->name, peers[p]->setting);
}
