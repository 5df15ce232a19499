/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CARE_MAINTAIN_H
#define ASH_STORE_EMBEDDED_CARE_MAINTAIN_H

#include "store/embedded/kit/embedded.h"

/* {backup: "folder", verify: bool, replace: bool} of ash_store_maintain; verify: read every payload
 * of the copy; replace: also one that has changes of its own, or is of a later state. */
int ash__embedded_backup(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                         bson_t *out, ash_error *err);

#endif
