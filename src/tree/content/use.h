/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_USE_H
#define ASH_TREE_CONTENT_USE_H

/* Who has a content, as its document says it, and how a transaction makes sure of what it found. */

#include "tree/content/contents.h"

/* Contents that a transaction builds on: all are there and stay so until it commits.
 * ASH_ECONFLICT: one is not. */
int ash__contents_rely_on(ash_contents *c, const ash_content_id *ids, size_t count,
                          const ash_op *op, ash_error *err);
/* No collection takes these for old any more, outside of a transaction.  *there: how many there
 * are. */
int ash__contents_renew(ash_contents *c, const ash_content_id *ids, size_t count, const ash_op *op,
                        int64_t *there, ash_error *err);
/* ash__contents_hold() of one content, which has to be that of this date as well; INT64_MIN: any. */
int ash__contents_hold_dated(ash_contents *c, const ash_content_use *use, int64_t upload_date_ms,
                             const ash_op *op, ash_error *err);

#endif
