/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_RECENT_H
#define ASH_TREE_CONTENT_RECENT_H

/* What the contents were like that were stored last: files of one folder are often like each other,
 * and an index on a few features finds but half of those that share a half.
 *
 * A hint and nothing else: what is found here may not be there any more, or not yet.  Any number of
 * threads. */

#include "base/thread.h"
#include "tree/codec/sketch.h"
#include "tree/content/content.h"

enum { ASH_RECENT_SLOTS = 256 };

typedef struct ash_recent {
    ash_mutex lock; /* guards what follows */
    struct {
        ash_content_id id; /* len 0: none */
        ash_sketch sketch;
    } slots[ASH_RECENT_SLOTS];
    uint32_t next;
} ash_recent;

void ash__recent_init(ash_recent *r);
void ash__recent_release(ash_recent *r);
void ash__recent_add(ash_recent *r, const ash_content_id *id, const ash_sketch *sketch);
/* The one most like the sketch, the newest of several; returns how many slots they share, and 0
 * where there is none. */
int ash__recent_most_alike(ash_recent *r, const ash_sketch *sketch, ash_content_id *out);

#endif
