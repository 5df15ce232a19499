/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing an index by rules, without statistics and without trying: what narrows most is known
 * from the conditions.  Only where no index narrows anything, the branches of an $or are tried one
 * by one. */
#include "query/plan/bounds.h"

#include "base/mem.h"

#include <string.h>

/* One usable index with what it would do for the query. */
typedef struct candidate {
    const ash_index_desc *index;
    ash_index_bounds bounds;
    uint32_t equal_parts; /* leading parts with points */
    bool is_one_document; /* a point on every part of a unique index */
    bool has_range;
    bool provides_sort;
    ash_index_order order;
    bool needs_filter;
} candidate;

/* A search for the best plan: of the whole query, or of one branch of an $or, which is planned like
 * a query of its own without a sort. */
typedef struct search {
    const ash_plan_query *query;
    const ash_match_node *root; /* of the conditions that the plan has to serve */
    const ash_sort_spec *sort;
} search;

static int branch_plans(const search *s, const ash_match_node *or_node, ash_plan **out);

static ash_plan *plan_new(ash_plan_kind kind)
{
    ash_plan *p = ash__new(ash_plan);
    p->kind = kind;
    return p;
}

void ash__plan_free(ash_plan *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->range_count; i++) {
        ash__buffer_release(&p->ranges[i].from);
        ash__buffer_release(&p->ranges[i].to);
    }
    for (uint32_t i = 0; i < p->branch_count; i++)
        ash__plan_free(p->branches[i]);
    ash__free(p->ranges);
    ash__free(p->branches);
    ash__free(p);
}

static void candidate_release(candidate *c)
{
    if (c->index != NULL)
        ash__index_bounds_release(&c->bounds, c->index->pattern->count);
    memset(c, 0, sizeof *c);
}

/* A single point on the first part is as good as a range of any length is not. */
static bool is_single_points(const ash_index_bounds *b)
{
    for (uint32_t i = 0; i < b->points; i++)
        if (b->parts[i].count != 1)
            return false;
    return true;
}

static void try_index(const search *s, const ash_index_desc *index, ash_conjuncts *conjuncts,
                      candidate *out)
{
    const ash_key_pattern *sort = ash__sort_spec_pattern(s->sort);
    memset(out, 0, sizeof *out);
    out->index = index;
    ash__index_bounds(index, conjuncts, ash__matcher_collation(s->query->filter), &out->bounds);
    const ash_index_bounds *b = &out->bounds;
    out->equal_parts = b->points;
    /* A sparse index narrows by itself, to the documents that have the field. */
    out->has_range = b->used > b->points || (b->used == 0 && index->sparse && b->skips_missing);
    out->is_one_document =
        index->unique && b->points == index->pattern->count && is_single_points(b);
    out->provides_sort = sort == NULL ? ash__sort_spec_natural(s->sort) == 0
                                      : ash__index_provides_sort(index, b, sort, &out->order);
    /* One document is in any order; natural order is not asked of indexes. */
    out->provides_sort |= sort != NULL && out->is_one_document;
    for (uint32_t i = 0; i < conjuncts->count; i++)
        out->needs_filter |= !conjuncts->items[i].consumed;
}

/* May this index be asked at all?  It must hold every document that matches. */
static bool is_complete(const search *s, const candidate *c)
{
    /* A partial index is held against whole filters, so it cannot serve a branch alone. */
    const ash_index_desc *index = c->index;
    const ash_matcher *filter = s->query->filter;
    if (index->sparse && !c->bounds.skips_missing)
        return false;
    return index->partial == NULL ||
           (s->root == filter->root && ash__matcher_implies(filter, index->partial));
}

static bool is_useful(const search *s, const candidate *c)
{
    bool sorts = ash__sort_spec_pattern(s->sort) != NULL && c->provides_sort;
    return c->bounds.is_empty || c->equal_parts > 0 || c->has_range || sorts;
}

static bool is_better(const candidate *a, const candidate *b)
{
    if (b->index == NULL)
        return true;
    /* From what narrows for certain to what may be of use: one document, equalities, a range, an
     * order; then what saves work.  Of equals the one with fewer parts, whose keys are shorter. */
    if (a->is_one_document != b->is_one_document)
        return a->is_one_document;
    if (a->equal_parts != b->equal_parts)
        return a->equal_parts > b->equal_parts;
    bool a_single = is_single_points(&a->bounds), b_single = is_single_points(&b->bounds);
    if (a_single != b_single)
        return a_single;
    if (a->has_range != b->has_range)
        return a->has_range;
    if (a->provides_sort != b->provides_sort)
        return a->provides_sort;
    if (a->provides_sort && a->order.merges != b->order.merges)
        return b->order.merges;
    if (a->needs_filter != b->needs_filter)
        return !a->needs_filter;
    return a->index->pattern->count < b->index->pattern->count;
}

