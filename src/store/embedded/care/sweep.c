/* SPDX-License-Identifier: Apache-2.0 */
/* The one thread that looks after a store: it sleeps until something is due, and does one round of
 * each thing at a time. */

#include "store/embedded/care/sweep.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "store/embedded/kit/batch.h"
#include "store/embedded/kit/dated_snapshot.h"
#include "store/embedded/kit/kept_snapshot.h"
#include "store/embedded/write/retry.h"

enum { RETRY_SWEEP_MS = 60000, SNAPSHOT_WATCH_MS = 1000 };

/* The metadata is looked at soon after opening, and then every hour, in pieces of some MiB with a
 * short rest after each: LMDB can reuse no page meanwhile. */
enum { FIRST_CENSUS_MS = 500, CENSUS_EVERY_MS = 3600000, CENSUS_REST_MS = 4 };

/* Beside a busy writer the file of metadata grows fast, as long as a snapshot is kept. */
static void watch_snapshots(ash_embedded *s)
{
    ash_error err = ASH_ERROR_INIT;
    uint64_t commit = 0, past = ash__dated_snapshots_oldest(s),
             held = ash__kept_snapshots_oldest(s);
    uint64_t oldest = past < held ? past : held;
    if (oldest != UINT64_MAX &&
        ash__snapshots_in_the_way(s->engine, oldest, s->snapshot_bytes, &commit, &err) != 0)
        ash__log(ASH_LOG_WARN, "cannot find out what snapshots keep: %s", err.text);
    if (commit == 0)
        return;
    ash__log(ASH_LOG_INFO, "snapshots let go that kept more than %llu MiB of metadata",
             (unsigned long long)s->snapshot_bytes >> 20);
    ash__kept_snapshots_lapse_before(s, commit);
    ash__dated_snapshots_lapse_before(s, commit);
}

/* Sleeps, but no longer when a reader meets damage, and looks after kept snapshots meanwhile; false
 * when the store is closing. */
static bool sleep_until(ash_embedded *s, int64_t until_ms)
{
    int64_t watch_at = ash__clock_ms();
    for (int64_t now; !ash__embedded_is_closing(s) && (now = ash__clock_ms()) < until_ms;) {
        /* A reader has met damage, so the next census is due now. */
        if (ash__engine_is_doubted(s->engine))
            break;
        if (now >= watch_at) {
            watch_snapshots(s);
            watch_at = now + SNAPSHOT_WATCH_MS;
        }
        ash__monitor_lock(s->monitor);
        /* Asked again under the monitor, or the wake-up of a close in between would be missed. */
        if (!s->closing)
            ash__monitor_wait_until(s->monitor, watch_at < until_ms ? watch_at : until_ms);
        ash__monitor_unlock(s->monitor);
    }
    return !ash__embedded_is_closing(s);
}

static void ttl_round(ash_embedded *s)
{
    ash_error err = ASH_ERROR_INIT;
    if (ash__ttl_sweep(s, &err) != 0)
        ash__log(ASH_LOG_WARN, "cannot delete expired documents: %s", err.text);
}

static void retry_round(ash_embedded *s)
{
    ash_error err = ASH_ERROR_INIT;
    if (ash__retry_sweep(s, ash__clock_wall_ms() - ASH_RETRY_KEEP_MS, &err) != 0)
        ash__log(ASH_LOG_WARN, "cannot delete old retry results: %s", err.text);
}

static bool is_going_on(void *ctx)
{
    return !ash__embedded_is_closing(ctx);
}

/* The others' turns go on. */
static bool rest(void *ctx)
{
    watch_snapshots(ctx);
    ash__batch_memory_touch_all(ctx);
    return sleep_until(ctx, ash__clock_ms() + CENSUS_REST_MS);
}

/* What it finds is in the log and in serverStatus, and keeps others from deleting. */
static void census_round(ash_embedded *s)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__engine_census(s->engine, rest, s, &err);
    if (rc != 0 && rc != ASH_EINTERRUPTED)
        ash__log(ASH_LOG_WARN, "cannot look for damage: %s", err.text);
}

/* Pins are looked after several times before they could lapse. */
static int64_t pause_of(const ash_embedded *s)
{
    /* + 1: a test may set the timeout to next to nothing. */
    int64_t for_pins = s->pin_timeout_ms / 4 + 1;
    return for_pins < s->ttl_interval_ms ? for_pins : s->ttl_interval_ms;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void *sweep(void *arg)
{
    ash_embedded *s = arg;
    int64_t ttl_at = ash__clock_ms() + s->ttl_interval_ms;
    int64_t retries_at = ash__clock_ms() + RETRY_SWEEP_MS;
    int64_t census_at = ash__clock_ms() + FIRST_CENSUS_MS;
    while (sleep_until(s, earlier(census_at, ash__clock_ms() + pause_of(s)))) {
        if (ash__clock_ms() >= census_at || ash__engine_is_doubted(s->engine)) {
            census_round(s);
            census_at = ash__clock_ms() + CENSUS_EVERY_MS;
        }
        ash__batch_memory_touch_all(s);
        ash__kept_snapshots_lapse(s);
        s->files->lapse(s);
        ash__dated_snapshots_lapse(s);
        if (ash__clock_ms() >= ttl_at) {
            ttl_round(s);
            ttl_at = ash__clock_ms() + s->ttl_interval_ms;
        }
        if (ash__clock_ms() >= retries_at) {
            retry_round(s);
            retries_at = ash__clock_ms() + RETRY_SWEEP_MS;
        }
        ash__engine_trim(s->engine, is_going_on, s);
    }
    return NULL;
}

int ash__sweep_start(ash_embedded *s, ash_error *err)
{
    int failed = ash__thread_start(&s->sweeper, 0, sweep, s);
    if (failed != 0)
        return ash__fail_errno(err, failed, "cannot start the sweeper");
    s->has_sweeper = true;
    return 0;
}

void ash__sweep_stop(ash_embedded *s)
{
    if (!s->has_sweeper)
        return;
    ash__monitor_lock(s->monitor);
    /* Everything that runs for long looks at this between two steps. */
    s->closing = true;
    ash__monitor_wake_all(s->monitor);
    ash__monitor_unlock(s->monitor);
    pthread_join(s->sweeper, NULL);
    s->has_sweeper = false;
}
