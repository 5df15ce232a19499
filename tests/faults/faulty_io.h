/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_IO_H
#define ASH_TESTS_FAULTS_IO_H

/* A disk that fails: the n-th call that changes anything.
 *
 * Calls of Ashlar come through its table of I/O calls, those of LMDB through functions of the
 * program that stand before the C library's. */

#include <stdbool.h>

enum fault {
    FAULT_EIO,
    FAULT_ENOSPC,
    FAULT_SHORT,   /* half is written, then the disk is full */
    FAULT_UNKNOWN, /* it is done, and reported as failed */
    FAULT_LASTING  /* the same, and everything after it fails until the fault is cleared */
};
extern const char *const fault_names[];

void faulty_io_set(int n, enum fault fault);
bool faulty_io_clear(void); /* true: the fault has happened */

#endif
