/* SPDX-License-Identifier: Apache-2.0 */
/* Does a scan of the bounded ranges come in the order of the sort? */
#include "query/plan/bounds.h"

#include <string.h>

static bool is_one_point(const ash_index_bounds *b, uint32_t part)
{
    return part < b->points && b->parts[part].count == 1;
}

/* A part that all documents found share.  On a multikey index a document has other keys too, and
 * its place in the sort may come from one of those. */
static bool is_fixed(const ash_index_desc *index, const ash_index_bounds *b, const char *path)
{
    if (index->multikey)
        return false;
    for (uint32_t i = 0; i < index->pattern->count; i++)
        if (strcmp(index->pattern->parts[i].path, path) == 0)
            return is_one_point(b, i);
    return false;
}

/* The first key of a document that a multikey scan meets must be the smallest that it has at all:
 * no bounds on the sorted part, and none on another part below the same array. */
static bool is_whole_on_multikey(const ash_index_desc *index, const ash_index_bounds *b,
                                 uint32_t part)
{
    const ash_key_part *parts = index->pattern->parts;
    if (!index->multikey)
        return true;
    if (part < b->used)
        return false;
    for (uint32_t i = 0; i < b->used; i++)
        if (ash__paths_share_field(parts[i].path, parts[part].path))
            return false;
    return true;
}

/* A part that the sort need not name: one point; in front of the sort's parts several, when the
 * ranges are merged. */
static bool may_skip(const ash_index_bounds *b, uint32_t part, bool in_front)
{
    return is_one_point(b, part) || (in_front && part < b->points);
}

/* The sort's parts must be the index's parts behind the fixed ones, all in one direction or all in
 * the other, and no part of the index may be left over: it would break ties otherwise than by
 * insertion order. */
static bool matches_sort(const ash_index_desc *index, const ash_index_bounds *b,
                         const ash_key_pattern *sort, ash_index_order *out)
{
    const ash_key_pattern *key = index->pattern;
    uint32_t at = 0;
    int direction = 0;
    for (uint32_t i = 0; i < sort->count; i++) {
        /* Parts that the sort does not name are passed over as long as they are the same for
         * all. */
        const ash_key_part *wanted = &sort->parts[i];
        while (at < key->count && may_skip(b, at, out->merges && direction == 0) &&
               (strcmp(key->parts[at].path, wanted->path) != 0 || is_fixed(index, b, wanted->path)))
            at++;
        if (is_fixed(index, b, wanted->path))
            continue;
        if (at == key->count || strcmp(key->parts[at].path, wanted->path) != 0 ||
            key->parts[at].hashed || !is_whole_on_multikey(index, b, at))
            return false;
        /* A scan may go backwards, but then with all parts. */
        int this_way = key->parts[at].descending == wanted->descending ? 1 : -1;
        if (direction == 0) {
            direction = this_way;
            out->merge_from = at;
        }
        if (direction != this_way)
            return false;
        at++;
    }
    while (at < key->count && may_skip(b, at, out->merges && direction == 0))
        at++;
    if (direction == 0)
        out->merge_from = at;
    out->backward = direction < 0;
    return at == key->count;
}

bool ash__index_provides_sort(const ash_index_desc *index, const ash_index_bounds *b,
                              const ash_key_pattern *sort, ash_index_order *out)
{
    *out = (ash_index_order){false, false, 0};
    /* Elements without the field sort as null, and a sparse index has no key for them. */
    if (index->sparse && index->multikey)
        return false;
    if (!ash__collations_agree(ash__pattern_collation(index->pattern),
                               ash__pattern_collation(sort)))
        return false;
    /* Without merging first, which takes a cursor for each range. */
    if (matches_sort(index, b, sort, out))
        return true;
    out->merges = true;
    if (ash__index_range_count(b) <= ASH_PLAN_MERGE_MAX && matches_sort(index, b, sort, out))
        return true;
    *out = (ash_index_order){false, false, 0};
    return false;
}
