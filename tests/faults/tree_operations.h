/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_TREE_OPERATIONS_H
#define ASH_TESTS_FAULTS_TREE_OPERATIONS_H

/* What is done to a tree under faults: each kind of change, as one step or several.  What the tree
 * looks like after each of them is known from having done them once. */

#include "check.h"

#include "portrayed.h"
#include "tree_steps.h"

/* A store with a tree in it: *state is a portrayed (portrayed.h). */
int tree_subject_setup(void **state);
int tree_subject_teardown(void **state);

extern const fault_subject tree_subject;

#endif
