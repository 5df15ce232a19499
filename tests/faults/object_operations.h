/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_OBJECT_OPERATIONS_H
#define ASH_TESTS_FAULTS_OBJECT_OPERATIONS_H

/* What is done to an object store under faults: each kind of change, as one step or several, without
 * versions and with them.  What it looks like after each of them is known from having done them
 * once. */

#include "check.h"

#include "object_steps.h"
#include "portrayed.h"

/* A store with object stores in it: *state is a portrayed (portrayed.h). */
int object_subject_setup(void **state);
int object_subject_teardown(void **state);

extern const fault_subject object_subject;

#endif