static ash_plan *plan_of(const search *s, const candidate *c)
{
    ash_plan *p = plan_new(c->bounds.is_empty ? ASH_PLAN_EMPTY : ASH_PLAN_IXSCAN);
    p->condition = &s->root->cond;
    p->index = c->index;
    p->provides_sort = c->provides_sort || c->bounds.is_empty;
    if (c->bounds.is_empty)
        return p;
    p->backward = c->order.backward;
    p->merges = c->provides_sort && c->order.merges;
    p->needs_fetch_filter = c->needs_filter;
    p->may_repeat = c->index->multikey;
    p->is_bounded = c->equal_parts > 0 || c->has_range;
    ash__index_ranges(c->index->pattern, &c->bounds, c->order.merge_from, p);
    /* No key can lie in any of its ranges (ranges.c). */
    if (p->range_count == 0) {
        p->kind = ASH_PLAN_EMPTY;
        p->provides_sort = true;
    }
    /* Of one range there is nothing to merge. */
    p->merges = p->merges && p->range_count > 1;
    return p;
}

/* The best index for the tree's conjuncts, or NULL. */
static ash_plan *best_index(const search *s)
{
    ash_conjuncts conjuncts;
    candidate best = {0};
    ash__conjuncts_of(s->root, &conjuncts);
    for (uint32_t i = 0; i < s->query->index_count; i++) {
        const ash_index_desc *index = &s->query->indexes[i];
        candidate c;
        if (index->hidden)
            continue;
        try_index(s, index, &conjuncts, &c);
        if (is_complete(s, &c) && is_useful(s, &c) && is_better(&c, &best)) {
            candidate_release(&best);
            best = c;
        } else {
            candidate_release(&c);
        }
    }
    ash_plan *p = best.index == NULL ? NULL : plan_of(s, &best);
    candidate_release(&best);
    ash__conjuncts_release(&conjuncts);
    return p;
}

static ash_plan *collection_scan(const ash_plan_query *q, int natural)
{
    ash_plan *p = plan_new(ASH_PLAN_COLLSCAN);
    p->condition = &q->filter->root->cond;
    p->backward = natural < 0;
    p->provides_sort = ash__sort_spec_pattern(q->sort) == NULL &&
                       (ash__sort_spec_natural(q->sort) == 0 ||
                        ash__sort_spec_natural(q->sort) == (natural < 0 ? -1 : 1));
    p->needs_fetch_filter = !ash__matcher_is_empty(q->filter);
    return p;
}

/* The $or conditions among those that every match fulfils, one after the other: NULL at the end. */
static const ash_match_node *next_or(const ash_match_node *root, uint32_t *at)
{
    if (root->cond.kind == ASH_COND_OR)
        return (*at)++ == 0 ? root : NULL;
    while (root->cond.kind == ASH_COND_AND && *at < root->cond.child_count) {
        const ash_match_node *child = ash__match_child(root, (*at)++);
        if (child->cond.kind == ASH_COND_OR)
            return child;
    }
    return NULL;
}

/* A plan of the first $or whose branches all have an index, or NULL. */
static ash_plan *best_or(const search *s)
{
    const ash_match_node *or_node;
    ash_plan *p = NULL;
    uint32_t at = 0;
    while (p == NULL && (or_node = next_or(s->root, &at)) != NULL)
        if (branch_plans(s, or_node, &p) == 0 && or_node != s->root)
            p->needs_fetch_filter = true;
    return p;
}

static ash_plan *plan_branch(const search *s, const ash_match_node *branch)
{
    const search sub = {s->query, branch, NULL};
    ash_plan *p = best_index(&sub);
    return p != NULL ? p : best_or(&sub);
}

