/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BENCH_COMMITS_H
#define ASH_BENCH_COMMITS_H

#include <stddef.h>
#include <stdint.h>

struct commit_times { /* microseconds; bulk: MB/s meanwhile */
    double idle_p50, idle_p99, busy_p50, busy_p99, bulk;
};

/* Durable one-document inserts, one thread, beside uploads of `len` bytes that are deleted again.
 */
void bench_commits(const char *folder, const uint8_t *data, size_t len, struct commit_times *out);

#endif
