/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CATALOG_INDEX_SPEC_H
#define ASH_STORE_EMBEDDED_CATALOG_INDEX_SPEC_H

#include "store/embedded/kit/embedded.h"

/* Check one index specification as a user gives it and write it down as listIndexes shows it:
 * {v: 2, key, name, unique?, …}; options at their default are left out.  out: initialised by the
 * call on success.  is_id: it asks for the _id index, which is always there.
 * Refusals: 9 no name, 14 wrong types, 67 bad key or mix, 197 unknown or forbidden options, 2 bad
 * names. */
int ash__index_spec_parse(ash_value given, const bson_t *coll_options, bson_t *out, bool *is_id,
                          ash_error *err);

/* How a wanted specification stands to one that exists: *same: it is there already.  Conflicts are
 * ASH_EEXISTS: 85 (same key or expiry differs), 86 (same name). */
int ash__index_spec_compare(const bson_t *wanted, const bson_t *existing, bool *same,
                            ash_error *err);

const char *ash__index_spec_name(const bson_t *spec);

#endif
