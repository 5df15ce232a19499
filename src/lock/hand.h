/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_LOCK_HAND_H
#define ASH_LOCK_HAND_H

/* Grants that outlive the process that asked for them: what identifies one is kept by the caller,
 * who renews it and gives it back later, perhaps from another process.  In the lock document they
 * are like any other grant. */

#include <ashlar/lock.h>

typedef struct ash_lock_hand {
    bool write;
    bson_oid_t h;        /* of the entry in `holders` */
    int64_t writes;      /* of the document at the grant */
    bson_value_t doc_id; /* of the lock document */
} ash_lock_hand;

typedef struct ash_lock_wish {
    const bson_value_t *id; /* of the resource */
    bool write;
    int64_t life_ms;
    const bson_t *meta; /* kept in the document, or NULL */
} ash_lock_wish;
/* One try; a reader has an entry of its own in `holders`.  ASH_ELOCKED: the text says who holds it.
 * *out: ash__lock_hand_free(), which gives nothing back. */
int ash__lock_hand_take(ash_lock_collection *c, const ash_lock_wish *wish, ash_lock_hand *out,
                        ash_error *err);
/* life_ms from now.  ASH_ELOST: it ended, was broken or taken over. */
int ash__lock_hand_renew(ash_lock_collection *c, const ash_lock_hand *hand, int64_t life_ms,
                         ash_error *err);
/* ASH_ELOST likewise; nobody is hurt. */
int ash__lock_hand_release(ash_lock_collection *c, const ash_lock_hand *hand, ash_error *err);
/* For a change of a tree that must happen only while the grant holds; of a reader's: while nobody
 * has written since.  collection: of the lock documents.  Points into both. */
void ash__lock_hand_fence(const char *collection, const ash_lock_hand *hand, ash_fence *out);
/* What a filter on lock documents says of a grant that holds. */
void ash__lock_hand_filter(const ash_lock_hand *hand, bson_t *filter);
void ash__lock_hand_free(ash_lock_hand *hand);

#endif
