/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/kit/monitor.h"

#include "base/mem.h"
#include "base/thread.h"

struct ash_gate {
    ash_mutex mutex;
    ash_cond cond;
};

ash_gate *ash__gate_new(void)
{
    ash_gate *g = ash__new(ash_gate);
    ash__mutex_init(&g->mutex, ASH_RANK_STORE);
    ash__cond_init(&g->cond);
    return g;
}

void ash__gate_free(ash_gate *g)
{
    if (g == NULL)
        return;
    ash__cond_release(&g->cond);
    ash__mutex_release(&g->mutex);
    ash__free(g);
}

void ash__gate_lock(ash_gate *g)
{
    ash__mutex_lock(&g->mutex);
}

void ash__gate_unlock(ash_gate *g)
{
    ash__mutex_unlock(&g->mutex);
}

void ash__gate_wait_until(ash_gate *g, int64_t deadline_ms)
{
    ash__cond_wait_until(&g->cond, &g->mutex, deadline_ms);
}

void ash__gate_wake_all(ash_gate *g)
{
    ash__cond_broadcast(&g->cond);
}
