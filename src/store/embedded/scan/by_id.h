/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SCAN_BY_ID_H
#define ASH_STORE_EMBEDDED_SCAN_BY_ID_H

#include "store/embedded/kit/embedded.h"

/* find({_id: value}) without matcher, planner and scan: what buckets and drivers ask most. */

/* Is it of a type of which equality in a filter means nothing else, and that an _id may be? */
bool ash__value_is_plain_id(ash_value v);
/* Does the find ask for nothing but a filter, a sort and a limit? */
bool ash__find_is_plain(const ash_find_options *opts);

/* Is the find one by _id and nothing more?  Then *id is a view of the filter. */
bool ash__point_applies(const bson_t *filter, const ash_find_options *opts, ash_value *id);

/* *out NULL with 0: it takes an ordinary find, since the document lies in a segment, where it has
 * to be held, or the collection is a view. */
int ash__point_find(ash_embedded *s, ash_ns ns, ash_value id, const ash_op *op, ash_cursor **out,
                    ash_error *err);

#endif
