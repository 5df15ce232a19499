/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PROJECT_RESHAPE_H
#define ASH_QUERY_PROJECT_RESHAPE_H

/* Stages that make one document of one document: $project, $addFields, $set, $unset,
 * $replaceRoot, $replaceWith.  Shared by pipelines and by pipeline updates. */

#include "query/expr/expr.h"

typedef struct ash_reshape ash_reshape;
bool ash__reshape_is_stage(const char *name);
int ash__reshape_new(const char *stage, ash_value spec, const ash_query_env *env, ash_reshape **out,
                     ash_error *err);
void ash__reshape_free(ash_reshape *s);
/* Builds into out (starting over); the result is at most 16 MiB + slack and of bounded depth. */
int ash__reshape_apply(const ash_reshape *s, ash_doc doc, ash_arena *arena, ash_builder *out,
                       ash_error *err);

/* A document that a stage made: ASH_ETOOBIG (10334, 15) over 16 MiB + slack or too deep for what
 * walks documents. */
int ash__made_check(const char *stage, ash_doc doc, ash_error *err);

#endif
