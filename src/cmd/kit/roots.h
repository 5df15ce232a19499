/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_ROOTS_H
#define ASH_CMD_KIT_ROOTS_H

/* Which trees there are: each has a name, its root's, and shares a collection with the others. */

#include <ashlar/store.h>

/* What the library takes where no collection is named; a tree of deleted entries alone is one, too.
 * Ends with NULL. */
extern const char *const ash__cmd_tree_collections[];

/* Each text that is somebody's parent in the collection.  db NULL: the store's default.  *out:
 * {values: […]}, initialised on success. */
int ash__cmd_find_roots(ash_store *store, const char *db, const char *collection, bson_t *out,
                        ash_error *err);
/* ASH_ENOTFOUND: there are trees in the collections, which the text names, and none of that root.
 * collection NULL: those above. */
int ash__cmd_require_root(ash_store *store, const char *db, const char *collection,
                          const char *root, ash_error *err);

#endif
