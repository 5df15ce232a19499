/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_TREE_STEPS_H
#define ASH_TESTS_CRASH_TREE_STEPS_H

/* Steps done to trees, and what a tree looks like afterwards.
 *
 * Each thread has a root of its own; all roots share their contents, so that one thread's collection
 * looks for what another one has just found.  A step depends on the seed, the thread, its number and
 * what the root has, nothing else: the same steps done to a twin, which nobody interrupts, tell what
 * must be there. */

#include <ashlar/tree.h>

#include "base/buffer.h"
#include "rng.h"

enum {
    TREE_PIECE_BYTES = 256 * 1024, /* contents above it are kept in pieces */
    TREE_CONTENTS = 16,
    TREE_CONTENT_BYTES = 1300000 /* the longest */
};

typedef struct tree_worker {
    ash_store *store; /* borrowed */
    ash_tree *tree;
    uint64_t seed;
    uint32_t thread;
} tree_worker;

int tree_worker_open(tree_worker *w, ash_store *store, uint64_t seed, uint32_t thread,
                     ash_error *err);
void tree_worker_close(tree_worker *w);

/* The step of this number.  0 also when the tree refuses it, as it refuses its twin. */
int tree_worker_do(tree_worker *w, uint32_t number, ash_error *err);
/* "prune /, step 17 of thread 1": for complaints. */
void tree_step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes);

bool tree_step_is_prune(uint64_t seed, uint32_t thread, uint32_t number);

/* Bytes of a content, 0 to TREE_CONTENTS - 1; pairs differ in one byte.  *len: how many; the caller
 * frees. */
uint8_t *tree_content(uint32_t number, size_t *len);
/* A new file or version; tried again while its pieces are collected before they are named. */
int tree_put(ash_tree *tree, const char *path, uint32_t content,
             const ash_tree_change_options *opts, ash_error *err);
/* Contents of any age that nobody has; *gone: how many. */
int tree_collect(ash_tree *tree, int64_t *gone, ash_error *err);

/* The trees are sound, what was on its way goes, a second collection finds nothing, and they are still
 * sound. */
bool tree_clean_up(tree_worker *w, ash_error *err);

/* Everything that the root has and had but for ids and dates, as lines: current entries, all
 * versions of each, what can be undeleted. */
int tree_portrait(ash_tree *tree, ash_buffer *out, ash_error *err);
/* ash_tree_check() with contents; *err tells the first finding. */
bool tree_is_sound(ash_tree *tree, ash_error *err);

#endif
