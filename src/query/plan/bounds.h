/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PLAN_BOUNDS_H
#define ASH_QUERY_PLAN_BOUNDS_H

/* What a filter's conditions say about the keys of an index. */

#include "query/match/node.h"
#include "query/plan/plan.h"
#include "query/plan/interval.h"

/* One condition that every match fulfils, with its path from the root. */
typedef struct ash_conjunct {
    const char *path; /* NULL: nothing an index could serve */
    const ash_match_node *node;
    const ash_match_node *elem; /* the $elemMatch it lies in, or NULL */
    bool consumed;              /* set while an index is tried: the ranges decide it */
} ash_conjunct;

typedef struct ash_conjuncts {
    ash_conjunct *items;
    uint32_t count, capacity;
    ash_scrap scrap;
} ash_conjuncts;
void ash__conjuncts_of(const ash_match_node *root, ash_conjuncts *out);
void ash__conjuncts_release(ash_conjuncts *c);

static inline const ash_collation *ash__pattern_collation(const ash_key_pattern *p)
{
    return p->has_collation ? &p->collation : NULL;
}

/* Both paths go through the same field of the root, so perhaps through the same array. */
bool ash__paths_share_field(const char *a, const char *b);

/* The bounds of one leaf condition on one part of an index.  false: it gives none.  The bounds are
 * normalised. */
typedef struct ash_bounds_rules {
    const ash_collation *collation; /* the index's */
    bool same_collation;            /* … and the query's: else strings say nothing */
    bool hashed;
    ash_scrap *scrap;
} ash_bounds_rules;
bool ash__bounds_of(const ash_match_node *n, const ash_bounds_rules *rules, ash_bounds *out);

/* All parts' bounds of an index, and how many of them go into the ranges: points, and one part more
 * with whatever it has. */
typedef struct ash_index_bounds {
    ash_bounds parts[ASH_KEY_MAX_PARTS];
    uint32_t used;
    uint32_t points; /* leading parts with points only */
    bool skips_missing;
    bool is_empty; /* no key can fulfil the filter */
} ash_index_bounds;
void ash__index_bounds(const ash_index_desc *index, ash_conjuncts *conjuncts,
                       const ash_collation *collation, ash_index_bounds *out);
void ash__index_bounds_release(ash_index_bounds *b, uint32_t part_count);

/* The byte ranges of the used parts, ascending.  merge_from: the part that a merge begins with. */
void ash__index_ranges(const ash_key_pattern *pattern, const ash_index_bounds *b,
                       uint32_t merge_from, ash_plan *plan);
/* How many ranges that is at most. */
uint64_t ash__index_range_count(const ash_index_bounds *b);
/* Which interval of a part the plan's range `at` goes through. */
uint32_t ash__index_range_interval(const ash_key_pattern *pattern, const ash_index_bounds *b,
                                   uint32_t part, uint32_t at);

/* How a scan of these ranges comes in the order of the sort, if it does. */
typedef struct ash_index_order {
    bool backward;       /* against the keys */
    bool merges;         /* the ranges have to be merged */
    uint32_t merge_from; /* … by the keys' parts from this one on */
} ash_index_order;
bool ash__index_provides_sort(const ash_index_desc *index, const ash_index_bounds *b,
                              const ash_key_pattern *sort, ash_index_order *out);

/* The visible index that the query's hint names, or NULL. */
const ash_index_desc *ash__plan_hinted_index(const ash_plan_query *q);
/* A hinted partial index must hold all documents of the query: else ASH_EINVAL. */
int ash__plan_check_partial(const ash_plan_query *q, const ash_index_desc *index, ash_error *err);

#endif
