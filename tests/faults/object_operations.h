/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_OBJECT_OPERATIONS_H
#define ASH_TESTS_FAULTS_OBJECT_OPERATIONS_H

/* What is done to an object store under faults: each kind of change, as one step or several, without
 * versions and with them.  What it looks like after each of them is known from having done them
 * once. */

#include "check.h"

#include "object_steps.h"
#include "portrayed.h"

typedef struct object_operation {
    const char *name;
    size_t count; /* of steps */
    int (*step)(object_worker *w, size_t number, ash_error *err);
    bool versions; /* of the store that keeps them */
    bool is_plain; /* like another one, for most faults */
} object_operation;

extern const object_operation object_operations[];
extern const size_t object_operation_count;

/* A store with object stores in it: *state is a portrayed (portrayed.h). */
int object_subject_setup(void **state);
int object_subject_teardown(void **state);

/* Tells what the object store looks like after each step of the operation: without a fault. */
void object_subject_foresee(portrayed *s, const object_operation *op);

/* Steps of the operation in this store until one fails: *done of them were acknowledged. */
int object_subject_do(ash_store *store, const object_operation *op, size_t *done, ash_error *err);
/* Somebody else puts into the other object store, whatever becomes of it; true: it is
 * acknowledged. */
bool object_subject_put_other(ash_store *store, const object_operation *op);

/* The store, opened again, has what was acknowledged and maybe the step after it, all of it can be
 * read, and a sweep takes whatever the failure left; the rest can be done, and then it is as if
 * nothing had failed.  what: introduces a complaint.  Closes the store. */
void object_subject_end(portrayed *s, ash_store *store, const object_operation *op, size_t done,
                        bool other, const char *what);

#endif
