/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_SORT_VALUE_H
#define ASH_QUERY_KIT_SORT_VALUE_H

/* Sorting items of an array, as $push's $sort and $sortArray do: by ±1 as whole values, or by
 * {path: ±1, …} of documents.  Stable. */

#include "bson/compare.h"

/* ASH_EINVAL (2) unless by is ±1 or a document of paths and ±1. */
int ash__sort_by_check(ash_value by, ash_error *err);
void ash__sort_values(ash_value *items, uint32_t count, ash_value by, const ash_collation *c);

#endif
