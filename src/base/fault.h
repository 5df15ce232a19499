/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_FAULT_H
#define ASH_BASE_FAULT_H

/* Faults of memory that is mapped from files: a page that cannot be read (SIGBUS), or is not there
 * (SIGSEGV).
 *
 * While somebody has them enabled, the process has a handler for both signals.  A fault that falls
 * into ash__fault_try on the same thread ends just that call; any other goes to the handler that
 * was there before, or ends the process as it would have. */

#include <stdbool.h>

/* Counted; each needs a disable.  Any thread. */
void ash__faults_enable(void);
void ash__faults_disable(void);

/* Call fn; false: it ended by a fault, or by ash__fault_raise.  What it held is not given back: it
 * must not allocate, lock or open anything.  Calls may nest. */
typedef void (*ash_fault_fn)(void *ctx);
bool ash__fault_try(ash_fault_fn fn, void *ctx);

/* End the innermost try of this thread; returns when there is none. */
void ash__fault_raise(void);

#endif
