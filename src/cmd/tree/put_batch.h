/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_TREE_PUT_BATCH_H
#define ASH_CMD_TREE_PUT_BATCH_H

/* Files and folders that become visible in one commit: whoever looks at a tree waits until what was
 * written before is committed, so that a commit for each file would make each file wait for a sync.
 */

#include "cmd/tree/sync.h"

typedef struct ash_put_item {
    char *name, *local;      /* taken over */
    ash_tree_writer *writer; /* sealed; taken over; NULL: a folder */
    int64_t length;
    bool urgent; /* committed at once, with those that wait already */
    ash_sync_change change;
    ash_tree_entry *entry; /* once it is committed */
} ash_put_item;

typedef struct ash_put_batch {
    ash_sync *s;
    size_t most;         /* items in one commit */
    ash_put_item *items; /* guarded, as what follows, by s->lock */
    size_t count;
    int64_t bytes;
} ash_put_batch;

int ash__put_batch_init(ash_put_batch *b, ash_sync *s, ash_error *err);
/* From any thread.  Commits when enough came together, and counts and tells what became of each. */
void ash__put_batch_add(ash_put_batch *b, const ash_put_item *item);
/* Commits what is left. */
void ash__put_batch_end(ash_put_batch *b);

#endif
