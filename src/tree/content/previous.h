/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_PREVIOUS_H
#define ASH_TREE_CONTENT_PREVIOUS_H

/* The version before of a content that comes in pieces: what it had around the place of a new
 * piece is what that is most like.  Pieces that both have tell how far places have moved. */

#include "tree/content/write.h"

typedef struct ash_previous ash_previous;

/* *out NULL: there is none that can be built on. */
int ash__previous_open(ash_contents *c, const ash_content_id *before, const ash_op *op,
                       ash_previous **out, ash_error *err);
void ash__previous_close(ash_previous *p);
/* A piece that was found at this place of the new content. */
void ash__previous_align(ash_previous *p, const ash_content_id *id, int64_t position);
/* Makes the plan a delta, where that is clearly smaller than the piece. */
int ash__previous_delta(ash_previous *p, ash_content_writer *w, ash_plan *plan, ash_span data,
                        int64_t position, ash_error *err);

#endif
