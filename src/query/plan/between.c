/* SPDX-License-Identifier: Apache-2.0 */
/* min and max: the whole of a hinted index between two keys.  The filter gives no bounds here; it
 * is tried on each document. */
#include "query/plan/bounds.h"

#include "base/mem.h"

#include <string.h>

/* The same fields in the same order? */
static bool names_parts(ash_doc limit, const ash_key_pattern *p)
{
    ash_doc_iter it = ash__doc_iter(limit);
    for (uint32_t i = 0; i < p->count; i++)
        if (!ash__doc_iter_next(&it) || strcmp(it.name, p->parts[i].path) != 0 ||
            p->parts[i].hashed)
            return false;
    return !ash__doc_iter_next(&it);
}

static bool same_names(ash_doc a, ash_doc b)
{
    ash_doc_iter x = ash__doc_iter(a), y = ash__doc_iter(b);
    while (ash__doc_iter_next(&x))
        if (!ash__doc_iter_next(&y) || strcmp(x.name, y.name) != 0)
            return false;
    return !ash__doc_iter_next(&y);
}

static int check_limits(const ash_plan_query *q, const ash_index_desc *index, ash_doc min,
                        ash_doc max, ash_error *err)
{
    bool has_min = !ash__doc_is_empty(min), has_max = !ash__doc_is_empty(max);
    if (has_min && has_max && !same_names(min, max))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MIN_MAX_OTHER_FIELDS,
                                "min() and max() must have the same field names");
    if (index == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MIN_MAX_WITHOUT_HINT,
                                "When using min()/max() a hint of which index to use must be "
                                "provided");
    if ((has_min && !names_parts(min, index->pattern)) ||
        (has_max && !names_parts(max, index->pattern)) ||
        !ash__collations_agree(ash__pattern_collation(index->pattern),
                               ash__matcher_collation(q->filter)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MIN_MAX_OTHER_INDEX,
                                "The index chosen is not compatible with min/max");
    return 0;
}

/* A limit's key takes the place of an end of the range. */
static void set_end(ash_buffer *end, ash_doc limit, const ash_key_pattern *p)
{
    uint32_t i = 0;
    if (ash__doc_is_empty(limit))
        return;
    ash__buffer_clear(end);
    for (ash_doc_iter it = ash__doc_iter(limit); ash__doc_iter_next(&it); i++)
        ash__keycode_append(end, it.value, p->parts[i].descending, ash__pattern_collation(p));
}

static bool is_below(const ash_key_range *r)
{
    size_t shared = r->from.len < r->to.len ? r->from.len : r->to.len;
    int order = memcmp(r->from.data, r->to.data, shared);
    return order < 0 || (order == 0 && r->from.len < r->to.len);
}

int ash__plan_between(const ash_plan_query *q, ash_doc min, ash_doc max, ash_plan **out,
                      ash_error *err)
{
    const ash_index_desc *index = ash__plan_hinted_index(q);
    const ash_index_bounds none = {.used = 0};
    ash_index_order order = {false, false, 0};
    *out = NULL;
    int rc = check_limits(q, index, min, max, err);
    if (rc == 0)
        rc = ash__plan_check_partial(q, index, err);
    if (rc != 0)
        return rc;
    ash_plan *p = ash__new(ash_plan);
    p->kind = ASH_PLAN_IXSCAN;
    p->condition = &q->filter->root->cond;
    p->index = index;
    /* Without bounds, one range over everything, whose ends are then moved. */
    ash__index_ranges(index->pattern, &none, 0, p);
    set_end(&p->ranges[0].from, min, index->pattern);
    set_end(&p->ranges[0].to, max, index->pattern);
    if (!is_below(&p->ranges[0])) {
        ash__plan_free(p);
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MIN_NOT_BELOW_MAX,
                                "The value provided for min() does not come before the value "
                                "provided for max().");
    }
    p->needs_fetch_filter = !ash__matcher_is_empty(q->filter);
    p->is_bounded = true;
    /* Several keys of one document may lie between the two. */
    p->may_repeat = index->multikey;
    const ash_key_pattern *wanted = ash__sort_spec_pattern(q->sort);
    /* Of several keys of a document the first one may lie outside. */
    p->provides_sort =
        wanted == NULL ? ash__sort_spec_natural(q->sort) == 0
                       : !index->multikey && ash__index_provides_sort(index, &none, wanted, &order);
    p->backward = p->provides_sort && order.backward;
    *out = p;
    return 0;
}
