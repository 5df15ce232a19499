/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PLAN_COVER_H
#define ASH_QUERY_PLAN_COVER_H

#include "bson/builder.h"
#include "query/plan/plan.h"

/* A projection answered from an index's keys, without the documents: _id and at most one other
 * field, since keys do not tell in which order a document has its fields.
 *
 * A key has forgotten some types (bson/keycode_read.h).  The index notes what it ever held
 * (ash_index_desc.kinds); where that leaves one type for each key, its value is certain. */
typedef struct ash_cover ash_cover;

/* NULL: the documents are needed.  The index is borrowed, and may change its kinds later. */
ash_cover *ash__cover_new(const bson_t *projection, const ash_index_desc *index);
/* Is a plan's answer made so, as explain has it, but for keys that do not tell? */
bool ash__cover_serves(const bson_t *projection, const ash_plan *plan);
/* What the projection makes of the one document that gave this key, built into out (starting over).
 * false: the document has to tell; out is left in no state. */
bool ash__cover_make(ash_cover *c, ash_doc key, ash_builder *out);
void ash__cover_free(ash_cover *c);

#endif
