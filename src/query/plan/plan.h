/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PLAN_PLAN_H
#define ASH_QUERY_PLAN_PLAN_H

#include "query/match/match.h"
#include "query/kit/sort.h"

/* Which index serves a query.  Pure: works on descriptions of indexes, returns byte ranges. */

typedef struct ash_index_desc {
    const char *name;
    const bson_t *key; /* as given at creation */
    const ash_key_pattern *pattern;
    const ash_matcher *partial; /* NULL: every document */
    bool unique;
    bool sparse;
    bool multikey; /* some document gave several keys */
    bool hidden;
    uint32_t kinds; /* ASH_KIND_… of all values that it ever had, or ASH_KINDS_UNKNOWN */
    void *handle;   /* the engine's own */
} ash_index_desc;

typedef struct ash_key_range { /* of index key encodings: from <= key < to (memcmp) */
    ash_buffer from;
    ash_buffer to;
    size_t prefix_len; /* merging: so many bytes of each key come before what it is merged by */
} ash_key_range;

/* More ranges than this are not merged, but sorted in memory: each has a cursor of its own. */
enum { ASH_PLAN_MERGE_MAX = 200 };

typedef enum ash_plan_kind {
    ASH_PLAN_EMPTY,
    ASH_PLAN_COLLSCAN,
    ASH_PLAN_IXSCAN,
    ASH_PLAN_OR
} ash_plan_kind;

typedef struct ash_plan {
    ash_plan_kind kind;
    const ash_index_desc *index; /* IXSCAN */
    ash_key_range *ranges;       /* ascending, disjoint */
    uint32_t range_count;
    bool backward;
    bool provides_sort;      /* scan order is the sort order: no SORT stage */
    bool merges;             /* … when the ranges are merged by their keys behind the prefix and
                                then by record, instead of read one behind the other */
    bool needs_fetch_filter; /* the ranges alone do not decide: test the matcher on the document */
    bool is_bounded;         /* IXSCAN: something narrows the ranges, not the sort alone */
    bool may_repeat;         /* multikey: the same document may come up more than once */
    struct ash_plan **branches; /* OR: one plan a branch (again an OR, or EMPTY, it may be), results
                                   united without repeats; where needs_fetch_filter is set test the
                                   whole filter */
    uint32_t branch_count;
    const ash_condition *condition; /* what the ranges come from; lives as long as the filter */
} ash_plan;

/* What is asked for, and the indexes that there are. */
typedef struct ash_plan_query {
    const ash_matcher *filter;
    const ash_sort_spec *sort; /* or NULL */
    ash_value hint;            /* index name or key document, {$natural: ±1}, or missing */
    const ash_index_desc *indexes;
    uint32_t index_count;
} ash_plan_query;

/* A hint that names no index: ASH_EINVAL, 2 BadValue.  The plan borrows filter and indexes, but not
 * the hint. */
int ash__plan_new(const ash_plan_query *q, ash_plan **out, ash_error *err);
/* All keys of the hinted index from min up to max, which is not in it; either may be empty: no
 * limit.  Both name all of the index's fields, in order.  51173 without a hint of an index, 51174
 * other fields, 51175 min is not below max, 51176 min and max name different fields. */
int ash__plan_between(const ash_plan_query *q, ash_doc min, ash_doc max, ash_plan **out,
                      ash_error *err);
void ash__plan_free(ash_plan *p);

/* The winningPlan document ({stage: "FETCH", filter, inputStage: {stage: "IXSCAN", keyPattern,
 * indexName, isMultiKey, isUnique, direction, indexBounds …}}), wrapped in SORT / SKIP / LIMIT /
 * PROJECTION as needed.  Fields are appended to out, which the caller has initialised; members of
 * shape may be NULL or 0. */
typedef struct ash_plan_shape {
    const bson_t *sort, *projection;
    int64_t skip, limit;
    bool covers; /* the command can do with what the projection gives */
} ash_plan_shape;
void ash__plan_explain(const ash_plan *p, const ash_matcher *filter, const ash_plan_shape *shape,
                       bson_t *out);

#endif
