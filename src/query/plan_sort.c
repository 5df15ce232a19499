/* SPDX-License-Identifier: Apache-2.0 */
#include "query/plan_bounds.h"

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

/* The sort's parts must be the index's parts behind the fixed ones, all in one direction or all in
 * the other, and no part of the index may be left over: it would break ties otherwise than by
 * insertion order. */
bool ash__index_provides_sort(const ash_index_desc *index, const ash_index_bounds *b,
                              const ash_key_pattern *sort, bool *backward)
{
    const ash_key_pattern *key = index->pattern;
    uint32_t at = 0;
    int direction = 0;
    if (!ash__collations_agree(ash__pattern_collation(key), ash__pattern_collation(sort)))
        return false;
    for (uint32_t i = 0; i < sort->count; i++) {
        const ash_key_part *wanted = &sort->parts[i];
        while (at < key->count && is_one_point(b, at) &&
               (strcmp(key->parts[at].path, wanted->path) != 0 || is_fixed(index, b, wanted->path)))
            at++;
        if (is_fixed(index, b, wanted->path))
            continue;
        if (at == key->count || strcmp(key->parts[at].path, wanted->path) != 0 ||
            key->parts[at].hashed || !is_whole_on_multikey(index, b, at))
            return false;
        int this_way = key->parts[at].descending == wanted->descending ? 1 : -1;
        if (direction == 0)
            direction = this_way;
        if (direction != this_way)
            return false;
        at++;
    }
    while (at < key->count && is_one_point(b, at))
        at++;
    *backward = direction < 0;
    return at == key->count;
}
