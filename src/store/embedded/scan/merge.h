/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SCAN_MERGE_H
#define ASH_STORE_EMBEDDED_SCAN_MERGE_H

#include "query/plan/plan.h"
#include "store/embedded/kit/embedded.h"

/* The ranges of one index, merged: by what the keys have behind their ranges' prefixes, in the
 * plan's direction, and by record where that is equal.
 *
 * As a scan it outlives snapshots: pause, and go on in a later one behind what it has given.  One
 * thread. */
typedef struct ash_scan_merge ash_scan_merge;

ash_scan_merge *ash__scan_merge_new(const ash_plan *plan); /* borrowed */
/* *hit is valid until the next call.  snap is the same one until pause. */
int ash__scan_merge_next(ash_scan_merge *m, ash_snapshot *snap, ash_scan_hit *hit, bool *found,
                         ash_error *err);
void ash__scan_merge_pause(ash_scan_merge *m); /* before the snapshot is let go of */
void ash__scan_merge_free(ash_scan_merge *m);

#endif
