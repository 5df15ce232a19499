/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>

/* A store that shrinks gives its disk space back.
 *
 * Free blocks are reused in place, and what is punched has to be allocated anew when it is: so what
 * the store is likely to need again is left alone.  That is as much as a share of what is in use,
 * and some more, so that small stores, which cost nobody much, are not punched at all. */
enum { SLACK_SHARE = 2 }; /* of what is in use: one in so many */
#define SLACK_BYTES (INT64_C(64) << 20)

/* Shorter spans are many to punch for little space, and leave the files in small pieces. */
enum { LEAST_SPAN_BYTES = 1 << 20 };

/* Who deletes much in order to write it anew has begun by then. */
enum { LOOK_EVERY_MS = 30000 };

/* Who waits for the folder's lock when the store is closed waits five seconds, if he did not say
 * otherwise.  What is left is given back by the next one. */
enum { AT_CLOSE_MS = 4000 };

static bool is_off(const ash_engine *e)
{
    return e->opts.read_only || e->opts.trim_slack_bytes < 0 || e->trim.failed;
}

static uint64_t slack(const ash_engine *e)
{
    return (uint64_t)(e->opts.trim_slack_bytes > 0 ? e->opts.trim_slack_bytes : SLACK_BYTES);
}

static void give_up(ash_engine *e, const ash_error *err)
{
    e->trim.failed = true;
    ash__log(ASH_LOG_WARN, "%s keeps its free space on the disk: %s", e->folder, err->text);
}

/* Do the files take much more than what is not free?  Freed blocks that a reader, a pin or a backup
 * may still need are not free. */
static bool takes_too_much(ash_engine *e, uint64_t *in_use, uint64_t *excess)
{
    ash_segments_stats stats;
    ash_error err = ASH_ERROR_INIT;
    uint64_t taken;
    *excess = 0;
    ash__segments_stats(e->segments, &stats);
    *in_use = (stats.blocks - stats.free) * ASH_BLOCK_BYTES;
    /* By the sums first, which cost nothing; asking the file system means a stat for each file. */
    uint64_t limit = *in_use / SLACK_SHARE + slack(e);
    if (stats.free * ASH_BLOCK_BYTES > limit) {
        if (ash__segments_taken(e->segments, &taken, &err) != 0) {
            give_up(e, &err);
            return false;
        }
        *excess = taken > *in_use ? taken - *in_use : 0;
    }
    /* What could not be given back the last time, as it lies in short spans, is not tried again. */
    if (*excess < e->trim.rest)
        e->trim.rest = *excess;
    return *excess > limit && *excess > e->trim.rest + slack(e);
}

static void give_back(ash_engine *e, bool (*go_on)(void *ctx), void *ctx)
{
    int64_t least = e->opts.trim_span_bytes != 0 ? e->opts.trim_span_bytes : LEAST_SPAN_BYTES;
    ash_punch_options opts = {
        .least_blocks = (uint32_t)(least / ASH_BLOCK_BYTES), .go_on = go_on, .ctx = ctx};
    ash_error err = ASH_ERROR_INIT;
    uint64_t freed = 0, in_use, rest = 0;
    /* Blocks are free because the metadata does not name them: it has to be sound. */
    int rc = ash__engine_require_whole(e, &err);
    if (rc == 0)
        rc = ash__segments_punch(e->segments, &opts, &freed, &err);
    if (rc != 0)
        give_up(e, &err);
    else if (go_on == NULL || go_on(ctx))
        takes_too_much(e, &in_use, &rest);
    e->trim.rest = rest;
    if (freed > 0)
        ash__log(ASH_LOG_INFO, "%s gave %" PRIu64 " MiB back to the file system", e->folder,
                 freed >> 20);
}

void ash__engine_trim(ash_engine *e, bool (*go_on)(void *ctx), void *ctx)
{
    ash_trim *t = &e->trim;
    uint64_t in_use, excess;
    int64_t now = ash__clock_ms();
    int64_t every = e->opts.trim_interval_ms != 0 ? e->opts.trim_interval_ms : LOOK_EVERY_MS;
    if (is_off(e) || (t->looked_ms != 0 && now < t->looked_ms + every))
        return;
    ash__segments_reap(e->segments, ash__snapshot_oldest(e));
    bool over = takes_too_much(e, &in_use, &excess);
    /* While the store is filled again, its blocks are. */
    bool give = over && t->was_over && in_use <= t->in_use + slack(e);
    if (give)
        give_back(e, go_on, ctx);
    /* From the end of it: punching may have taken longer than the interval. */
    t->looked_ms = ash__clock_ms();
    t->was_over = over && !give;
    t->in_use = in_use;
}

static bool is_before(void *deadline)
{
    return ash__clock_ms() < *(const int64_t *)deadline;
}

void ash__trim_at_close(ash_engine *e)
{
    uint64_t in_use, excess;
    int64_t deadline = ash__clock_ms() + AT_CLOSE_MS;
    if (is_off(e) || !e->closed_well)
        return;
    ash__segments_reap(e->segments, ash__snapshot_oldest(e));
    if (takes_too_much(e, &in_use, &excess))
        give_back(e, is_before, &deadline);
}
