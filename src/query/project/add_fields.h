/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PROJECT_ADD_FIELDS_H
#define ASH_QUERY_PROJECT_ADD_FIELDS_H

/* {$addFields: {"a.b": expr, c: {d: expr}}}: existing fields keep their places, new ones come
 * behind them; below arrays every item is treated alike.  Immutable after compiling. */

#include "query/expr/expr.h"

typedef struct ash_add_fields ash_add_fields;
/* stage: the name for messages.  Empty specifications: ASH_EINVAL (40177); paths that collide:
 * 40176. */
int ash__add_fields_new(const char *stage, ash_value spec, const ash_query_env *env,
                        ash_add_fields **out, ash_error *err);
void ash__add_fields_free(ash_add_fields *f);
/* Builds into out (starting over); arena holds intermediate values. */
int ash__add_fields_apply(const ash_add_fields *f, ash_doc doc, ash_arena *arena, ash_builder *out,
                          ash_error *err);

#endif
