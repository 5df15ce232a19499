/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WATCH_SLOTS_H
#define ASH_STORE_EMBEDDED_WATCH_SLOTS_H

/* Change streams.  Slots of the embedded backend's table; contracts in store/ops.h. */

#include "store/ops.h"

int ash__embedded_watch(ash_store *store, ash_ns ns, const ash_watch_options *opts,
                        ash_cursor **out, ash_error *err);

#endif
