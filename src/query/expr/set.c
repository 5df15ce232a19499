/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as sets: no order promised by the server; here the first occurrence keeps its place, and
 * unions and intersections come out sorted. */
#include "query/expr/node.h"

#include "query/kit/sort_value.h"

enum { UNION, INTERSECTION, EQUALS };

static int need_set(const ash_node *n, ash_eval *e, ash_value v, int32_t code)
{
    if (v.type == BSON_TYPE_ARRAY)
        return 0;
    return ash__fail_server(e->err, ASH_EINVAL, code,
                            "All operands of %s must be arrays. One is %s", n->op->name,
                            ash__type_text(v));
}

/* The array's items, sorted and without duplicates. */
static ash_value *sorted_set(ash_eval *e, ash_value array, uint32_t *count)
{
    ash_value_box up;
    uint32_t n, kept = 0;
    ash_value *items = ash__array_items(e->arena, array, &n);
    /* Sorting makes duplicates neighbours, and searches short. */
    ash__sort_values(items, n, ash__box_int32(&up, 1), &e->env->collation);
    for (uint32_t i = 0; i < n; i++) {
        if (kept == 0 || !ash__value_equal(items[kept - 1], items[i], &e->env->collation))
            items[kept++] = items[i];
    }
    *count = kept;
    return items;
}

/* Where v is in the sorted set, or -1. */
static int64_t position(const ash_value *set, uint32_t count, ash_value v, const ash_collation *c)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = ash__value_compare(set[mid], v, c);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

static bool contains(const ash_value *set, uint32_t count, ash_value v, const ash_collation *c)
{
    return position(set, count, v, c) >= 0;
}

static int eval_union(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_value *v, joined = ASH_VALUE_MISSING;
    uint32_t count = 0;
    int rc = ash__eval_args(n, e, &v);
    *out = ash__make_null();
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        if (ash__nullish(v[i]))
            return 0;
        rc = need_set(n, e, v[i], ASH_MONGO_LOCATION_SET_UNION_NOT_ARRAY);
    }
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v[i])); ash__doc_iter_next(&it);)
            ash__builder_item(&b, count++, it.value);
        /* Duplicates go only afterwards, so more than the result may have comes in at first. */
        rc = ash__check_size(e, b.buf.len / 4);
    }
    ash__builder_end(&b);
    if (rc == 0) {
        joined = ash__value_of_array(ash__arena_adopt(e->arena, &b.buf));
        ash_value *items = sorted_set(e, joined, &count);
        rc = ash__array_of(e, items, count, out);
    }
    ash__builder_release(&b);
    return rc;
}

static int eval_intersection(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v, *items = NULL;
    uint32_t count = 0;
    int rc = ash__eval_args(n, e, &v);
    *out = ash__make_null();
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        uint32_t other_count, kept = 0;
        if (ash__nullish(v[i]))
            return 0;
        rc = need_set(n, e, v[i], ASH_MONGO_LOCATION_SET_INTERSECTION_NOT_ARRAY);
        if (rc != 0)
            return rc;
        ash_value *other = sorted_set(e, v[i], &other_count);
        if (i == 0) {
            items = other;
            count = other_count;
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            if (contains(other, other_count, items[k], &e->env->collation))
                items[kept++] = items[k];
        }
        count = kept;
    }
    return rc != 0 ? rc : ash__array_of(e, items, count, out);
}

