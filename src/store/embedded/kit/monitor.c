/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/kit/monitor.h"

#include "base/mem.h"
#include "base/thread.h"

struct ash_monitor {
    ash_mutex mutex;
    ash_cond cond;
};

ash_monitor *ash__monitor_new(void)
{
    ash_monitor *m = ash__new(ash_monitor);
    ash__mutex_init(&m->mutex, ASH_RANK_STORE);
    ash__cond_init(&m->cond);
    return m;
}

void ash__monitor_free(ash_monitor *m)
{
    if (m == NULL)
        return;
    ash__cond_release(&m->cond);
    ash__mutex_release(&m->mutex);
    ash__free(m);
}

void ash__monitor_lock(ash_monitor *m)
{
    ash__mutex_lock(&m->mutex);
}

void ash__monitor_unlock(ash_monitor *m)
{
    ash__mutex_unlock(&m->mutex);
}

void ash__monitor_assert_held(const ash_monitor *m)
{
    ash__mutex_assert_held(&m->mutex);
}

void ash__monitor_wait_until(ash_monitor *m, int64_t deadline_ms)
{
    ash__monitor_assert_held(m);
    ash__cond_wait_until(&m->cond, &m->mutex, deadline_ms);
}

void ash__monitor_wake_all(ash_monitor *m)
{
    ash__monitor_assert_held(m);
    ash__cond_broadcast(&m->cond);
}
