/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_MONITOR_H
#define ASH_STORE_EMBEDDED_KIT_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

/* A mutex of the rank of stores with one condition. */
typedef struct ash_gate ash_gate;
ash_gate *ash__gate_new(void);
void ash__gate_free(ash_gate *g);
void ash__gate_lock(ash_gate *g);
void ash__gate_unlock(ash_gate *g);
void ash__gate_wait_until(ash_gate *g, int64_t deadline_ms); /* locked */
void ash__gate_wake_all(ash_gate *g);                        /* locked */

#endif
