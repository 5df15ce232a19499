/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_BUDGET_H
#define ASH_BASE_BUDGET_H

/* The time that a thread may spend on the operation it works for.
 *
 * Loops over documents look at their operation's deadline themselves.  One document can take long,
 * too: an expression with nested loops, a filter with thousands of patterns.  What evaluates those
 * knows no operation, and a filter compiled into a collection outlives all of them; so whoever
 * starts a piece of work says here, for its own thread, what bounds it. */

#include "base/error.h"

#include <stdint.h>

/* How long one document may take where all other writers wait for it. */
enum { ASH_BUDGET_TURN_MS = 5000 };

typedef struct ash_budget {
    int64_t deadline_ms;        /* monotonic; 0 = none */
    const volatile int *cancel; /* or NULL; lives until leave */
    int64_t turn_ms;            /* between two calls of ash__budget_turn; 0 = no limit */
    int64_t turn_until_ms;      /* its own */
} ash_budget;

/* The rest of this thread's work is bounded by this, up to leave(), which takes what enter()
 * gave. */
ash_budget ash__budget_enter(int64_t deadline_ms, const volatile int *cancel, int64_t turn_ms);
void ash__budget_leave(ash_budget outer);

/* The next document begins. */
void ash__budget_turn(void);

/* Is it used up?  ASH_EINTERRUPTED or ASH_ETIMEOUT.  The second reads the clock only now and then:
 * for what takes less than some milliseconds. */
int ash__budget_check(ash_error *err);
int ash__budget_step(ash_error *err);

#endif
