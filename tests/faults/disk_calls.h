/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_DISK_CALLS_H
#define ASH_TESTS_FAULTS_DISK_CALLS_H

/* Each operation of a subject with each of its calls of the disk failing. */

#include "faulty_io.h"
#include "portrayed.h"

/* Every so many calls; where ASH_FAULTS_ALL is set, all operations under all faults, call by call.
 * fits: which errors the fault explains besides EIO and a full disk; or NULL. */
void disk_calls_fail(const fault_subject *subject, portrayed *s, enum fault fault, int stride,
                     bool (*fits)(enum fault fault, const ash_error *err));

/* fail_one: the n-th call fails; true when there are fewer.  Returns how many there are; counts the
 * tries. */
int disk_calls_fail_each(bool (*fail_one)(void *ctx, int n), void *ctx, int stride, int *tries);
/* Is the error one that the fault explains, in words? */
void disk_calls_expect_clear(enum fault fault, bool (*fits)(enum fault fault, const ash_error *err),
                             const char *what, const ash_error *err);

#endif
