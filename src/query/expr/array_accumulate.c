/* SPDX-License-Identifier: Apache-2.0 */
/* $sum $avg $min $max $stdDevPop $stdDevSamp as expressions: over several arguments, or over the
 * items when there is one argument and it is an array. */
#include "query/expr/node.h"

#include "query/expr/accumulate.h"

static int eval_accumulate(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v;
    uint32_t count = n->count;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    if (count == 1 && v[0].type == BSON_TYPE_ARRAY)
        v = ash__array_items(e->arena, v[0], &count);
    ash_acc *acc = ash__acc_new((ash_acc_kind)n->op->variant, e->env);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        rc = ash__acc_add(acc, v[i], e->err);
    if (rc == 0)
        *out = ash__arena_value(e->arena, ash__acc_result(acc));
    ash__acc_free(acc);
    return rc;
}

const ash_expr_op ash__expr_accumulate_ops[] = {
    {"$sum", 0, -1, eval_accumulate, ASH_ACC_SUM},
    {"$avg", 0, -1, eval_accumulate, ASH_ACC_AVG},
    {"$min", 0, -1, eval_accumulate, ASH_ACC_MIN},
    {"$max", 0, -1, eval_accumulate, ASH_ACC_MAX},
    {"$stdDevPop", 0, -1, eval_accumulate, ASH_ACC_STD_DEV_POP},
    {"$stdDevSamp", 0, -1, eval_accumulate, ASH_ACC_STD_DEV_SAMP},
    {NULL},
};
