/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_SCENARIO_H
#define ASH_TESTS_MODEL_SCENARIO_H

/* Steps on the model and on the store side by side, and the smallest list of them that still tells
 * the two apart. */

#include "real.h"

typedef struct scenario {
    model m;
    real r;
    bool loud;          /* print what differs */
    bool capped;        /* the collections, from the next reset on */
    uint64_t compared;  /* answers of the store */
    uint64_t left_open; /* steps that nobody knows the answer of */
} scenario;

/* One step; false when the store differs. */
bool scenario_step(scenario *s, const bson_t *step);
/* From empty collections; the number of the step that differs, or -1. */
int scenario_run(scenario *s, bson_t **steps, uint32_t count);
bool scenario_reset(scenario *s);
/* Leaves out what is not needed for a difference; the steps change in place. */
uint32_t scenario_shrink(scenario *s, bson_t **steps, uint32_t count);

#endif
