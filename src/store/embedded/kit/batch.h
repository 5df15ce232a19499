/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_BATCH_H
#define ASH_STORE_EMBEDDED_KIT_BATCH_H

#include "query/expr/expr.h"
#include "store/embedded/kit/embedded.h"

/* The documents of one batch: small ones copied, large ones pinned where they lie.  They stay valid
 * until the next begin or rest. */
typedef struct ash_batch_memory {
    ash_embedded *store;
    struct ash_batch_memory *next; /* in the store's list; guarded by its monitor, like … */
    struct ash_batch_memory **link;
    bool out;         /* … views are in the caller's hands, so the pins may not lapse */
    ash_pins *also;   /* … pins of a download, to be kept as well; or NULL */
    ash_arena *arena; /* NULL until there is a copy */
    ash_pins *pins;   /* NULL until there is a pinned one; set under the monitor */
    ash_doc *docs;
    size_t count;
    size_t capacity;
    size_t bytes;
    size_t max_docs; /* 0 = no limit */
    size_t max_bytes;
} ash_batch_memory;

/* m stays where it is until release. */
void ash__batch_memory_init(ash_batch_memory *m, ash_embedded *s);
/* Keep these pins, too, while a batch is out; NULL before they are freed. */
void ash__batch_memory_keep(ash_batch_memory *m, ash_pins *pins);
void ash__batch_memory_begin(ash_batch_memory *m, size_t max_docs, size_t max_bytes);
bool ash__batch_memory_is_full(const ash_batch_memory *m);          /* no document fits any more */
bool ash__batch_memory_fits(const ash_batch_memory *m, size_t len); /* the first always does */
void ash__batch_memory_add_copy(ash_batch_memory *m, ash_doc doc);
void ash__batch_memory_add_view(ash_batch_memory *m, ash_doc doc); /* kept alive by the caller */
void ash__batch_memory_add_record(ash_batch_memory *m, ash_snapshot *snap, const ash_record *r);
void ash__batch_memory_give(ash_batch_memory *m, bool exhausted, ash_batch *out);
/* Views of what the pins hold are in the caller's hands, in a batch or not. */
void ash__batch_memory_hold(ash_batch_memory *m);
void ash__batch_memory_rest(ash_batch_memory *m); /* lets go of the documents */
void ash__batch_memory_release(ash_batch_memory *m);

/* For the sweeper: batches that are out do not lapse, however slowly they are read. */
void ash__batch_memory_touch_all(ash_embedded *s);

#endif
