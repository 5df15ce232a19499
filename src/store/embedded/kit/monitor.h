/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_MONITOR_H
#define ASH_STORE_EMBEDDED_KIT_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

/* A mutex of the rank of stores with one condition. */
typedef struct ash_monitor ash_monitor;
ash_monitor *ash__monitor_new(void);
void ash__monitor_free(ash_monitor *m);
void ash__monitor_lock(ash_monitor *m);
void ash__monitor_unlock(ash_monitor *m);
/* What a function counts on that is called with the monitor locked, as these two are. */
void ash__monitor_assert_held(const ash_monitor *m);
void ash__monitor_wait_until(ash_monitor *m, int64_t deadline_ms);
void ash__monitor_wake_all(ash_monitor *m);

#endif
