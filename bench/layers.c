/* SPDX-License-Identifier: Apache-2.0 */
/* The same files through every layer.  usage: ashlar-bench-layers FOLDER RUNS MIB COMMAND [chunks]
 *
 * Prints lines like ashlar-bench's; within a run the layers take turns. */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_RUNS = 25, SMALL_FILES = 2000, SMALL_BYTES = 4096 };

static const bench_layer *const layers[] = {&layer_library, &layer_command,
#ifdef BENCH_LIBMONGOC
                                            &layer_libmongoc,
#endif
                                            &layer_plain, NULL};

static void write_file(const char *path, const uint8_t *data, size_t len, uint64_t times)
{
    FILE *f = fopen(path, "wb");
    bench_check(f != NULL, "make source");
    for (uint64_t i = 0; i < times; i++)
        bench_check(fwrite(data, 1, len, f) == len, "write source");
    bench_check(fclose(f) == 0, "write source");
}

static void make_sources(const struct places *p)
{
    char path[4096];
    uint8_t *data = malloc(LAYER_BUFFER);
    bench_check(data != NULL, "memory");
    bench_fill(data, LAYER_BUFFER, 5);
    write_file(p->source, data, LAYER_BUFFER, p->bytes / LAYER_BUFFER);
    bench_check(mkdir(p->small, 0700) == 0, "make folder");
    for (int i = 0; i < p->count; i++) {
        snprintf(path, sizeof path, "%s/%d", p->small, i);
        write_file(path, data + (size_t)i % 200 * SMALL_BYTES, SMALL_BYTES, 1);
    }
    free(data);
}

static void run_layer(const bench_layer *layer, const struct places *p, double values[3])
{
    bench_empty_folder(p->folder);
    void *l = layer->open(p);
    double start = bench_now();
    layer->put(l);
    values[0] = (double)p->bytes / 1e6 / (bench_now() - start);
    bench_check(layer->get(l) == p->bytes, "reading back the whole file");
    start = bench_now();
    layer->get(l);
    values[1] = (double)p->bytes / 1e6 / (bench_now() - start);
    start = bench_now();
    layer->put_small(l);
    values[2] = p->count / (bench_now() - start);
    layer->close(l);
}

static void run_layers(const struct places *p, int runs)
{
    static const char *const names[] = {"layers_put", "layers_get", "layers_small"};
    static const char *const units[] = {"MB/s", "MB/s", "files/s"};
    static double values[8][3][MAX_RUNS];
    for (int run = 0; run < runs; run++) {
        for (int i = 0; layers[i] != NULL; i++) {
            double got[3];
            run_layer(layers[i], p, got);
            for (int k = 0; k < 3; k++)
                values[i][k][run] = got[k];
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; layers[i] != NULL; i++)
            bench_report(names[k], layers[i]->name, bench_percentile(values[i][k], runs, 0.5),
                         units[k]);
    }
}

#ifdef BENCH_LIBMONGOC
/* P6 */
static void run_chunks(const struct places *p, int runs)
{
    static const char *const names[] = {"chunks_put", "chunks_get"};
    double ours[2][MAX_RUNS], tcp[2][MAX_RUNS], megabytes = (double)p->bytes / 1e6;
    for (int run = 0; run < runs; run++) {
        double put, get;
        bench_empty_folder(p->folder);
        bench_chunks(p, &put, &get);
        ours[0][run] = megabytes / put;
        ours[1][run] = megabytes / get;
        tcp[0][run] = megabytes / bench_tcp(p->bytes, true);
        tcp[1][run] = megabytes / bench_tcp(p->bytes, false);
    }
    for (int k = 0; k < 2; k++) {
        bench_report(names[k], "libmongoc", bench_percentile(ours[k], runs, 0.5), "MB/s");
        bench_report(names[k], "tcp copy", bench_percentile(tcp[k], runs, 0.5), "MB/s");
    }
}
#endif

int main(int argc, char **argv)
{
    char folder[4000], source[4000], small[4000];
    bool chunks_alone = argc == 6 && strcmp(argv[5], "chunks") == 0;
    bench_check(argc == 5 || chunks_alone,
                "usage: ashlar-bench-layers FOLDER RUNS MIB COMMAND [chunks]");
    int runs = atoi(argv[2]), mib = atoi(argv[3]);
    bench_check(runs >= 1 && runs <= MAX_RUNS && mib >= 1, "RUNS 1..25, MIB at least 1");
    snprintf(folder, sizeof folder, "%s/store", argv[1]);
    snprintf(source, sizeof source, "%s/source", argv[1]);
    snprintf(small, sizeof small, "%s/small", argv[1]);
    struct places p = {folder, source, small, (uint64_t)mib << 20, SMALL_FILES, argv[4]};
    bench_empty_folder(argv[1]);
    make_sources(&p);
    for (int i = 0; layers[i] != NULL; i++)
        fprintf(stderr, "# %s: %s\n", layers[i]->name, layers[i]->setting);
    if (!chunks_alone)
        run_layers(&p, runs);
#ifdef BENCH_LIBMONGOC
    run_chunks(&p, runs);
#endif
    bench_empty_folder(argv[1]);
    return 0;
}
