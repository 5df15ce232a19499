/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_PARTS_H
#define ASH_STORE_PARTS_H

/* Parts of large documents, and finding a file's chunk without asking the store again.
 *
 * A download's cursor over the chunks of one file (ash_find_options.download) can be told that the
 * caller verifies what he looks at: documents then come as they lie in the store's mapping, and
 * each byte has to be asked for before it is believed.  Backends whose documents arrive whole have
 * none of this. */

#include "store/ops.h"

/* false: documents of this cursor are verified as ever, and it cannot seek.  To be called before
 * the first batch. */
bool ash__cursor_take_parts(ash_cursor *cursor);

/* The result's document number `index` (from 0) is in the last batch, or was in an earlier one and
 * lasts.  Bytes *from .. *to of it are right; both are widened to what was verified.  ASH_ECORRUPT,
 * ASH_ECURSOR. */
int ash__cursor_verify(ash_cursor *cursor, size_t index, size_t *from, size_t *to, ash_error *err);

/* Its view, once given, stays valid until the cursor is freed, as long as each use is preceded by a
 * verify that succeeds; not just until the next batch. */
bool ash__cursor_lasts(ash_cursor *cursor, size_t index);

/* The next batch begins with the result's document number `index` (from 0); views of the last one
 * end.  false: there is none. */
bool ash__cursor_seek(ash_cursor *cursor, size_t index);

/* ---- one moment ---- */

/* Run fn with a transaction in which every read sees the store as it was at one moment.  It must
 * not write, wait or outlive the call, but a download's cursor opened in it may be read afterwards.
 * Without such a thing in the backend fn gets NULL instead of a transaction. */
int ash__store_look(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                    ash_error *err);
bool ash__store_can_look(const ash_store *store);

/* A number that is another one after each change that readers see: what was read after it was given
 * is read again for as long as the same one comes.  false: this store, or this moment, has none. */
bool ash__store_moment(ash_store *store, uint64_t *out);

#endif
