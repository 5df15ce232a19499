/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_HELD_STATE_H
#define ASH_STORE_EMBEDDED_KIT_HELD_STATE_H

#include "store/embedded/kit/embedded.h"

/* States of the store that reads go back to by their time (ash_store_hold, ash_op.at_time).
 *
 * Each is a snapshot, which keeps LMDB from reusing what was freed since.  So there are at most
 * ASH_PAST_MAX of them, and each lapses ASH_PAST_REST_MS after its last use and at the latest
 * ASH_PAST_AGE_MS after it was taken.  When there is no room, the one unused for longest goes.
 * One that keeps more than s->snapshot_bytes of metadata from being used again lapses too; a
 * reading in it goes on to its end.
 *
 * One thread reads in a state at a time (it may begin several readings); others wait. */

enum { ASH_PAST_MAX = 64, ASH_PAST_REST_MS = 60000, ASH_PAST_AGE_MS = 300000 };

typedef struct ash_past ash_past; /* one state; see ash_embedded */

/* As ash_store_hold. */
int ash__past_hold(ash_embedded *s, uint64_t time, const ash_op *op, uint64_t *out, ash_error *err);

/* The state of op->at_time, for reading until leave: *out and its view.  ASH_ECURSOR (239) when it
 * is no longer held. */
int ash__past_enter(ash_embedded *s, const ash_op *op, ash_past **out, ash_view **view,
                    ash_error *err);
void ash__past_leave(ash_embedded *s, ash_past *p);

/* Let go of what lapsed. */
void ash__past_lapse(ash_embedded *s);
uint64_t ash__past_oldest(ash_embedded *s); /* the oldest's commit; UINT64_MAX: there is none */
void ash__past_lapse_before(ash_embedded *s, uint64_t commit);
void ash__past_release(ash_embedded *s);

#endif
