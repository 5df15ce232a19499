/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_TREE_OPERATIONS_H
#define ASH_TESTS_FAULTS_TREE_OPERATIONS_H

/* What is done to a tree under faults: each kind of change, as one step or several.  What the tree
 * looks like after each of them is known from having done them once. */

#include "check.h"

#include "portrayed.h"
#include "tree_steps.h"

typedef struct tree_operation {
    const char *name;
    size_t count; /* of steps */
    int (*step)(ash_tree *tree, size_t number, ash_error *err);
    bool is_plain; /* like another one, for most faults */
} tree_operation;

extern const tree_operation tree_operations[];
extern const size_t tree_operation_count;

/* A store with a tree in it: *state is a portrayed (portrayed.h). */
int tree_subject_setup(void **state);
int tree_subject_teardown(void **state);

/* Tells what the tree looks like after each step of the operation: without a fault. */
void tree_subject_foresee(portrayed *s, const tree_operation *op);

/* Steps of the operation in this store until one fails: *done of them were acknowledged. */
int tree_subject_do(ash_store *store, const tree_operation *op, size_t *done, ash_error *err);
/* Somebody else puts a file under another root, whatever becomes of it; true: it is acknowledged. */
bool tree_subject_put_other(ash_store *store);

/* The store, opened again, has what was acknowledged and maybe the step after it, and it is sound;
 * the rest can be done, and then it is as if nothing had failed.  what: introduces a complaint.
 * Closes the store. */
void tree_subject_end(portrayed *s, ash_store *store, const tree_operation *op, size_t done,
                      bool other, const char *what);

#endif
