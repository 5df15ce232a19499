/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_WORK_H
#define ASH_TESTS_CRASH_WORK_H

/* What is done to a store until a crash interrupts it, and what must be in the store then.
 *
 * The work's steps depend on its seed.  Several threads do some of them each; a step is acknowledged
 * when it was done, and the work is told of acknowledgements, so that it knows what must be there. */

#include <stdbool.h>
#include <stdint.h>

#include <ashlar/error.h>

typedef struct work work;

work *work_new(uint64_t seed);
void work_free(work *w);

/* Each thread does `steps` more of its steps, each acknowledged by one write of {thread, steps done}
 * (two uint32) to `acks`.  The store is closed and opened again `reopens` times on the way.  0, or
 * the first error. */
typedef struct work_options {
    const char *folder;
    uint32_t steps;
    uint32_t reopens;
    int acks;
} work_options;
int work_do(work *w, const work_options *opts, ash_error *err);

/* Take notice of an acknowledgement. */
void work_acknowledge(work *w, const uint32_t ack[2]);
/* Its process died; others go on with what is in the store. */
void work_interrupt(work *w);

/* Opens the store; checks it; each thread's part is as was acknowledged, or that with the next step
 * done as well, of which the work takes notice.  With go_on, some more steps are done and all is
 * looked at again.  False with a text in *err. */
bool work_is_good(work *w, const char *folder, bool go_on, ash_error *err);
/* The same in a process of its own, which leaves the work as it is.  A process that dies of a signal
 * was not good either.  `what` introduces a complaint on standard error. */
bool work_is_good_in_child(work *w, const char *folder, bool go_on, const char *what);

/* What came of reading, the worst last. */
enum outcome { OUTCOME_GOOD, OUTCOME_MISSING, OUTCOME_REFUSED, OUTCOME_WRONG, OUTCOME_DIED };
static inline enum outcome outcome_worse(enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}
/* Reads all that was acknowledged, from a store that may be damaged; changes nothing. */
enum outcome work_read(work *w, const char *folder, ash_error *err);

#endif
