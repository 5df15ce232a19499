/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_PORTRAYED_H
#define ASH_TESTS_FAULTS_PORTRAYED_H

/* What trees and object stores under faults have in common: a store that is made again from memory for
 * each try, what it looks like after each step (its portraits), and what is done to it. */

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

/* ---- what is done ---- */

typedef struct operation_facts {
    const char *name;
    size_t count;  /* of steps */
    bool is_plain; /* like another one, for most faults */
} operation_facts;

/* Trees, or object stores; `op` is the number of an operation. */
typedef struct fault_subject {
    size_t count; /* of operations */
    operation_facts (*facts)(size_t op);
    /* Tells what there is after each step: without a fault. */
    void (*foresee)(portrayed *s, size_t op);
    /* Steps of the operation in this store until one fails: *done of them were acknowledged. */
    int (*act)(ash_store *store, size_t op, size_t *done, ash_error *err);
    /* Somebody else puts something beside it, whatever becomes of it; true: it is acknowledged. */
    bool (*put_other)(ash_store *store, size_t op);
    /* The store, opened again, has what was acknowledged and maybe the step after it, and is sound;
     * the rest can be done, and then it is as if nothing had failed.  what: introduces a complaint.
     * Closes the store. */
    void (*end)(portrayed *s, ash_store *store, size_t op, size_t done, bool other,
                const char *what);
    /* Operations of more steps than that make many more calls, and are tried so much more seldom. */
    size_t few_steps;
    int seldom;
    bool may_do_nothing; /* plain ones, in a store where nothing failed */
} fault_subject;

#endif
