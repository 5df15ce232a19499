/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FILES_COMPLETE_H
#define ASH_STORE_EMBEDDED_FILES_COMPLETE_H

#include "store/embedded/kit/embedded.h"

/* Visible files are complete.
 *
 * Inserts of chunks are acknowledged before they are on disk, since nobody sees them until their
 * files document is, and that one waits for everything before it.  But a crash, or a commit that
 * fails, can lose the last 100 ms of chunks that a driver believes stored; it reconnects, goes on
 * with its upload where it was, and ends it with a files document for a file with a hole.
 *
 * So once such a loss may have happened, a document inserted into X.files is refused
 * (ASH_ECONFLICT) when the chunks under its _id are not exactly those that its length and chunkSize
 * ask for, and the loss may be why: some chunk of the file is older than the loss, or the loss was
 * less than five minutes ago.  Without a loss, incomplete files may be inserted: test suites and
 * recovery tools do that on purpose. */

int ash__guard_init(ash_embedded *s, ash_error *err);
void ash__guard_release(ash_embedded *s);

/* coll: the collection doc is inserted into. */
int ash__guard_check(ash_embedded *s, ash_snapshot *snap, const ash_coll *coll, ash_doc doc,
                     ash_error *err);

#endif