static int eval_difference(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    uint32_t count, other_count, kept = 0;
    int rc = ash__eval_args(n, e, &v);
    *out = ash__make_null();
    if (rc != 0 || ash__nullish(v[0]) || ash__nullish(v[1]))
        return rc;
    for (int i = 0; i < 2; i++) {
        if (v[i].type != BSON_TYPE_ARRAY)
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SET_DIFFERENCE_FIRST_NOT_ARRAY
                                           : ASH_MONGO_LOCATION_SET_DIFFERENCE_SECOND_NOT_ARRAY,
                                    "both operands of $setDifference must be arrays. %s argument "
                                    "is of type: %s",
                                    i == 0 ? "First" : "Second", ash__type_text(v[i]));
    }
    ash_value *items = ash__array_items(e->arena, v[0], &count);
    ash_value *seen = sorted_set(e, v[0], &other_count);
    /* Which of the values are not to be given: they are in the other set, or were given. */
    bool *used = ash__arena_alloc(e->arena, other_count * sizeof *used);
    uint32_t seen_count = other_count;
    ash_value *other = sorted_set(e, v[1], &other_count);
    for (uint32_t i = 0; i < seen_count; i++)
        used[i] = contains(other, other_count, seen[i], &e->env->collation);
    for (uint32_t i = 0; i < count; i++) {
        /* In the order of the first array, which sorting has not touched. */
        int64_t at = position(seen, seen_count, items[i], &e->env->collation);
        if (!used[at]) {
            used[at] = true;
            items[kept++] = items[i];
        }
    }
    return ash__array_of(e, items, kept, out);
}

static int eval_equals(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v, *first = NULL;
    uint32_t first_count = 0;
    bool equal = true;
    int rc = ash__eval_args(n, e, &v);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        uint32_t count;
        rc = need_set(n, e, v[i], ASH_MONGO_LOCATION_SET_EQUALS_NOT_ARRAY);
        if (rc != 0)
            return rc;
        ash_value *items = sorted_set(e, v[i], &count);
        if (i == 0) {
            first = items;
            first_count = count;
        }
        equal = equal && count == first_count;
        for (uint32_t k = 0; equal && k < count; k++)
            equal = ash__value_equal(items[k], first[k], &e->env->collation);
    }
    *out = ash__make_bool(equal);
    return rc;
}

static int eval_is_subset(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    uint32_t count, other_count;
    bool all = true;
    int rc = ash__eval_args(n, e, &v);
    for (int i = 0; rc == 0 && i < 2; i++) {
        if (v[i].type != BSON_TYPE_ARRAY)
            return ash__fail_server(e->err, ASH_EINVAL,
                                    i == 0 ? ASH_MONGO_LOCATION_SET_IS_SUBSET_FIRST_NOT_ARRAY
                                           : ASH_MONGO_LOCATION_SET_IS_SUBSET_SECOND_NOT_ARRAY,
                                    "both operands of $setIsSubset must be arrays. %s argument is "
                                    "of type: %s",
                                    i == 0 ? "First" : "Second", ash__type_text(v[i]));
    }
    if (rc != 0)
        return rc;
    ash_value *items = ash__array_items(e->arena, v[0], &count);
    ash_value *other = sorted_set(e, v[1], &other_count);
    for (uint32_t i = 0; all && i < count; i++)
        all = contains(other, other_count, items[i], &e->env->collation);
    *out = ash__make_bool(all);
    return 0;
}

/* variant: the truth that ends the search. */
static int eval_elements_true(const ash_node *n, ash_eval *e, ash_value *out)
{
    bool stop_at = n->op->variant != 0;
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    if (v.type != BSON_TYPE_ARRAY)
        return ash__fail_server(e->err, ASH_EINVAL,
                                stop_at ? ASH_MONGO_LOCATION_ANY_ELEMENT_TRUE_NOT_ARRAY
                                        : ASH_MONGO_LOCATION_ALL_ELEMENTS_TRUE_NOT_ARRAY,
                                "%s's argument must be an array, but is %s", n->op->name,
                                ash__type_text(v));
    bool result = !stop_at;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        if (ash__value_truthy(it.value) == stop_at)
            result = stop_at;
    }
    *out = ash__make_bool(result);
    return 0;
}

const ash_expr_op ash__expr_set_ops[] = {
    {"$setUnion", 0, -1, eval_union},
    {"$setIntersection", 0, -1, eval_intersection},
    {"$setDifference", 2, 2, eval_difference},
    {"$setEquals", 2, -1, eval_equals},
    {"$setIsSubset", 2, 2, eval_is_subset},
    {"$anyElementTrue", 1, 1, eval_elements_true, 1},
    {"$allElementsTrue", 1, 1, eval_elements_true, 0},
    {NULL},
};
