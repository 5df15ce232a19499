/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_LOCKS_LOCKS_H
#define ASH_CMD_LOCKS_LOCKS_H

#include "cmd/kit/cmd.h"

#include <ashlar/lock.h>

/* The resource that NAME on the command line means: id:VALUE is that value, as a file's id would
 * be given; anything else is the text itself.  Names of files do not lead to their ids, since a
 * name may have many revisions or none yet.  bson_value_destroy() by the caller. */
int ash__locks_id(const char *text, bson_value_t *out, ash_error *err);

/* Open the store and the lock collection of the bucket.  On failure both are NULL. */
int ash__locks_open(const ash_cmd *cmd, enum ash_cmd_open how, ash_lock_options *opts,
                    ash_store **store, ash_lock_collection **out, ash_error *err);

#endif
