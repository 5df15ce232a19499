/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_KEPT_SNAPSHOT_H
#define ASH_STORE_EMBEDDED_KIT_KEPT_SNAPSHOT_H

#include "store/embedded/kit/embedded.h"

/* A snapshot that outlives a call, for at most the pin timeout since its last use.
 *
 * The view of one that keeps too much metadata from being used again (s->snapshot_bytes) lapses
 * too.
 *
 * hold takes the view over.  borrow gives it for reading until give_back; NULL when it lapsed.  The
 * sweeper closes the ones nobody touched (ash__held_lapse). */
typedef struct ash_held ash_held;
ash_held *ash__held_new(ash_embedded *s, ash_view *view);
ash_view *ash__held_borrow(ash_held *h);
void ash__held_give_back(ash_held *h);
void ash__held_free(ash_held *h);

void ash__held_lapse(ash_embedded *s);
uint64_t ash__held_oldest(ash_embedded *s); /* the oldest's commit; UINT64_MAX: there is none */
void ash__held_lapse_before(ash_embedded *s, uint64_t commit); /* but those in use */

#endif
