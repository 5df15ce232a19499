/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_STORE_H
#define ASH_TESTS_FAULTS_STORE_H

/* A store around another one, whose n-th call fails or is late. */

#include "store/ops.h"

ash_store *faulty_store_new(ash_store *inner);
void faulty_store_free(ash_store *store); /* the inner store stays open */

/* The n-th call from now on fails: with ASH_ENOSPC before the inner store sees it, or with ASH_EIO
 * after it is done, so that its outcome is unknown.  delay_ms > 0: it is late instead.  n 0: none.
 */
void faulty_store_set(ash_store *store, int n, bool done, int delay_ms);
bool faulty_store_happened(const ash_store *store);

#endif
