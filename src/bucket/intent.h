/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_INTENT_H
#define ASH_BUCKET_INTENT_H

/* A change of a file under a fence where the store has no transactions.
 *
 *   1  the files document carries a mark: ashlar_intent {mark: ObjectId, makes: bool}.  One that is
 *      being made (makes) has no filename yet, so that nobody finds it by name
 *   2  the lock document, if it still says what the fence says, announces it:
 *      pending [{files: COLLECTION, id: FILE ID, mark, makes}]
 *   3  the change itself, one update or removal of the files document, only if the mark stands
 *   4  the announcement goes
 *
 * Whoever is granted the lock by Ashlar afterwards takes the marks of all announcements away before
 * it returns from obtaining (lock/pending.c).  So a change happens before that grant is anybody's,
 * or not at all: ASH_ELOST. */

#include "bucket/condition.h"

typedef struct ash_intent {
    const bson_value_t *id; /* of the file; borrowed */
    bson_oid_t mark;
    bool makes;
} ash_intent;

/* Whether changes under this fence go by these steps. */
bool ash__intent_needed(const ash_fence_copy *f, ash_transaction *t);
void ash__intent_init(ash_intent *i, const bson_value_t *id, bool makes);
void ash__intent_append(const ash_intent *i, bson_t *files_doc); /* the field of step 1 */
/* An update's operators, with what takes the mark away besides. */
void ash__intent_append_end(const bson_t *operators, bson_t *out);
/* Step 1 for a file that stands; *found false: there is none. */
int ash__intent_mark(const ash_work *work, const ash_intent *i, bool *found, ash_error *err);
/* Step 2.  When it fails, the mark is taken away again. */
int ash__intent_announce(const ash_work *work, const ash_fence_copy *f, const ash_intent *i,
                         ash_error *err);
/* Step 3 as an update (operators or a whole document; it has to take the mark away) … */
int ash__intent_update(const ash_work *work, const ash_intent *i, const bson_t *update,
                       ash_error *err);
/* … or as a removal. */
int ash__intent_remove(const ash_work *work, const ash_intent *i, ash_error *err);
/* Step 4.  Should it fail, the next holder does it. */
void ash__intent_settle(const ash_work *work, const ash_fence_copy *f, const ash_intent *i);

/* Take marks away that were set before; a file that never got its name goes.  For processes that
 * died between 1 and 4. */
int ash__intents_sweep(const ash_work *work, int64_t before_s, ash_error *err);

#endif
