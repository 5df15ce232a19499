/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PROJECT_PROJECT_H
#define ASH_QUERY_PROJECT_PROJECT_H

#include "bson/builder.h"
#include "query/match/match.h"

/* A find projection: inclusion, exclusion, $slice, $elemMatch, positional, and expressions. */
typedef struct ash_projection ash_projection;
int ash__projection_new(const bson_t *spec, const ash_query_env *env, ash_projection **out,
                        ash_error *err); /* NULL or {}: *out NULL */
void ash__projection_free(ash_projection *p);
bool ash__projection_needs_details(const ash_projection *p); /* positional: match with details */
/* Builds into out (starting over); after an error there is no document in it. */
int ash__projection_apply(const ash_projection *p, ash_doc doc, const ash_match_details *details,
                          ash_builder *out, ash_error *err);

/* Projection operators. */
const ash_feature *ash__projection_features(void);

#endif
