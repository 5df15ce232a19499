/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_DOCS_EXPIRE_H
#define ASH_OBJECT_DOCS_EXPIRE_H

#include "object/docs/docs.h"

/* Delete what has expired, with its bytes: each in a commit that looks again.  *objects and
 * *tombstones (may be NULL, the latter; then both are counted as one). */
int ash__docs_expire(ash_docs *s, const ash_op *op, bool dry_run, int64_t *objects,
                     int64_t *tombstones, ash_error *err);

#endif
