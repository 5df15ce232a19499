/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_MODEL_WORK_H
#define ASH_TESTS_TREE_MODEL_WORK_H

/* A writer with a folder of its own in a tree that several share, and the model of that folder.
 * All of them have the same few contents, so that collection, which runs beside them, is always
 * about to take what somebody else has just found there. */

#include <ashlar/tree.h>

#include "model.h"

enum { MOMENTS_MAX = 12 };

typedef struct worker {
    ash_store *store;
    ash_tree *tree;
    char top[16]; /* "/w0" */
    model m;
    rng r;
    bson_oid_t *ids; /* of the nodes, NODES_MAX; shared with a process that may be killed */
    bool *known;
    int moments[MOMENTS_MAX];
    int64_t moments_ms[MOMENTS_MAX];
    int moment_count;
    uint64_t steps, done, compared, wins, losses;
    uint64_t again; /* puts that had to be done again since collection was quicker */
    ash_error err;
} worker;

/* Opens the tree; the top folder is made where it is not there yet. */
bool work_open(worker *w, const char *uri, int number);
/* The same on a store that is open already. */
bool work_share(worker *w, ash_store *store, int number);
void work_close(worker *w);
/* The same step on the tree and on the model; false: they differ, which is printed. */
bool work_step(worker *w, const step *s);
/* Learns the ids of new nodes. */
bool work_learn(worker *w);
/* Remembers the state of now by its time. */
bool work_remember(worker *w);
/* deep: contents and histories, too; loud: says what differs. */
bool work_compare(worker *w, bool deep, bool loud);
/* Replaces the file that all writers share, if it is still the version that was looked at. */
bool work_race(worker *w);
/* Collects once, without regard to age. */
bool work_collect(ash_tree *tree, ash_tree_collect_report *report, ash_error *err);
/* While nobody works: after one collection there is nothing left to collect, the tree is sound, and
 * the shared file has so many versions (0: any number). */
bool work_settled(worker *w, int64_t shared_versions);

#endif
