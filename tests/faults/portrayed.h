/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_PORTRAYED_H
#define ASH_TESTS_FAULTS_PORTRAYED_H

/* What trees and object stores under faults have in common: a store that is made again from memory for
 * each try, and what it looks like after each step (its portraits). */

#include "check.h"

#include <ashlar/store.h>

#include "image.h"

enum { PORTRAYED_STEPS_MAX = 7 };

typedef struct portrayed {
    char *folder, *path;
    image image;
    char *portraits[PORTRAYED_STEPS_MAX + 1]; /* before the first step, after each of them */
} portrayed;

/* A store that `fill` put something into. */
void portrayed_setup(portrayed *s, void (*fill)(ash_store *store));
void portrayed_release(portrayed *s);
void portrayed_forget(portrayed *s); /* the portraits */
ash_store *portrayed_open(const portrayed *s);
/* As it was at first. */
ash_store *portrayed_begin(const portrayed *s);

/* What was acknowledged is there, and maybe the next of `count` steps; how many steps that is.
 * now: its portrait, which is freed. */
size_t portrayed_find_step(const portrayed *s, char *now, size_t count, size_t done,
                           const char *what);

#endif
