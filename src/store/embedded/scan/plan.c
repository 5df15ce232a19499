/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan: ranges and branches one after the other, each record once, its filter tried on keys
 * before its document is fetched. */

#include "store/embedded/scan/plan.h"

/* The clock is not asked for each key. */
#define TICKS_PER_CHECK 100

static uint32_t count_leaves(const ash_plan *p)
{
    if (p->kind != ASH_PLAN_OR)
        return 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->branch_count; i++)
        n += count_leaves(p->branches[i]);
    return n;
}

static void collect_leaves(ash_scan_plan *s, const ash_plan *p)
{
    if (p->kind != ASH_PLAN_OR)
        s->leaves[s->leaf_count++] = p;
    for (uint32_t i = 0; i < p->branch_count; i++)
        collect_leaves(s, p->branches[i]);
}

/* Ranges alone do not decide. */
static bool must_test(const ash_scan_plan *p, const ash_plan *leaf)
{
    return leaf->needs_fetch_filter || p->request->plan->needs_fetch_filter;
}

void ash__scan_plan_init(ash_scan_plan *p, ash_request *r, const ash_op *op,
                         enum ash_scan_fetch fetch)
{
    *p = (ash_scan_plan){.request = r, .op = op, .fetch = fetch};
    p->leaves = ash__alloc_array(count_leaves(r->plan) + 1, sizeof *p->leaves);
    collect_leaves(p, r->plan);
    /* Two branches may lead to one record, and so may two keys of an array. */
    p->dedupe = p->leaf_count > 1;
    for (uint32_t i = 0; i < p->leaf_count; i++)
        p->dedupe = p->dedupe || p->leaves[i]->may_repeat;
    if (r->plan->merges)
        p->merge = ash__scan_merge_new(r->plan);
    p->key_filters = ash__alloc_array(p->leaf_count + 1, sizeof *p->key_filters);
    for (uint32_t i = 0; i < p->leaf_count; i++)
        if (p->leaves[i]->kind == ASH_PLAN_IXSCAN && must_test(p, p->leaves[i]))
            p->key_filters[i] = ash__key_filter_new(r->filter, p->leaves[i]->index);
}

int ash__scan_plan_attach(ash_scan_plan *p, ash_snapshot *snap, const ash_coll *coll,
                          ash_error *err)
{
    int rc = ash__request_attach(p->request, coll, err);
    if (rc != 0)
        return rc;
    p->snap = snap;
    p->coll = coll;
    /* An index that has become multikey meanwhile may bring a document up again. */
    for (uint32_t i = 0; i < p->leaf_count; i++)
        if (p->leaves[i]->kind == ASH_PLAN_IXSCAN && p->leaves[i]->index->multikey)
            p->dedupe = true;
    return 0;
}

void ash__scan_plan_detach(ash_scan_plan *p)
{
    if (p->scan != NULL && p->has_hit) {
        p->after_rid = p->hit.rid;
        p->has_after = true;
        /* The key is a view into the snapshot that is about to end. */
        ash__buffer_clear(&p->after_key);
        if (p->hit.key.len > 0)
            ash__buffer_append(&p->after_key, p->hit.key.data, p->hit.key.len);
    }
    p->has_hit = false;
    ash__scan_free(p->scan);
    p->scan = NULL;
    ash__scan_merge_pause(p->merge);
    p->snap = NULL;
    p->coll = NULL;
}

void ash__scan_plan_rewind_end(ash_scan_plan *p)
{
    p->leaf = 0;
    p->range = 0;
}

void ash__scan_plan_release(ash_scan_plan *p)
{
    ash__scan_plan_detach(p);
    ash__scan_merge_free(p->merge);
    ash__rid_set_release(&p->seen);
    ash__buffer_release(&p->after_key);
    for (uint32_t i = 0; i < p->leaf_count; i++)
        ash__key_filter_free(p->key_filters[i]);
    ash__free(p->key_filters);
    ash__free(p->leaves);
    *p = (ash_scan_plan){0};
}

static uint32_t range_total(const ash_plan *leaf)
{
    switch (leaf->kind) {
    case ASH_PLAN_IXSCAN:
        return leaf->range_count;
    case ASH_PLAN_COLLSCAN:
        return 1;
    default:
        return 0;
    }
}

static ash_scan *open_range(const ash_scan_plan *p, const ash_plan *leaf)
{
    if (leaf->kind == ASH_PLAN_COLLSCAN)
        return ash__scan_records(p->snap, p->coll, leaf->backward, p->has_after ? p->after_rid : 0);
    /* Ranges stand in ascending order; backward they are run from the last. */
    uint32_t at = leaf->backward ? leaf->range_count - 1 - p->range : p->range;
    const ash_key_range *range = &leaf->ranges[at];
    const ash_scan_range keys = {
        {range->from.data, range->from.len}, {range->to.data, range->to.len}, leaf->backward};
    ash_scan_hit after = {p->after_rid, {p->after_key.data, p->after_key.len}};
    return ash__scan_index(p->snap, leaf->index->handle, &keys, p->has_after ? &after : NULL);
}

