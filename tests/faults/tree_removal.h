/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_TREE_REMOVAL_H
#define ASH_TESTS_FAULTS_TREE_REMOVAL_H

/* A folder that is removed in many commits, one of which fails. */

#include "portrayed.h"

#include <ashlar/error.h>
#include <bson/bson.h>

/* Of the folder "d" of a subject (tree_operations.h), a few entries a commit. */
typedef struct tree_removal {
    portrayed *subject;
    char *before;    /* all that is there at first, … */
    bson_value_t id; /* … and the folder's */
} tree_removal;

void tree_removal_foresee(tree_removal *r, portrayed *subject);
void tree_removal_release(tree_removal *r);

int tree_removal_do(ash_store *store, ash_error *err);

/* rc: what the removal ended with.  The store, opened again, is sound, and each entry that is still
 * there is as it was; where the removal was acknowledged there is none.  The same again does the
 * rest, and what was removed comes back.  what: introduces a complaint.  Closes the store. */
void tree_removal_end(const tree_removal *r, ash_store *store, int rc, const char *what);

#endif
