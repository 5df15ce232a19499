/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_KEPT_SNAPSHOT_H
#define ASH_STORE_EMBEDDED_KIT_KEPT_SNAPSHOT_H

#include "store/embedded/kit/embedded.h"

/* A snapshot that outlives a call, for at most the pin timeout since its last use.
 *
 * One that keeps too much metadata from being used again (s->snapshot_bytes) lapses too.
 *
 * new takes the snapshot over.  borrow gives it for reading until give_back; NULL when it lapsed.
 * The sweeper closes the ones nobody touched (ash__kept_snapshots_lapse). */
typedef struct ash_kept_snapshot ash_kept_snapshot;
ash_kept_snapshot *ash__kept_snapshot_new(ash_embedded *s, ash_snapshot *snap);
ash_snapshot *ash__kept_snapshot_borrow(ash_kept_snapshot *k);
void ash__kept_snapshot_give_back(ash_kept_snapshot *k);
void ash__kept_snapshot_free(ash_kept_snapshot *k);

void ash__kept_snapshots_lapse(ash_embedded *s);
/* The oldest's commit; UINT64_MAX: there is none. */
uint64_t ash__kept_snapshots_oldest(ash_embedded *s);
void ash__kept_snapshots_lapse_before(ash_embedded *s, uint64_t commit); /* but those in use */

#endif