/* The next key or record of the plan, unfiltered.  *leaf NULL at the end. */
static int next_hit(ash_scan_plan *p, const ash_plan **leaf, ash_error *err)
{
    if (p->merge != NULL) {
        bool found = false;
        int rc = ash__scan_merge_next(p->merge, p->snap, &p->hit, &found, err);
        *leaf = found ? p->leaves[0] : NULL;
        return rc;
    }
    for (; p->leaf < p->leaf_count; p->leaf++, p->range = 0) {
        const ash_plan *now = p->leaves[p->leaf];
        while (p->range < range_total(now)) {
            bool found = false;
            if (p->scan == NULL)
                p->scan = open_range(p, now);
            int rc = ash__scan_next(p->scan, &p->hit, &found, err);
            if (rc != 0)
                return rc;
            if (found) {
                p->has_hit = true;
                if (now->kind == ASH_PLAN_COLLSCAN) {
                    p->after_rid = p->hit.rid;
                    p->has_after = true;
                }
                *leaf = now;
                return 0;
            }
            ash__scan_free(p->scan);
            p->scan = NULL;
            p->has_hit = false;
            /* The next range has a beginning of its own; behind the last record a tail goes on. */
            p->has_after = now->kind == ASH_PLAN_COLLSCAN && p->has_after;
            p->range++;
        }
        /* Only the last branch can be gone on with: a tail has just the one. */
        p->has_after = p->has_after && p->leaf + 1 == p->leaf_count;
    }
    *leaf = NULL;
    return 0;
}

static int fetch(ash_scan_plan *p, uint64_t rid, bool whole, ash_record *out, bool *found,
                 ash_error *err)
{
    if (!whole)
        return ash__record_locate(p->snap, p->coll, rid, out, found, err);
    p->docs_examined++;
    int rc = ash__record_get(p->snap, p->coll, rid, out, found, err);
    /* An error about a chunk that names no file helps nobody. */
    if (rc == ASH_ECORRUPT && p->request->files != NULL)
        p->request->files->name_damage(p->coll->name, p->request->filter, err);
    return rc;
}

/* What the key at hand says before its document is fetched. */
static enum ash_key_verdict try_key(ash_scan_plan *p, const ash_plan *leaf)
{
    ash_key_filter **filter = &p->key_filters[p->merge != NULL ? 0 : p->leaf];
    /* An index may have become multikey since the scan began. */
    if (*filter == NULL || leaf->index->multikey)
        return ASH_KEY_UNSURE;
    enum ash_key_verdict v = ash__key_filter_test(*filter, p->hit.key);
    /* It has not decided anything for long: trying it costs more than it saves. */
    if (ash__key_filter_is_idle(*filter)) {
        ash__key_filter_free(*filter);
        *filter = NULL;
    }
    return v;
}

int ash__scan_plan_next(ash_scan_plan *p, ash_record *out, ash_match_details *details, bool *found,
                        ash_error *err)
{
    const ash_plan *leaf = NULL;
    *found = false;
    for (;;) {
        int rc = p->ticks++ % TICKS_PER_CHECK == 0 ? ash__op_check(p->op, err) : 0;
        if (rc == 0)
            rc = next_hit(p, &leaf, err);
        if (rc != 0 || leaf == NULL)
            return rc;
        p->keys_examined += leaf->kind == ASH_PLAN_IXSCAN;
        /* Before the filter, whose verdict would be the same. */
        if (p->dedupe && !ash__rid_set_add(&p->seen, p->hit.rid))
            continue;
        enum ash_key_verdict verdict = try_key(p, leaf);
        if (verdict == ASH_KEY_FAILS)
            continue;
        bool test = must_test(p, leaf) && verdict != ASH_KEY_MATCHES;
        bool whole = test || p->fetch == ASH_FETCH_DOC || details != NULL;
        *out = (ash_record){.rid = p->hit.rid};
        if (!whole && p->fetch == ASH_FETCH_NONE) {
            *found = true;
            return 0;
        }
        bool there = false;
        rc = fetch(p, p->hit.rid, whole, out, &there, err);
        /* One snapshot shows both, so a key without its record is damage, not a deletion. */
        if (rc == 0 && !there && leaf->kind == ASH_PLAN_IXSCAN)
            rc = ash__fail(err, ASH_ECORRUPT, "%s.%s: index %s leads to a record that is not there",
                           p->coll->db, p->coll->name, leaf->index->name);
        if (rc == 0 && there && (test || details != NULL))
            rc = ash__matcher_check(p->request->filter, out->doc, details, &there, err);
        if (rc != 0)
            return rc;
        if (there) {
            *found = true;
            return 0;
        }
    }
}

int ash__scan_plan_reget(ash_scan_plan *p, uint64_t rid, ash_record *out,
                         ash_match_details *details, bool *found, ash_error *err)
{
    int rc = fetch(p, rid, true, out, found, err);
    if (rc == 0 && *found)
        rc = ash__matcher_check(p->request->filter, out->doc, details, found, err);
    return rc;
}
