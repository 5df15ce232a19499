/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_HEAL_H
#define ASH_TREE_CONTENT_HEAL_H

/* Contents that are there but damaged make way for what a writer has of them, and those that were lost
 * come back. */

#include "tree/content/form.h"

/* In op->transaction: what is left of a content goes.  What its document says of owners (refs,
 * refHistory, refsMore) is appended to *owners, for the document that comes in its place; nothing,
 * where the content is not there. */
int ash__content_make_way(ash_contents *c, const ash_content_id *id, bson_t *owners,
                          const ash_op *op, ash_error *err);

/* Entries of now name a content that is not there: it was lost.  Nobody can begin to name it as long
 * as it is not there, so that this may be asked before the transaction that brings it back. */
int ash__content_has_heirs(ash_contents *c, const ash_content_id *id, bool *has, const ash_op *op,
                           ash_error *err);
/* In op->transaction, where it is there again: its refs have them. */
int ash__content_give_to_heirs(ash_contents *c, const ash_content_id *id, const ash_op *op,
                               ash_error *err);

/* A content that is there, and the parts that it would be made of here, each of which was compared
 * on its way in. */
typedef struct ash_rival {
    const bson_t *doc;
    ash_content_ref ref;
    const ash_form_part *parts;
    size_t count;
} ash_rival;

/* *damaged: it is not what its digest says.  A list of the very parts is not read; what was cut
 * otherwise, or is no list, is, to its end.  ASH_ECORRUPT: it is damaged, and one of the parts is
 * made of it, so that they cannot take its place. */
int ash__rival_compare(ash_contents *c, const ash_rival *there, bool *damaged, const ash_op *op,
                       ash_error *err);

#endif
