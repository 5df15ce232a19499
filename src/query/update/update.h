/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_UPDATE_UPDATE_H
#define ASH_QUERY_UPDATE_UPDATE_H

#include "bson/builder.h"
#include "query/match/match.h"

/* A compiled update: operators, a whole replacement, or a pipeline ($set/$addFields, $unset,
 * $project, $replaceRoot/With). Thread-safe to apply. */
typedef struct ash_update ash_update;

enum ash_update_kind { ASH_UPDATE_OPERATORS, ASH_UPDATE_REPLACE, ASH_UPDATE_PIPELINE };

/* update: a document or an array (pipeline). array_filters: array of documents or NULL. Copies
 * both.  Errors as the server's: 9, 2, 40, 56, unknown operators 9, unused array filters 9. */
int ash__update_new(ash_value update, const bson_t *array_filters, const ash_query_env *env,
                    ash_update **out, ash_error *err);
void ash__update_free(ash_update *u);
enum ash_update_kind ash__update_kind(const ash_update *u);
bool ash__update_uses_position(const ash_update *u); /* has `$`: match with details */

/* What an update is applied to. */
typedef struct ash_update_subject {
    ash_doc doc;
    const ash_match_details *details; /* of its match, for `$`; or NULL */
    bool is_insert;                   /* an upsert makes it: $setOnInsert, too */
} ash_update_subject;

/* Apply to the subject, building the new document in out (starting over).  *modified: bytes
 * changed.  _id keeps its place (first) and value: a change is 66 ImmutableField.  changes, if not
 * NULL, receives {updatedFields, removedFields, truncatedArrays, disambiguatedPaths?} for change
 * streams (absent for replacements).  Checks 16 MiB and depth: 17419/10334, 15. */
int ash__update_apply(const ash_update *u, const ash_update_subject *subject, ash_builder *out,
                      bool *modified, ash_builder *changes, ash_error *err);

/* The document an upsert inserts: equalities of the filter, then the update; _id generated if
 * neither gives one (appended first). */
int ash__update_upsert(const ash_update *u, const ash_matcher *filter, ash_builder *out,
                       ash_error *err);

/* Update operators and modifiers. */
const ash_feature *ash__update_features(void);

#endif
