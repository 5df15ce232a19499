/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_STEPS_H
#define ASH_TESTS_CRASH_STEPS_H

/* A model's steps done to a store through the public API, and a store compared with models. */

#include <ashlar/bucket.h>

#include "checked.h"
#include "model.h"

/* The handles of one thread. */
typedef struct worker {
    ash_store *store;
    ash_bucket *shared, *own;
    ash_collection *docs;
    ash_collection *files, *chunks; /* of the shared bucket */
} worker;

int worker_open(worker *w, ash_store *store, uint32_t thread, ash_error *err);
void worker_close(worker *w);
int worker_do(worker *w, const model *m, const step *s, ash_error *err);

/* Collections and indexes that all threads share. */
int steps_prepare(ash_store *store, ash_error *err);
/* Its workload breaks the rule that this says, a number of wrapped_engine.h. */
#define BREAK_RULE_ENV "ASH_BREAK_RULE"

/* Stores that are opened from now on give free space back all the time. */
void steps_trim_eagerly(bool eagerly);
ash_store *steps_open_store(const char *folder, bool read_only, ash_error *err);

/* Is the thread's part of the store just what the model says?  If not, *err tells a difference. */
bool steps_compare(worker *w, const model *m, ash_error *err);
/* One file or document that the model has; ASH_ECONDITION when it is another. */
bool steps_same_file(worker *w, const model *m, int slot, ash_error *err);
bool steps_same_doc(worker *w, const model *m, int slot, ash_error *err);

/* Run `threads` threads of `count` steps each on models[], each acknowledged by one write of
 * {thread, steps done} (two uint32) to `acks`.  The store is closed and opened again `reopens`
 * times on the way.  0, or the first error. */
typedef struct steps_run_options {
    const char *folder;
    uint32_t count;
    uint32_t reopens;
    int acks;
} steps_run_options;
int steps_run(model models[MODEL_THREADS], const steps_run_options *opts, ash_error *err);

#endif
