/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds the work of the calling thread.  It is kept per thread and not passed along: filters
 * and expressions are evaluated far below whoever knows the operation. */
#include "base/budget.h"

#include "base/clock.h"

#include <stddef.h>

/* A step is short beside even a coarse clock. */
enum { STEPS_A_CHECK = 16 };

static _Thread_local ash_budget current;
/* Never reset: which of the steps looks at the clock does not matter. */
static _Thread_local unsigned steps;

ash_budget ash__budget_enter(int64_t deadline_ms, const volatile int *cancel, int64_t turn_ms)
{
    ash_budget outer = current;
    current = (ash_budget){.deadline_ms = deadline_ms, .cancel = cancel, .turn_ms = turn_ms};
    ash__budget_turn();
    return outer;
}

void ash__budget_leave(ash_budget outer)
{
    current = outer;
}

void ash__budget_turn(void)
{
    if (current.turn_ms > 0)
        current.turn_until_ms = ash__clock_coarse_ms() + current.turn_ms;
}

int ash__budget_check(ash_error *err)
{
    const ash_budget *b = &current;
    /* Another thread sets it, and nothing else has to be seen in order with it. */
    if (b->cancel != NULL && __atomic_load_n(b->cancel, __ATOMIC_RELAXED) != 0)
        return ash__fail(err, ASH_EINTERRUPTED, "operation was interrupted");
    if (b->deadline_ms == 0 && b->turn_ms == 0)
        return 0;
    int64_t now = ash__clock_coarse_ms();
    if (b->deadline_ms != 0 && now >= b->deadline_ms)
        return ash__fail(err, ASH_ETIMEOUT, "operation exceeded time limit");
    if (b->turn_ms != 0 && now >= b->turn_until_ms)
        return ash__fail(err, ASH_ETIMEOUT,
                         "one document took more than %lld ms to evaluate while all writers "
                         "waited for it",
                         (long long)b->turn_ms);
    return 0;
}

int ash__budget_step(ash_error *err)
{
    return ++steps % STEPS_A_CHECK != 0 ? 0 : ash__budget_check(err);
}
