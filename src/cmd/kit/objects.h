/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_OBJECTS_H
#define ASH_CMD_KIT_OBJECTS_H

/* The object stores at an address: in a store, which others share as usual, or elsewhere. */

#include "cmd/kit/cmd.h"

#include <ashlar/object.h>

typedef struct ash_cmd_objects {
    ash_store *store; /* NULL: the address is no store's */
    ash_object_manager *manager;
} ash_cmd_objects;

/* Is the address that of a store?  Else object stores are all that is there. */
bool ash__cmd_is_store(const ash_cmd *cmd);
/* opts: NULL, or who one is; db is the command's.  Close also after a failure. */
int ash__cmd_open_objects(const ash_cmd *cmd, enum ash_cmd_open how,
                          const ash_object_manager_options *opts, ash_cmd_objects *out,
                          ash_error *err);
void ash__cmd_close_objects(ash_cmd_objects *o);

/* Fields of a configuration as the command's options are called: "--ttl, --keep".  What is none stays
 * as it is.  Yours. */
char *ash__cmd_objects_names(const bson_t *fields);
/* The field that an error's text begins or ends with, likewise. */
void ash__cmd_objects_error(ash_error *err);

/* An ash_progress_fn for ash_object_store_copy; ctx is one of these, of one copy. */
typedef struct ash_cmd_objects_progress {
    ash_progress *progress; /* of several copies, one after the other */
    int64_t done, total;    /* of this one */
} ash_cmd_objects_progress;
bool ash__cmd_objects_progress_fn(void *ctx, const char *what, int64_t done, int64_t total);

#endif
