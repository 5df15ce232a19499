/* SPDX-License-Identifier: Apache-2.0 */
#include "base/share.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <unistd.h>

#define STEP_BYTES  ((size_t)256 * 1024)
#define LEAST_TOTAL ((size_t)512 * 1024 * 1024)

static _Atomic size_t total; /* 0: not asked for yet */
static _Atomic size_t used;

static size_t default_total(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    /* Some systems do not say how much memory there is. */
    size_t quarter = pages > 0 && page > 0 ? (size_t)pages / 4 * (size_t)page : 0;
    return quarter > LEAST_TOTAL ? quarter : LEAST_TOTAL;
}

static size_t current_total(void)
{
    size_t t = atomic_load_explicit(&total, memory_order_relaxed);
    /* Two who ask at once get the same answer. */
    if (t == 0) {
        t = default_total();
        atomic_store_explicit(&total, t, memory_order_relaxed);
    }
    return t;
}

/* Rounded down: what stays below a step never touches the counter that all threads share. */
static size_t in_steps(size_t used_bytes)
{
    return used_bytes / STEP_BYTES * STEP_BYTES;
}

int ash__share_grow(ash_share *s, size_t used_bytes, const char *what, ash_error *err)
{
    size_t want = in_steps(used_bytes);
    if (want <= s->held)
        return 0;
    size_t more = want - s->held, limit = current_total();
    /* Taken first and given back if it was too much: two who looked first could both go on. */
    if (atomic_fetch_add(&used, more) + more > limit) {
        atomic_fetch_sub(&used, more);
        return ash__fail_server(err, ASH_ENOMEM, ASH_MONGO_EXCEEDED_MEMORY_LIMIT,
                                "no memory for %s: all operations together may use %zu MiB for "
                                "intermediate results",
                                what, limit / 1024 / 1024);
    }
    s->held = want;
    return 0;
}

void ash__share_shrink(ash_share *s, size_t used_bytes)
{
    size_t want = in_steps(used_bytes);
    if (want >= s->held)
        return;
    size_t before = atomic_fetch_sub(&used, s->held - want);
    ash_assert(before >= s->held - want);
    s->held = want;
}

void ash__share_set_total(size_t total_bytes)
{
    atomic_store(&total, total_bytes);
}

size_t ash__share_used(void)
{
    return atomic_load(&used);
}
