/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions from outside: compiled, evaluated, freed; and the list of all families of
 * operators. */
#include "query/expr/node.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ash_expr {
    ash_arena *arena;
    ash_node *root;
    const ash_query_env *env;
};

static const ash_query_env no_env;

static const ash_expr_op *const families[] = {
    ash__expr_accumulate_ops, ash__expr_arith_ops,   ash__expr_array_ops,  ash__expr_compare_ops,
    ash__expr_control_ops,    ash__expr_convert_ops, ash__expr_date_ops,   ash__expr_date_math_ops,
    ash__expr_find_ops,       ash__expr_loop_ops,    ash__expr_object_ops, ash__expr_regex_ops,
    ash__expr_set_ops,        ash__expr_string_ops,
};

#define MAX_FEATURES 256

/* All operators by name, since every `$…` of every expression is looked for among them.  Written
 * once, by sort_ops(). */
static const ash_expr_op *sorted_ops[MAX_FEATURES];
static size_t sorted_count;
static pthread_once_t ops_sorted = PTHREAD_ONCE_INIT;

static int compare_ops(const void *a, const void *b)
{
    return strcmp((*(const ash_expr_op *const *)a)->name, (*(const ash_expr_op *const *)b)->name);
}

static void sort_ops(void)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(families); i++) {
        for (const ash_expr_op *op = families[i]; op->name != NULL; op++) {
            ash_assert(sorted_count < MAX_FEATURES);
            sorted_ops[sorted_count++] = op;
        }
    }
    qsort(sorted_ops, sorted_count, sizeof sorted_ops[0], compare_ops);
}

const ash_expr_op *ash__expr_op_find(const char *name)
{
    (void)pthread_once(&ops_sorted, sort_ops);
    size_t low = 0, high = sorted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, sorted_ops[middle]->name);
        if (order == 0)
            return sorted_ops[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const ash_feature *ash__expr_features(void)
{
    /* Filled with the same content by whoever comes first; writing it twice does no harm, but the
     * table is only complete once the function has returned. */
    static ash_feature table[MAX_FEATURES];
    size_t n = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(families); i++) {
        for (const ash_expr_op *op = families[i]; op->name != NULL; op++) {
            ash_assert(n + 1 < MAX_FEATURES);
            table[n++] = (ash_feature){op->name, op->note == NULL ? "full" : "partly",
                                       op->note == NULL ? "" : op->note};
        }
    }
    return table;
}

int ash__expr_new(ash_value spec, const ash_query_env *env, ash_expr **out, ash_error *err)
{
    ash_expr *e = ash__new(ash_expr);
    ash_parse p = {.env = env != NULL ? env : &no_env, .err = err};
    *out = NULL;
    e->env = p.env;
    e->arena = p.arena = ash__arena_new();
    int rc = ash__expr_parse(&p, spec, &e->root);
    if (rc != 0) {
        ash__expr_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

void ash__expr_free(ash_expr *e)
{
    if (e == NULL)
        return;
    ash__arena_free(e->arena);
    ash__free(e);
}

int ash__expr_eval(const ash_expr *e, ash_doc root, const ash_vars *vars, ash_arena *arena,
                   ash_value *out, ash_error *err)
{
    ash_eval eval = {.root = root, .vars = vars, .arena = arena, .env = e->env, .err = err};
    *out = ASH_VALUE_MISSING;
    return ash__eval_node(e->root, &eval, out);
}
