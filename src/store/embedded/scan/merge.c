/* SPDX-License-Identifier: Apache-2.0 */
/* Several ranges of one index in one order: each is read one key ahead, and the smallest goes
 * first. */

#include "store/embedded/scan/merge.h"

#include <string.h>

typedef struct stream {
    ash_scan *scan;
    ash_scan_hit hit;
    bool is_ahead; /* hit is read and not given yet */
    bool ended;
    bool has_given; /* … up to here, where a new scan begins */
    uint64_t given_rid;
    ash_buffer given_key;
} stream;

struct ash_scan_merge {
    const ash_plan *plan;
    stream *streams; /* one a range */
};

ash_scan_merge *ash__scan_merge_new(const ash_plan *plan)
{
    ash_scan_merge *m = ash__new(ash_scan_merge);
    m->plan = plan;
    m->streams = ash__alloc_array(plan->range_count, sizeof *m->streams);
    return m;
}

static void open_stream(const ash_plan *plan, const ash_key_range *range, stream *s,
                        ash_snapshot *snap)
{
    const ash_scan_range keys = {
        {range->from.data, range->from.len}, {range->to.data, range->to.len}, plan->backward};
    /* A paused scan begins behind what was given; what was only read ahead is read again. */
    ash_scan_hit after = {s->given_rid, {s->given_key.data, s->given_key.len}};
    s->scan = ash__scan_index(snap, plan->index->handle, &keys, s->has_given ? &after : NULL);
}

static int read_ahead(ash_scan_merge *m, uint32_t at, ash_snapshot *snap, ash_error *err)
{
    stream *s = &m->streams[at];
    if (s->is_ahead || s->ended)
        return 0;
    if (s->scan == NULL)
        open_stream(m->plan, &m->plan->ranges[at], s, snap);
    int rc = ash__scan_next(s->scan, &s->hit, &s->is_ahead, err);
    s->ended = rc == 0 && !s->is_ahead;
    if (s->ended) {
        ash__scan_free(s->scan);
        s->scan = NULL;
    }
    return rc;
}

static ash_doc behind_prefix(const ash_scan_merge *m, uint32_t at)
{
    size_t prefix = m->plan->ranges[at].prefix_len;
    ash_doc key = m->streams[at].hit.key;
    ash_assert(key.len >= prefix);
    return (ash_doc){key.data + prefix, key.len - prefix};
}

static bool comes_before(const ash_scan_merge *m, uint32_t a, uint32_t b)
{
    ash_doc x = behind_prefix(m, a), y = behind_prefix(m, b);
    /* No encoding begins with another one. */
    int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
    if (order != 0)
        return m->plan->backward ? order > 0 : order < 0;
    /* Equal keys in the order of insertion, in both directions. */
    return m->streams[a].hit.rid < m->streams[b].hit.rid;
}

int ash__scan_merge_next(ash_scan_merge *m, ash_snapshot *snap, ash_scan_hit *hit, bool *found,
                         ash_error *err)
{
    uint32_t best = UINT32_MAX;
    *found = false;
    for (uint32_t i = 0; i < m->plan->range_count; i++) {
        int rc = read_ahead(m, i, snap, err);
        if (rc != 0)
            return rc;
        if (m->streams[i].is_ahead && (best == UINT32_MAX || comes_before(m, i, best)))
            best = i;
    }
    if (best == UINT32_MAX)
        return 0;
    stream *s = &m->streams[best];
    *hit = s->hit;
    *found = true;
    s->is_ahead = false;
    s->has_given = true;
    s->given_rid = s->hit.rid;
    ash__buffer_clear(&s->given_key);
    ash__buffer_append(&s->given_key, s->hit.key.data, s->hit.key.len);
    return 0;
}

void ash__scan_merge_pause(ash_scan_merge *m)
{
    for (uint32_t i = 0; m != NULL && i < m->plan->range_count; i++) {
        ash__scan_free(m->streams[i].scan);
        m->streams[i].scan = NULL;
        /* Its key is a view into the snapshot that is about to end. */
        m->streams[i].is_ahead = false;
    }
}

void ash__scan_merge_free(ash_scan_merge *m)
{
    if (m == NULL)
        return;
    ash__scan_merge_pause(m);
    for (uint32_t i = 0; i < m->plan->range_count; i++)
        ash__buffer_release(&m->streams[i].given_key);
    ash__free(m->streams);
    ash__free(m);
}
