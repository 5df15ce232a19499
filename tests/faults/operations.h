/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_OPERATIONS_H
#define ASH_TESTS_FAULTS_OPERATIONS_H

/* What is done under faults: each kind of change to a small store of known content. */

#include "check.h"

#include "scratch.h"
#include "steps.h"

typedef struct operation {
    const char *name;
    step step;
    int (*run)(worker *w, ash_error *err); /* instead of a step; changes no content */
    bool is_plain;                         /* like another one, for most faults */
} operation;

extern const operation operations[];
extern const size_t operation_count;

/* The store and its model, between operations. */
typedef struct subject {
    char *folder, *path;
    ash_store *store;
    worker worker;
    model model;
    ash_error err;
} subject;

int subject_setup(void **state); /* a store with files and documents */
int subject_teardown(void **state);
void subject_open(subject *s);
void subject_close(subject *s);

/* The operation's step with an id that was not used before. */
step subject_step(subject *s, const operation *op);
int subject_do(subject *s, worker *w, const operation *op, const step *next, ash_error *err);
/* Check is clean and the content is the model's, or with `or_after` the model's after the step;
 * which is told. */
bool subject_is_after(subject *s, const operation *op, const step *next, bool or_after);
/* Undo a step that was done after all, so that the next try starts from the same content. */
void subject_renew(subject *s);

#endif
