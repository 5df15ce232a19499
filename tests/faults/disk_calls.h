/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_DISK_CALLS_H
#define ASH_TESTS_FAULTS_DISK_CALLS_H

/* An operation with each of its calls of the disk failing. */

#include <ashlar/error.h>

#include "faulty_io.h"

/* ASH_FAULTS_ALL is set: all operations under all faults, call by call. */
bool disk_all_calls(void);
/* An error that the fault explains. */
bool disk_fault_fits(enum fault fault, const ash_error *err);
/* The n-th call fails; true when the operation makes fewer. */
typedef bool (*disk_try)(void *ctx, int n);
/* Every so many calls, as long as there are some: how many there are.  what: for the log. */
int disk_calls_fail(disk_try try_once, void *ctx, enum fault fault, int stride, const char *what,
                    int *tries);

#endif
