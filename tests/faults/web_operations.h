/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_WEB_OPERATIONS_H
#define ASH_TESTS_FAULTS_WEB_OPERATIONS_H

/* What clients of HTTP do to a tree under faults, through one server: a refusal says why by its
 * status, and what was there can be read beside it. */

#include "check.h"

#include "portrayed.h"

/* A store with a tree in it: *state is a portrayed (portrayed.h). */
int web_subject_setup(void **state);
int web_subject_teardown(void **state);

extern const fault_subject web_subject;
extern bool web_subject_full_disk; /* then a refusal is 507, and nothing else */

#endif
