/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_STORE_CALLS_H
#define ASH_TESTS_FAULTS_STORE_CALLS_H

/* Each operation of a subject with each of its calls of the store below failing. */

#include "portrayed.h"

typedef struct store_fault {
    bool lost;    /* the call is done, and its result lost */
    int delay_ms; /* > 0: it does not fail, it is late */
    int stride;   /* every so many calls; all of them where ASH_FAULTS_ALL is set */
} store_fault;

void store_calls_fail(const fault_subject *subject, portrayed *s, const store_fault *fault);

#endif
