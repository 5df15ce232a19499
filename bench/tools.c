/* SPDX-License-Identifier: Apache-2.0 */
/* What all benchmarks share: time, data that does not compress, folders and devices, percentiles. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "peer.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void bench_fill(uint8_t *data, size_t len, uint64_t seed)
{
    /* Spread, so that seeds that follow each other give other bytes; xorshift must not begin with
     * 0. */
    uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i + 8 <= len; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(data + i, &x, 8);
    }
}

_Noreturn void bench_die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

void bench_check(bool good, const char *what)
{
    if (!good)
        bench_die(what, "failed");
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void bench_empty_folder(const char *folder)
{
    nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
    bench_check(mkdir(folder, 0700) == 0, "make folder");
}

static uint64_t counted;

static int count_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)path, (void)flag, (void)ftw;
    counted += (uint64_t)st->st_blocks * 512;
    return 0;
}

uint64_t bench_folder_bytes(const char *folder)
{
    counted = 0;
    nftw(folder, count_entry, 32, FTW_PHYS);
    return counted;
}

uint64_t bench_device_bytes(const char *folder)
{
    struct stat st;
    char path[64];
    unsigned long long sectors = 0;
    if (stat(folder, &st) != 0)
        return 0;
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/stat", major(st.st_dev), minor(st.st_dev));
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    /* The seventh number: sectors of 512 bytes written. */
    if (fscanf(f, "%*u %*u %*u %*u %*u %*u %llu", &sectors) != 1)
        sectors = 0;
    fclose(f);
    return sectors * 512;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_percentile(double *values, int count, double part)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[(int)((double)(count - 1) * part + 0.5)];
}

void bench_report(const char *workload, const char *peer, double value, const char *unit)
{
    printf("%s,%s,%.6g,%s\n", workload, peer, value, unit);
    fflush(stdout);
}
