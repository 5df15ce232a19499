/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_EXPR_EXPR_H
#define ASH_QUERY_EXPR_EXPR_H

#include "bson/builder.h"
#include "query/kit/env.h"

/* Aggregation expressions: "$path", "$$variable", literals, {$operator: …}.  Immutable after
 * compiling. */
typedef struct ash_expr ash_expr;
int ash__expr_new(ash_value spec, const ash_query_env *env, ash_expr **out,
                  ash_error *err); /* copies */
void ash__expr_free(ash_expr *e);

/* Memory for values made while evaluating: freed all at once. */
typedef struct ash_arena ash_arena;
ash_arena *ash__arena_new(void);
void ash__arena_reset(ash_arena *a);
void ash__arena_free(ash_arena *a);
void *ash__arena_alloc(ash_arena *a, size_t size_bytes);

/* A chain of variables ($$this, $$value, let of $lookup …); innermost first. */
typedef struct ash_vars {
    const char *name;
    ash_value value;
    const struct ash_vars *outer;
} ash_vars;

/* Result in *out: a view into root, the expression or the arena. May be missing. */
int ash__expr_eval(const ash_expr *e, ash_doc root, const ash_vars *vars, ash_arena *arena,
                   ash_value *out, ash_error *err);

/* All expression operators and accumulators, for docs/COMPATIBILITY.md. */
const ash_feature *ash__expr_features(void);

#endif
