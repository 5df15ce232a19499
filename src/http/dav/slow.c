/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/slow.h"

#include "base/clock.h"

#include <stdatomic.h>

enum { WAIT_MS = 200 };

static _Atomic int running;

bool ash__dav_slow_begin(ash_exchange *x)
{
    if (atomic_fetch_add(&running, 1) < ASH_DAV_SLOW)
        return true;
    atomic_fetch_sub(&running, 1);
    x->is_put_off = true;
    x->due_ms = ash__clock_ms() + WAIT_MS;
    return false;
}

void ash__dav_slow_end(void)
{
    atomic_fetch_sub(&running, 1);
}
