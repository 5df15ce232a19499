/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_DOCS_HISTORY_H
#define ASH_OBJECT_DOCS_HISTORY_H

/* What objects were and are, in the order of revisions, each once, as far as versions are kept.
 *
 * An object goes from PREFIX.meta to PREFIX.versions when another takes its place, while somebody
 * lists.  So current ones are read first, a page at a time, and versions up to the page's last
 * revision after it: what was not current any more is found there by then.  What was read in both
 * is told once. */

#include "object/docs/docs.h"

typedef struct ash_docs_history ash_docs_history;

/* All with a revision up to `until`, which changes have reached when it opens; op lives as long as
 * it.  *out is yours. */
int ash__docs_history_open(ash_docs *s, const ash_op *op, uint64_t until, ash_docs_history **out,
                           ash_error *err);
/* Versions between `after` and the object, then that: of a revision that was heard of.  Takes the
 * object over. */
ash_docs_history *ash__docs_history_before(ash_docs *s, const ash_op *op, uint64_t after,
                                           ash_object *object);
/* *out is yours; NULL at the end. */
int ash__docs_history_next(ash_docs_history *h, ash_object **out, ash_error *err);
void ash__docs_history_free(ash_docs_history *h);

#endif
