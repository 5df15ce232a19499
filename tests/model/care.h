/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_CARE_H
#define ASH_TESTS_MODEL_CARE_H

/* What goes on in a store while the model's steps are done: a thread that gives space back, looks
 * for damage, builds and drops an index and reads a change stream. */

#include <pthread.h>

#include "kills.h"

typedef struct care {
    ash_store *store;
    kills_page *page;
    rng r;
    atomic_bool stop;
    pthread_t thread;
} care;

/* Ends the process when something is not as it must be, telling what. */
void care_start(care *c, ash_store *store, kills_page *page, uint64_t seed);
void care_stop(care *c);

/* The rows that the index is built on: a first process makes them, others what is missing. */
bool care_make_rows(ash_store *store, ash_error *err);
/* The first so many of them and nothing else? */
bool care_rows_are_whole(ash_store *store, ash_error *err);

#endif
