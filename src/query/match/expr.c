/* SPDX-License-Identifier: Apache-2.0 */
/* $expr, evaluated for each document in an arena of its own, since any number of threads may
 * test. */
#include "query/match/node.h"

int ash__match_parse_expr(ash_match_parser *p, ash_value arg, ash_match_node *list)
{
    ash_match_node *node = ash__match_node_new(ASH_COND_EXPR, NULL);
    ash__match_node_add(list, node);
    return ash__expr_new(arg, p->env, &node->expr, p->err);
}

bool ash__match_test_expr(ash_match_run *run, const ash_match_node *n, ash_doc doc)
{
    ash_arena *arena = ash__arena_new();
    ash_value v = ASH_VALUE_MISSING;
    /* Of several failures the first one is told. */
    ash_error *failed = run->has_failed ? NULL : run->failed;
    int rc = ash__expr_eval(n->expr, doc, NULL, arena, &v, failed);
    if (rc != 0)
        run->has_failed = true;
    bool truthy = rc == 0 && ash__value_truthy(v);
    ash__arena_free(arena);
    return truthy;
}
