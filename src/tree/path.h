/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_PATH_H
#define ASH_TREE_PATH_H

#include <stddef.h>

#include "base/error.h"

/* Names in a path: each costs a lookup, and every folder above an entry is held while it is
 * changed. */
#define ASH_TREE_DEPTH_MAX 4096
/* Bytes of a path, its slashes included: what goes through a tree holds one path, or a few, for all
 * the levels that it is deep. */
#define ASH_TREE_PATH_MAX 65536

/* A path taken apart. */
typedef struct ash_tree_path {
    char *text; /* the names point into it */
    const char **names;
    size_t count; /* 0: the root */
} ash_tree_path;

/* ASH_EINVAL for what cannot be one, and says why; release in any case. */
int ash__tree_path_parse(const char *text, ash_tree_path *out, ash_error *err);
void ash__tree_path_release(ash_tree_path *p);
/* "/a/b" of the first count names; ash__free(). */
char *ash__tree_path_join(const ash_tree_path *p, size_t count);
/* A name as it may stand between slashes. */
int ash__tree_path_check_name(const char *name, size_t len, ash_error *err);

#endif
