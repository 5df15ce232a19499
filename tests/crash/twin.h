/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_TWIN_H
#define ASH_TESTS_CRASH_TWIN_H

/* A work (work.h) whose threads have a share of the store each.  What must be there after each step is
 * asked of a twin: the same steps, done to a store that nobody interrupts.  It is open only while it
 * does some, since its owner forks.
 *
 * Below is what a kind of work gives for it: what its steps are (tree_steps.h, object_steps.h). */

#include <ashlar/store.h>

#include "base/buffer.h"
#include "work.h"

enum { SHARES = 2 };

/* ---- what a kind of work has ---- */

/* One thread's share of the store, open. */
typedef struct share share;

/* *out is there after a failure, too, to be closed. */
int share_open(ash_store *store, uint64_t seed, uint32_t thread, share **out, ash_error *err);
void share_close(share *s);
uint32_t share_thread(const share *s);
/* The step of this number.  0 also when it is refused, as the twin's is. */
int share_do(share *s, uint32_t number, ash_error *err);
/* All that the thread's share has, as lines. */
int share_portrait(share *s, ash_buffer *out, ash_error *err);
/* What is there is sound; what was on its way goes, and nothing is left of it. */
bool share_clean_up(share *s, ash_error *err);
bool step_is_prune(uint64_t seed, uint32_t thread, uint32_t number);
void step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes);

/* ---- what it is told ---- */

uint64_t twin_seed(const work *w);
/* As the thread's share must be now.  Borrowed. */
const char *twin_portrait(const work *w, uint32_t thread);

/* ---- of stores that may be damaged ---- */

/* What a failure comes to. */
enum outcome twin_outcome(const ash_error *err);
/* Each line of a portrait is one of the twin's; the last one counts them, and is not compared. */
enum outcome twin_compare(const work *w, uint32_t thread, const char *got, ash_error *err);

#endif
