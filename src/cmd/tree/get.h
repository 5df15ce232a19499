/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_TREE_GET_H
#define ASH_CMD_TREE_GET_H

/* The parts of `get`: get.c has the verb, get_folder.c what -r does. */

#include "cmd/kit/place.h"
#include "cmd/tree/sync.h"

/* The bytes of the entry into the place, with its time; finishes the place. */
int ash__cmd_tree_get_file(const ash_cmd_tree_run *r, const ash_tree_entry *e, ash_place *place,
                           ash_progress *progress, ash_error *err);

typedef struct ash_cmd_tree_get_folder {
    const ash_tree_entry *folder;
    int64_t at_ms; /* 0: as it is now */
    const char *local;
    bool delete, quick;
} ash_cmd_tree_get_folder;
/* All that lies in the folder, below the local one.  An exit code, or a negative ASH_E…. */
int ash__cmd_tree_get_folder(ash_cmd_tree_run *r, const ash_cmd_tree_get_folder *what,
                             ash_error *err);

#endif
