/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CATALOG_INDEX_UNIQUE_H
#define ASH_STORE_EMBEDDED_CATALOG_INDEX_UNIQUE_H

#include "store/embedded/kit/embedded.h"

#include "bson/builder.h"

/* Can the index become unique?  ASH_EEXISTS (359) when documents share keys: then out, an open
 * document, gets {violations: [{ids: […]}, …]}, a few megabytes of them at most.  On the writer's
 * thread, which reads the whole index. */
int ash__index_may_be_unique(ash_snapshot *snap, const ash_coll *c, const ash_index *index,
                             ash_builder *out, ash_error *err);

#endif
