/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_AIM_H
#define ASH_TESTS_CRASH_AIM_H

/* Aimed flips: see aim.c. */

#include <stdbool.h>
#include <stdint.h>

typedef struct aim_options {
    uint64_t seed;
    int flips;
    int jobs;
    int seconds;        /* no flip begins later than that; 0: all are made */
    int only;           /* -1: all */
    const char *keep;   /* where the sound store is kept for the next run; NULL: nowhere */
    const char *ashlar; /* the command, for servers in processes of their own; NULL: none */
    const char *leave;  /* with only: make just the damaged store, there; or NULL */
    bool loud;          /* what the store logs is shown */
} aim_options;

/* False when a flip killed a process, made something wrong, or stayed unseen. */
bool aim_run(const aim_options *o);

#endif