/* 0 and a plan when every branch of the $or has an index of its own. */
static int branch_plans(const search *s, const ash_match_node *or_node, ash_plan **out)
{
    ash_plan *p = plan_new(ASH_PLAN_OR);
    p->condition = &or_node->cond;
    p->branches = ash__alloc_array(or_node->cond.child_count, sizeof *p->branches);
    *out = NULL;
    for (uint32_t i = 0; i < or_node->cond.child_count; i++) {
        const ash_match_node *child = ash__match_child(or_node, i);
        ash_plan *branch = plan_branch(s, child);
        if (branch == NULL) {
            ash__plan_free(p);
            return ASH_ENOTFOUND;
        }
        p->branches[p->branch_count++] = branch;
        /* What comes through one branch is tested with the whole filter, as soon as one of them
         * needs it. */
        p->needs_fetch_filter |= branch->needs_fetch_filter;
    }
    /* A document may fulfil several branches. */
    p->may_repeat = true;
    p->provides_sort = ash__sort_spec_is_empty(s->sort);
    *out = p;
    return 0;
}

static bool same_key(ash_doc hint, const ash_index_desc *index)
{
    return ash__doc_compare(hint, ash__doc_from_bson(index->key), NULL) == 0;
}

const ash_index_desc *ash__plan_hinted_index(const ash_plan_query *q)
{
    ash_value hint = q->hint;
    for (uint32_t i = 0; i < q->index_count; i++) {
        const ash_index_desc *index = &q->indexes[i];
        bool named =
            hint.type == BSON_TYPE_UTF8 && strcmp(ash__value_string(hint, NULL), index->name) == 0;
        bool keyed = hint.type == BSON_TYPE_DOCUMENT && same_key(ash__value_doc(hint), index);
        if ((named || keyed) && !index->hidden)
            return index;
    }
    return NULL;
}

int ash__plan_check_partial(const ash_plan_query *q, const ash_index_desc *index, ash_error *err)
{
    if (index->partial == NULL || ash__matcher_implies(q->filter, index->partial))
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_NO_QUERY_EXECUTION_PLANS,
                            "error processing query: the hinted partial index %s does not "
                            "hold all documents of the query",
                            index->name);
}

static int plan_natural(const ash_plan_query *q, ash_value direction, ash_plan **out,
                        ash_error *err)
{
    int64_t number;
    if (!ash__value_as_int64(direction, &number) || (number != 1 && number != -1))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$natural hint must be 1 or -1");
    *out = collection_scan(q, (int)number);
    return 0;
}

/* A hinted index is used whatever it holds: a sparse one may then leave documents out. */
static int plan_hinted(const search *s, ash_plan **out, ash_error *err)
{
    const ash_plan_query *q = s->query;
    if (q->hint.type == BSON_TYPE_DOCUMENT) {
        ash_value natural = ash__doc_get(ash__value_doc(q->hint), "$natural");
        if (!ash__value_is_missing(natural))
            return plan_natural(q, natural, out, err);
    } else if (q->hint.type != BSON_TYPE_UTF8) {
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "hint must be a string or an object");
    }
    const ash_index_desc *index = ash__plan_hinted_index(q);
    if (index == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "error processing query: hint provided does not correspond to an "
                                "existing index");
    int rc = ash__plan_check_partial(q, index, err);
    if (rc != 0)
        return rc;
    ash_conjuncts conjuncts;
    candidate c;
    ash__conjuncts_of(s->root, &conjuncts);
    try_index(s, index, &conjuncts, &c);
    *out = plan_of(s, &c);
    candidate_release(&c);
    ash__conjuncts_release(&conjuncts);
    return 0;
}

int ash__plan_new(const ash_plan_query *q, ash_plan **out, ash_error *err)
{
    const search s = {q, q->filter->root, q->sort};
    bool no_hint = ash__value_is_missing(q->hint) || (q->hint.type == BSON_TYPE_DOCUMENT &&
                                                      ash__doc_is_empty(ash__value_doc(q->hint)));
    *out = NULL;
    if (!no_hint)
        return plan_hinted(&s, out, err);
    if (s.root->cond.kind == ASH_COND_NEVER) {
        *out = plan_new(ASH_PLAN_EMPTY);
        (*out)->provides_sort = true;
        return 0;
    }
    int natural = ash__sort_spec_natural(q->sort);
    /* Natural order is the collection's own, which no index has. */
    if (natural == 0)
        *out = best_index(&s);
    bool bounded = *out != NULL && ((*out)->kind == ASH_PLAN_EMPTY || (*out)->is_bounded);
    /* An index that only sorts gives way to a narrow one for each branch. */
    ash_plan *united = natural == 0 && !bounded ? best_or(&s) : NULL;
    if (united != NULL) {
        ash__plan_free(*out);
        *out = united;
    }
    if (*out == NULL)
        *out = collection_scan(q, natural);
    return 0;
}
