/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_OBJECT_STEPS_H
#define ASH_TESTS_CRASH_OBJECT_STEPS_H

/* Steps done to object stores, and what one looks like afterwards.
 *
 * Each thread has an object store of its own: one without versions, one with two of each object, its
 * bytes encoded.  A step depends on the seed, the thread, its number and what is there, nothing
 * else: the same steps done to a twin, which nobody interrupts, tell what must be there. */

#include <ashlar/object.h>

#include "base/buffer.h"
#include "rng.h"

enum { OBJECT_THREADS = 2, OBJECT_CONTENTS = 10 };

typedef struct object_worker {
    ash_store *store; /* borrowed */
    ash_object_manager *manager;
    ash_object_store *objects; /* NULL: there is none */
    uint64_t seed;
    uint32_t thread;
    char name[16];
} object_worker;

int object_worker_open(object_worker *w, ash_store *store, uint64_t seed, uint32_t thread,
                       ash_error *err);
void object_worker_close(object_worker *w);

/* The step of this number.  0 also when the store refuses it, as it refuses its twin. */
int object_worker_do(object_worker *w, uint32_t number, ash_error *err);
/* "prune a, step 17 of thread 1": for complaints. */
void object_step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes);
bool object_step_is_prune(uint64_t seed, uint32_t thread, uint32_t number);

/* ---- single changes, of which steps are made ---- */

int object_make(object_worker *w, ash_error *err); /* the store */
int object_drop(object_worker *w, ash_error *err);
/* A content, 0 to OBJECT_CONTENTS - 1.  number: what else differs, its description among it. */
int object_put(object_worker *w, const char *name, uint32_t content, uint32_t number,
               ash_error *err);
int object_describe(object_worker *w, const char *name, const char *to, uint32_t number,
                    ash_error *err); /* to: a new name; NULL: the same */
int object_link(object_worker *w, const char *name, const char *target, ash_error *err);
/* One of the earlier versions, by `number`. */
int object_restore(object_worker *w, const char *name, uint32_t number, ash_error *err);
int object_prune(object_worker *w, const char *name, int32_t keep, ash_error *err);

/* Everything that the store has and keeps but for nuids and dates, as lines; "none" where there is
 * no store. */
int object_portrait(object_worker *w, ash_buffer *out, ash_error *err);
/* All bytes of all versions can be read, and have their digests. */
int object_read_all(object_worker *w, ash_error *err);
/* Sweeps away what nobody has; *left: what a second sweep would find. */
int object_sweep(object_worker *w, int64_t *left, ash_error *err);

#endif
