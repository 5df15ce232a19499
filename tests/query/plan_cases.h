/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_QUERY_PLAN_CASES_H
#define ASH_TESTS_QUERY_PLAN_CASES_H

/* Indexes for planner tests, described in JSON: {'name': {'key': {…}, 'unique': true, 'sparse',
 * 'multikey', 'hidden', 'partial': {…}, 'ignoreCase': true}, …}. */

#include "cases.h"

#include "query/plan/plan.h"

#define MAX_INDEXES 8

struct plan_indexes {
    bson_t *spec;
    bson_t keys[MAX_INDEXES];
    ash_key_pattern patterns[MAX_INDEXES];
    ash_matcher *partials[MAX_INDEXES];
    ash_index_desc descs[MAX_INDEXES];
    uint32_t count;
};
void plan_indexes_init(struct plan_indexes *x, const char *json);
void plan_indexes_release(struct plan_indexes *x);

/* One planned query; everything in it lives until the release. */
struct planned {
    ash_matcher *matcher;
    ash_sort_spec *sort;
    bson_t *filter_bson, *sort_bson, *hint_bson;
    ash_plan *plan;
};
/* hint: {'': hint} or NULL. */
int plan_query(struct planned *q, const struct plan_indexes *x, const char *filter,
               const char *sort, const char *hint, const ash_query_env *env, ash_error *err);
void planned_release(struct planned *q);

/* "a_1 2 SFB": index (or COLLSCAN, EMPTY, OR), number of ranges, and letters for provides Sort,
 * Merges, needs Filter, Backward, may Repeat. */
void plan_summary(const ash_plan *p, char *text, size_t size);

#endif
