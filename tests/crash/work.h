/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_WORK_H
#define ASH_TESTS_CRASH_WORK_H

/* What must be true of a store that a crash interrupted. */

#include "steps.h"

/* Opens the store; checks it; each thread's part is what its model says, or that with the next step
 * done as well: models[] are brought to where the store is.  With go_on, some more steps are done
 * and all is looked at again.  False with a text in *err. */
bool aftermath_is_good(const char *folder, model models[MODEL_THREADS], bool go_on, ash_error *err);

/* The same in a process of its own, which leaves models[] as they are.  A process that dies of a
 * signal was not good either.  `what` introduces a complaint on standard error. */
bool aftermath_in_child(const char *folder, model models[MODEL_THREADS], bool go_on,
                        const char *what);

/* Bring models[] to what an acknowledgement says. */
void aftermath_take_ack(model models[MODEL_THREADS], const uint32_t ack[2]);

#endif
