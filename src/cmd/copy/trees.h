/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_COPY_TREES_H
#define ASH_CMD_COPY_TREES_H

#include "cmd/kit/cmd.h"

/* Trees from one store to another, entry by entry (trees.c): of any generation of v7files, or of
 * today, into one of today. */
typedef struct ash_copy_trees {
    const ash_cmd *cmd;
    ash_store *from;
    ash_store *to;     /* NULL: a dry run whose target is yet to be made */
    const char *to_db; /* NULL: as the source's is called */
    const char *root;  /* NULL: all of the collection */
    bool without_history;
    ash_progress *progress;
} ash_copy_trees;

/* Says what was done.  ASH_EXIT_PARTIAL: some of it could not be, and was told.  ASH_ENOTFOUND: the
 * source has no tree. */
int ash__copy_trees(const ash_copy_trees *c, ash_error *err);

#endif
