/* SPDX-License-Identifier: Apache-2.0 */
/* Documents against SQLite with JSON text. */
#include "docs.h"

#include <stdio.h>
#include <stdlib.h>

enum { GETS = 20000, RANGES = 500, UPDATES = 1000, MAX_RUNS = 25 };

static const docs_peer *const peers[] = {&docs_ashlar, &docs_sqlite};
#define PEERS (sizeof peers / sizeof peers[0])

static const struct {
    const char *name, *unit;
} figures[] = {{"docs_load", "docs/s"},
               {"docs_get", "gets/s"},
               {"docs_range", "ranges/s"},
               {"docs_update", "updates/s"}};
#define FIGURES (sizeof figures / sizeof figures[0])

const char *docs_text(void)
{
    static char text[301];
    for (int i = 0; text[0] == 0 && i < 300; i++)
        text[299 - i] = (char)('a' + i * i % 26);
    return text;
}

static void run_peer(const docs_peer *p, const char *folder, double values[FIGURES])
{
    bench_empty_folder(folder);
    void *d = p->open(folder);
    srand(13);
    double start = bench_now();
    for (int id = 0; id < DOCS; id += DOCS_A_COMMIT)
        p->load(d, id, DOCS_A_COMMIT);
    values[0] = DOCS / (bench_now() - start);
    start = bench_now();
    for (int i = 0; i < GETS; i++)
        bench_check(p->get(d, rand() % DOCS) > 300, "get");
    values[1] = GETS / (bench_now() - start);
    start = bench_now();
    for (int i = 0; i < RANGES; i++)
        bench_check(p->range(d, rand() % (DOCS - DOCS_RANGE)) == DOCS_RANGE, "range");
    values[2] = RANGES / (bench_now() - start);
    start = bench_now();
    for (int i = 0; i < UPDATES; i++)
        p->update(d, rand() % DOCS, DOCS + i);
    values[3] = UPDATES / (bench_now() - start);
    p->close(d);
}

void bench_docs(const char *folder, int runs)
{
    static double values[PEERS][FIGURES][MAX_RUNS];
    for (int run = 0; run < runs; run++) {
        for (size_t p = 0; p < PEERS; p++) {
            double got[FIGURES];
            run_peer(peers[p], folder, got);
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
