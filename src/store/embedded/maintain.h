/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_MAINTAIN_H
#define ASH_STORE_EMBEDDED_MAINTAIN_H

#include "store/embedded/embedded.h"

/* {backup: "folder", verify: bool} of ash_store_maintain; verify: read every payload of the copy.
 */
int ash__embedded_backup(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                         bson_t *out, ash_error *err);

#endif
