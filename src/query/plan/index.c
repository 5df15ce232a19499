/* SPDX-License-Identifier: Apache-2.0 */
/* Which conditions bound which parts of one index, and how far into its key the ranges can go. */
#include "query/plan/bounds.h"

#include "base/mem.h"

#include <string.h>

/* More ranges than this are not multiplied out: the parts behind are left to the filter. */
#define MAX_RANGE_PRODUCT 4096

static bool has_position(const char *path)
{
    for (const char *part = path; part != NULL;) {
        if (*part >= '0' && *part <= '9')
            return true;
        part = strchr(part, '.');
        if (part != NULL)
            part++;
    }
    return false;
}

/* Which $elemMatch bounded each part so far; the index itself for a plain condition. */
struct trial {
    const ash_index_desc *index;
    ash_conjuncts *conjuncts;
    ash_bounds_rules rules;
    const void *source[ASH_KEY_MAX_PARTS];
    /* Parts' conditions the bounds decide, should the part be used. */
    int32_t *decided_by;
};

/* On a multikey index one document's conditions on two parts below one array may hold for different
 * elements, whose keys lie apart: only those of one $elemMatch go together. */
static bool may_bound(const struct trial *t, uint32_t part, const ash_match_node *elem)
{
    const ash_key_pattern *pattern = t->index->pattern;
    /* One key a document: all its conditions speak of that key. */
    if (!t->index->multikey)
        return true;
    for (uint32_t i = 0; i < part; i++)
        if (t->source[i] != NULL &&
            ash__paths_share_field(pattern->parts[i].path, pattern->parts[part].path) &&
            (elem == NULL || t->source[i] != elem))
            return false;
    return true;
}

/* Points before ranges, one point before several. */
static bool is_better(const ash_bounds *a, const ash_bounds *b)
{
    bool a_points = ash__bounds_all_points(a), b_points = ash__bounds_all_points(b);
    if (a->is_all != b->is_all)
        return b->is_all;
    if (a_points != b_points)
        return a_points;
    return a_points && a->count < b->count;
}

/* Which of two conditions on one part of a multikey index bounds it.  A sparse one needs the
 * condition that a missing field does not meet: elements without the field have no key. */
static bool is_preferred(const struct trial *t, const ash_bounds *found, const ash_bounds *into)
{
    if (t->index->sparse && found->skips_missing != into->skips_missing)
        return found->skips_missing;
    return is_better(found, into);
}

static void take(struct trial *t, uint32_t part, uint32_t at, ash_bounds *found, ash_bounds *into,
                 bool first)
{
    const ash_conjunct *c = &t->conjuncts->items[at];
    /* An $elemMatch is kept as a condition of its own, and a number in a path may name a field or
     * an item. */
    bool decides = found->exact && c->elem == NULL && !has_position(c->path);
    if (first) {
        t->source[part] = c->elem != NULL ? (const void *)c->elem : t->index;
        ash__bounds_move(into, found);
        t->decided_by[at] = decides ? (int32_t)part : -1;
    } else if (!t->index->multikey) {
        /* Both conditions hold for the one key, so their bounds meet. */
        if (into->is_all) {
            bool skips = into->skips_missing || found->skips_missing;
            ash__bounds_move(into, found);
            into->skips_missing = skips;
        } else {
            ash__bounds_intersect(into, found);
        }
        t->decided_by[at] = decides ? (int32_t)part : -1;
    } else if (is_preferred(t, found, into)) {
        /* One element may fulfil the one condition and another the other: only one of the two
         * bounds the part, and what the former would have decided is left to the filter. */
        for (uint32_t i = 0; i < t->conjuncts->count; i++)
            if (t->decided_by[i] == (int32_t)part)
                t->decided_by[i] = -1;
        t->source[part] = c->elem != NULL ? (const void *)c->elem : t->index;
        ash__bounds_move(into, found);
        t->decided_by[at] = decides ? (int32_t)part : -1;
    }
}

/* A number names a position and a field.  Keys hold only the element at the position, so they do
 * not tell which other elements lack a field of that name. */
static bool is_told_by_keys(const ash_bounds *found, const char *path)
{
    return found->skips_missing || !has_position(path);
}

static bool bound_part(struct trial *t, uint32_t part, ash_bounds *out)
{
    const ash_key_part *key = &t->index->pattern->parts[part];
    bool any = false;
    bool skips_missing = false;
    t->rules.hashed = key->hashed;
    for (uint32_t i = 0; i < t->conjuncts->count; i++) {
        const ash_conjunct *c = &t->conjuncts->items[i];
        ash_bounds found;
        if (c->path == NULL || strcmp(c->path, key->path) != 0 || !may_bound(t, part, c->elem) ||
            !ash__bounds_of(c->node, &t->rules, &found))
            continue;
        if (is_told_by_keys(&found, key->path)) {
            skips_missing = skips_missing || found.skips_missing;
            take(t, part, i, &found, out, !any);
            any = true;
        }
        ash__bounds_release(&found);
    }
    if (!any)
        out->is_all = true;
    if (!t->index->multikey)
        out->skips_missing = skips_missing;
    return any;
}

/* Points may be followed by more parts, anything else ends what the ranges can say. */
static void count_used(const ash_key_pattern *pattern, ash_index_bounds *b)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < pattern->count; i++) {
        const ash_bounds *part = &b->parts[i];
        if (part->is_all)
            return;
        if (part->count == 0) {
            b->is_empty = true;
            return;
        }
        product *= part->count;
        /* The first part is used however long its $in is. */
        if (i > 0 && product > MAX_RANGE_PRODUCT)
            return;
        b->used = i + 1;
        /* Behind a range the keys of the next part begin anew with each value. */
        if (!ash__bounds_all_points(part))
            return;
        b->points = i + 1;
    }
}

void ash__index_bounds(const ash_index_desc *index, ash_conjuncts *conjuncts,
                       const ash_collation *collation, ash_index_bounds *out)
{
    const ash_key_pattern *pattern = index->pattern;
    memset(out, 0, sizeof *out);
    struct trial t = {.index = index, .conjuncts = conjuncts};
    t.rules.collation = ash__pattern_collation(pattern);
    t.rules.same_collation = ash__collations_agree(t.rules.collation, collation);
    t.rules.scrap = &conjuncts->scrap;
    t.decided_by = ash__alloc_array(conjuncts->count + 1, sizeof *t.decided_by);
    for (uint32_t i = 0; i < conjuncts->count; i++)
        t.decided_by[i] = -1;
    for (uint32_t i = 0; i < pattern->count; i++) {
        bound_part(&t, i, &out->parts[i]);
        out->skips_missing |= out->parts[i].skips_missing;
    }
    count_used(pattern, out);
    for (uint32_t i = 0; i < conjuncts->count; i++)
        conjuncts->items[i].consumed =
            t.decided_by[i] >= 0 && (uint32_t)t.decided_by[i] < out->used;
    ash__free(t.decided_by);
}

void ash__index_bounds_release(ash_index_bounds *b, uint32_t part_count)
{
    for (uint32_t i = 0; i < part_count; i++)
        ash__bounds_release(&b->parts[i]);
}
