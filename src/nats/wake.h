/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_WAKE_H
#define ASH_NATS_WAKE_H

/* A descriptor that is readable once somebody called. */

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct ash_nats_wake {
    int read_fd, write_fd; /* the same one where the system can */
    atomic_bool called;    /* the descriptor is readable, or about to be */
} ash_nats_wake;

int ash__nats_wake_init(ash_nats_wake *w, ash_error *err);
void ash__nats_wake_release(ash_nats_wake *w);
/* Any thread. */
void ash__nats_wake_call(ash_nats_wake *w);
/* Forget the calls up to now; what they told of is to be looked at after that. */
void ash__nats_wake_clear(ash_nats_wake *w);

#endif
