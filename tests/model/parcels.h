/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_PARCELS_H
#define ASH_TESTS_MODEL_PARCELS_H

/* Documents {_id: number, at: date, pad: bytes} of all sizes under a TTL index: odd numbers are
 * over from the beginning, even ones never.  Each that is sent takes the one away that was sent
 * PARCELS_KEPT before it. */

#include <ashlar/store.h>

enum { PARCELS_KEPT = 40 };

typedef struct parcels {
    ash_collection *c;
    ash_error err;
} parcels;

bool parcels_open(parcels *p, ash_store *store);
bool parcels_prepare(parcels *p); /* the TTL index */
void parcels_close(parcels *p);
bool parcels_send(parcels *p, int64_t number);

/* Is what is there what must be there after some count of parcels between `least` and `most`, with
 * one more under way?  seen: the newest that a change stream told of, or -1.  *next: the next to
 * send.  What the parcel under way left undone is done.  False with a text in p->err. */
bool parcels_settle(parcels *p, int64_t least, int64_t most, int64_t seen, int64_t *next);

#endif
