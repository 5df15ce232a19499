/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_MERGE_H
#define ASH_QUERY_KIT_MERGE_H

#include "bson/builder.h"

/* Append the fields of base, each with the value `over` has for it if any, then the fields that
 * only `over` has.  The last of several equal names wins. */
void ash__doc_merge(ash_builder *out, ash_doc base, ash_doc over);

/* The same for any number of them, later ones over earlier ones.  Takes memory for all their
 * fields. */
void ash__docs_merge(ash_builder *out, const ash_value *docs, uint32_t count);

#endif
