/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_TURN_H
#define ASH_BASE_TURN_H

/* The order in which threads tell others what they did.
 *
 * A flush of the disk lets many threads go on at once.  Whoever hears from the second of them,
 * whose change saw that of the first, could hear from it before the first has told anybody.  So a
 * thread that will tell somebody takes part in a line; what makes its change final gives it the
 * last place there, in the order of the changes, and it waits for those before it.
 *
 * Any thread may call these functions but for begin, wait and end, which are the owner's.  A mutex
 * of rank ASH_RANK_TURNS is held for some instructions, and nothing is waited for under it. */

#include "base/thread.h"

/* How long those before somebody may make it wait; then they lose their places. */
enum { ASH_TURN_MS = 500 };

typedef struct ash_turn ash_turn;

typedef struct ash_turns {
    ash_mutex lock; /* guards all below, and the turns in the line */
    ash_turn *first, *last;
} ash_turns;

/* The owner's memory. */
struct ash_turn {
    ash_turns *turns;
    ash_turn *next, *prev;
    bool placed;
    /* A change of its owner was made, but was not durable when the owner's time was over.  Set by
     * the owner's thread, who is told of success then and looks here; cleared by begin. */
    bool late;
    ash_cond first; /* it is the first of the line, or has lost its place */
    /* Set by the owner or NULL: called by its thread once a change of it waits for the writer,
     * behind those that came before.  The queue's lock is held. */
    void (*queued)(ash_turn *turn);
};

void ash__turns_init(ash_turns *t);
void ash__turns_release(ash_turns *t);

/* From now on the calling thread's changes are given places, up to end(). */
void ash__turn_begin(ash_turn *turn, ash_turns *turns);
void ash__turn_end(ash_turn *turn);

/* Of the calling thread; NULL when it tells nobody. */
ash_turn *ash__turn_current(void);

/* The change of its owner is in the writer's queue.  NULL is fine. */
void ash__turn_queued(ash_turn *turn);

/* Give it the last place, or take its place away: others need not wait for it.  NULL is fine. */
void ash__turn_place(ash_turn *turn);
void ash__turn_leave(ash_turn *turn);

/* Until it is the first, or has no place; at most ASH_TURN_MS. */
void ash__turn_wait(ash_turn *turn);

#endif
