/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_MODEL_MODEL_H
#define ASH_TESTS_TREE_MODEL_MODEL_H

/* A naive tree with its past: every version of every entry, with the steps between which it was
 * the current one.  What the tree was at a step is found by looking at all of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crash/rng.h"

enum { NODES_MAX = 8000, PATH_BYTES = 256, NOW = INT32_MAX, NONE = -1 };

typedef struct version {
    int node, number, parent; /* parent: a node; NONE of the top, which is node 0 */
    char name[4];
    int content;  /* NONE: a folder */
    bool deleted; /* a deletion, of the version before */
    int from, to; /* steps; NOW: it is current */
} version;

typedef struct model {
    version *versions;
    size_t count, capacity;
    int nodes;
    int step; /* that is under way, or comes next */
} model;

typedef enum step_kind {
    STEP_PUT,
    STEP_FOLDER,
    STEP_MOVE,
    STEP_COPY,
    STEP_REMOVE,
    STEP_UNDELETE,
    STEP_RESTORE,
    STEP_FORGET
} step_kind;

typedef struct step {
    step_kind kind;
    char path[PATH_BYTES], to[PATH_BYTES]; /* below the top; to "": where it was (undelete) */
    int content;
    bool replace;
    int at; /* copy: of which step; NOW */
    int node;
    int number; /* restore, forget: which version */
} step;

void model_init(model *m); /* with the top folder */
void model_release(model *m);
/* Whether it succeeds, and then it is done; the step is over in any case. */
bool model_apply(model *m, const step *s);
/* The version that the path leads to at a step, an index of versions, or NONE. */
int model_find(const model *m, const char *path, int at);
/* The version of the node at that step, or NONE: it was not there. */
int model_version(const model *m, int node, int at);
void model_path(const model *m, int node, int at, char out[PATH_BYTES]);
/* moments: steps that may be asked for. */
step model_next(const model *m, rng *r, const int *moments, int moment_count);

#endif
