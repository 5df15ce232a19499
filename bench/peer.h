/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BENCH_PEER_H
#define ASH_BENCH_PEER_H

/* One way to keep files durably, so that ways can be measured side by side: each workload runs on
 * each peer, in the same run, on the same disk.  A file is a number and its bytes.  Failures end
 * the program: a benchmark has nothing to save. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_CHUNK_BYTES 261120

/* Called with each piece of a file in order. */
typedef void (*bench_take)(void *ctx, const uint8_t *data, size_t len);

typedef struct bench_peer {
    const char *name;
    const char *setting; /* what was chosen for it, for the report */
    void *(*open)(const char *folder);
    void (*put)(void *store, uint64_t file, const uint8_t *data, size_t len,
                size_t chunk_bytes); /* durable when it returns; any number of threads */
    void (*get)(void *store, uint64_t file, bench_take take, void *ctx);
    void (*get_range)(void *store, uint64_t file, uint64_t offset, bench_take take,
                      void *ctx);               /* 4 KiB from offset */
    void (*remove)(void *store, uint64_t file); /* durable */
    void (*close)(void *store);
    /* A file kept open for reading here and there; NULL, all three, where a read takes no such
     * thing and get_range is the same. */
    void *(*open_file)(void *store, uint64_t file);
    void (*read_at)(void *handle, uint64_t offset, bench_take take, void *ctx); /* 4 KiB */
    void (*close_file)(void *handle);
    bool only_large; /* takes part where files of 16 MiB are put, since nothing else differs */
} bench_peer;

extern const bench_peer bench_ashlar, bench_ashlar_bare, bench_raw, bench_lmdb, bench_sqlite,
    bench_rocksdb;
extern const bench_peer *bench_peers[]; /* NULL-terminated, Ashlar first */

double bench_now(void);                                    /* seconds, monotonic */
void bench_fill(uint8_t *data, size_t len, uint64_t seed); /* incompressible */
_Noreturn void bench_die(const char *what, const char *why);
void bench_check(bool good, const char *what);
void bench_empty_folder(const char *folder);     /* remove what is in it; make it */
uint64_t bench_folder_bytes(const char *folder); /* blocks taken on the disk */
uint64_t
bench_device_bytes(const char *folder); /* written to its device since boot; 0 where unknown */
double bench_percentile(double *values, int count, double part); /* sorts */
void bench_report(const char *workload, const char *peer, double value,
                  const char *unit); /* a line of CSV */

#endif
