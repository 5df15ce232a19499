/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CARE_SWEEP_H
#define ASH_STORE_EMBEDDED_CARE_SWEEP_H

#include "store/embedded/kit/embedded.h"

/* One thread a store: deletes expired documents (every ttl_interval_ms), old results of retryable
 * writes, and closes snapshots that resting downloads let lapse.  What fails is logged and tried
 * again next time. */
int ash__sweep_start(ash_embedded *s, ash_error *err);
void ash__sweep_stop(ash_embedded *s); /* waits for it; fine when it never started */

/* One round over all TTL indexes; deletes at most 500 documents a turn of the writer.  What fails
 * in one index leaves the others their chance; the first failure is returned. */
int ash__ttl_sweep(ash_embedded *s, ash_error *err);

#endif
