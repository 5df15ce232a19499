/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_NAMED_H
#define ASH_TREE_CONTENT_NAMED_H

/* Which contents are named by anybody: by a document of a holder, or by a content that is made of
 * others.  That alone says what is garbage. */

#include "tree/content/contents.h"

/* Ids, to ask whether one is among them; all zero is empty. */
typedef struct ash_id_set {
    ash_content_id *slots;
    size_t count, capacity;
} ash_id_set;
bool ash__id_set_has(const ash_id_set *s, const ash_content_id *id);
void ash__id_set_add(ash_id_set *s, const ash_content_id *id);
void ash__id_set_release(ash_id_set *s);

/* Ids in the order in which they came, each once: to be gone through while more come. */
typedef struct ash_id_queue {
    ash_id_set known; /* what is in `ids` */
    ash_content_id *ids;
    size_t count, capacity;
} ash_id_queue;
void ash__id_queue_add(void *queue, const ash_content_id *id); /* as ash__content_bases() calls */
void ash__id_queue_release(ash_id_queue *q);

typedef struct ash_naming {
    const ash_content_id *ids;
    size_t count;
    const ash_id_set
        *without; /* contents that do not count, since they are to go as well; or NULL */
    bool *named;  /* result: somebody names ids[i] */
} ash_naming;
int ash__contents_named(ash_contents *c, const ash_naming *naming, const ash_op *op,
                        ash_error *err);

/* Which of at most ASH_CONTENT_IDS_AT_ONCE are there, added to the set. */
int ash__contents_there(ash_contents *c, const ash_content_id *ids, size_t count, ash_id_set *there,
                        const ash_op *op, ash_error *err);

/* Calls fn for each id that a content's document says it is made of. */
typedef void (*ash_base_fn)(void *ctx, const ash_content_id *base);
void ash__content_bases(ash_doc doc, ash_base_fn fn, void *ctx);

#endif
