/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_SEATS_H
#define ASH_NET_SEATS_H

/* How many of a number of threads (seats) work at a time.
 *
 * Threads that only compute are best as many as there are processors: of more, each event wakes one
 * that sleeps, while another one that is awake could have taken it.  Threads that wait for the disk
 * are best many.  So as many are open as there are processors, and one, besides those that have been
 * in one turn for a while; a watcher looks every millisecond while there are turns, and sleeps while
 * there are none.  More are opened at once, and closed one after the other.
 *
 * Any thread may call everything, each seat with its own number. */

#include "base/error.h"

#include <stdbool.h>

typedef struct ash_seats ash_seats;

/* NULL: no watcher could be started. */
ash_seats *ash__seats_new(int count);
/* All seats have left. */
void ash__seats_free(ash_seats *s);

/* Waits until one more may be open, and sits down; false: the end. */
bool ash__seats_sit(ash_seats *s);
/* A turn begins and ends. */
void ash__seats_begin(ash_seats *s, int number);
void ash__seats_end(ash_seats *s, int number);
/* Between turns: stands up, and waits, if fewer are to be open than are.  false: the end. */
bool ash__seats_may_stay(ash_seats *s);
/* From now on nobody waits. */
void ash__seats_stop(ash_seats *s);

/* For tests: how many may be open. */
int ash__seats_open(ash_seats *s);

#endif
