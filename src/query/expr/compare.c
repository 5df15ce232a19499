/* SPDX-License-Identifier: Apache-2.0 */
/* $eq $ne $gt $gte $lt $lte $cmp, $and $or $not. */
#include "query/expr/node.h"

enum { EQ, NE, GT, GTE, LT, LTE, CMP };

static bool holds(int variant, int order)
{
    switch (variant) {
    case EQ:
        return order == 0;
    case NE:
        return order != 0;
    case GT:
        return order > 0;
    case GTE:
        return order >= 0;
    case LT:
        return order < 0;
    default:
        return order <= 0;
    }
}

/* In expressions a missing field is below null. */
static int compare_with_missing(ash_value a, ash_value b, const ash_collation *c)
{
    bool a_missing = ash__value_is_missing(a);
    bool b_missing = ash__value_is_missing(b);
    if (a_missing && b_missing)
        return 0;
    if (a_missing && b.type != BSON_TYPE_MINKEY)
        return -1;
    if (b_missing && a.type != BSON_TYPE_MINKEY)
        return 1;
    return ash__value_compare(a, b, c);
}

static int eval_compare(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    int order = compare_with_missing(v[0], v[1], &e->env->collation);
    if (n->op->variant == CMP)
        *out = ash__make_int32(e->arena, order < 0 ? -1 : order > 0);
    else
        *out = ash__make_bool(holds(n->op->variant, order));
    return 0;
}

/* variant: the answer that ends the search. */
static int eval_logic(const ash_node *n, ash_eval *e, ash_value *out)
{
    bool stop_at = n->op->variant != 0;
    *out = ash__make_bool(!stop_at);
    for (uint32_t i = 0; i < n->count; i++) {
        ash_value v;
        int rc = ash__eval_arg(n, i, e, &v);
        if (rc != 0)
            return rc;
        if (ash__value_truthy(v) == stop_at) {
            *out = ash__make_bool(stop_at);
            return 0;
        }
    }
    return 0;
}

static int eval_not(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    *out = ash__make_bool(!ash__value_truthy(v));
    return rc;
}

const ash_expr_op ash__expr_compare_ops[] = {
    {"$eq", 2, 2, eval_compare, EQ},
    {"$ne", 2, 2, eval_compare, NE},
    {"$gt", 2, 2, eval_compare, GT},
    {"$gte", 2, 2, eval_compare, GTE},
    {"$lt", 2, 2, eval_compare, LT},
    {"$lte", 2, 2, eval_compare, LTE},
    {"$cmp", 2, 2, eval_compare, CMP},
    {"$and", 0, -1, eval_logic, 0},
    {"$or", 0, -1, eval_logic, 1},
    {"$not", 1, 1, eval_not},
    {NULL},
};
