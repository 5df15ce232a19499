/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_TREE_PUT_H
#define ASH_CMD_TREE_PUT_H

/* The parts of `put`: put.c has the verb, put_folder.c what -r does. */

#include "cmd/tree/sync.h"

/* One file that is to be written. */
typedef struct ash_cmd_tree_put_target {
    ash_tree *tree;
    const char *path;
    const ash_tree_change_options *opts;
    const ash_op *op;
    ash_progress *progress;
} ash_cmd_tree_put_target;
/* A writer that has all bytes: of what f has in its buffer, if that is whole, else of what its
 * descriptor gives from where it stands. */
int ash__cmd_tree_put_write(const ash_cmd_tree_put_target *to, ash_sync_file *f,
                            ash_tree_writer **out, ash_error *err);

typedef struct ash_cmd_tree_put_folder {
    const char *local, *path;
    const char *content_type;
    bool delete, quick, verify;
} ash_cmd_tree_put_folder;
/* All that lies in the local folder, below the path.  An exit code, or a negative ASH_E…. */
int ash__cmd_tree_put_folder(ash_cmd_tree_run *r, const ash_cmd_tree_put_folder *what,
                             ash_error *err);

#endif
