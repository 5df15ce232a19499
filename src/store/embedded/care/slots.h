/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CARE_SLOTS_H
#define ASH_STORE_EMBEDDED_CARE_SLOTS_H

/* Looking after the store.  Slots of the embedded backend's table; contracts in store/ops.h. */

#include "store/ops.h"

int ash__embedded_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress,
                           void *ctx, bson_t *out, ash_error *err);

#endif
