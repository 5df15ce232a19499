/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_DATED_SNAPSHOT_H
#define ASH_STORE_EMBEDDED_KIT_DATED_SNAPSHOT_H

#include "store/embedded/kit/embedded.h"

/* Snapshots that reads go back to by their time (ash_store_hold, ash_op.at_time).
 *
 * Each keeps LMDB from reusing what was freed since.  So there are at most
 * ASH_DATED_SNAPSHOTS_MAX of them, and each lapses ASH_DATED_SNAPSHOT_REST_MS after its last use
 * and at the latest ASH_DATED_SNAPSHOT_AGE_MS after it was taken.  When there is no room, the one
 * unused for longest goes.  One that keeps more than s->snapshot_bytes of metadata from being used
 * again lapses too; a reading in it goes on to its end.
 *
 * One thread reads in one at a time (it may begin several readings); others wait. */

enum {
    ASH_DATED_SNAPSHOTS_MAX = 64,
    ASH_DATED_SNAPSHOT_REST_MS = 60000,
    ASH_DATED_SNAPSHOT_AGE_MS = 300000
};

typedef struct ash_dated_snapshot ash_dated_snapshot; /* see ash_embedded */

/* As ash_store_hold. */
int ash__dated_snapshot_hold(ash_embedded *s, uint64_t time, const ash_op *op, uint64_t *out,
                             ash_error *err);

/* The one of op->at_time, for reading until leave: *out and its *snap.  ASH_ECURSOR (239) when it is
 * no longer held. */
int ash__dated_snapshot_enter(ash_embedded *s, const ash_op *op, ash_dated_snapshot **out,
                              ash_snapshot **snap, ash_error *err);
void ash__dated_snapshot_leave(ash_embedded *s, ash_dated_snapshot *d);

/* Let go of what lapsed. */
void ash__dated_snapshots_lapse(ash_embedded *s);
/* The oldest's commit; UINT64_MAX: there is none. */
uint64_t ash__dated_snapshots_oldest(ash_embedded *s);
void ash__dated_snapshots_lapse_before(ash_embedded *s, uint64_t commit);
void ash__dated_snapshots_release(ash_embedded *s);

#endif
