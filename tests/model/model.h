/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_MODEL_H
#define ASH_TESTS_MODEL_MODEL_H

/* A collection in memory, and what each step on it must answer. */

#include "naive.h"

typedef struct model {
    bson_t **docs; /* in insertion order */
    uint32_t count, capacity;
    uint32_t most;       /* capped: so many documents; 0 = no limit */
    bson_t *indexes[64]; /* of all copies: unique ones count everywhere */
    uint32_t index_on[64];
    uint32_t index_count;
} model;

typedef struct answer {
    bool failed;
    int code;     /* 0: not documented */
    bool ordered; /* docs come in this order; else it is a set */
    bool natural; /* the step must visit documents in insertion order to be determined */
    int only;     /* the copy whose indexes refuse the change; -1: the answer holds for all */
    mv *docs;     /* find: documents; distinct: {v: value} each; findAndModify: one or none */
    int64_t n, modified;
} answer;

enum { COPIES = 3 }; /* of the collection, each with its own indexes */

void model_clear(model *m);
void model_copy(model *to, const model *from); /* to: not initialised */
/* Does the step and says what a store must answer; naive_unsure says that nobody knows, and the
 * model is then unchanged. */
answer model_step(model *m, const mv *step);

#endif
