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

/* The parts of a step, for who does them one by one.  want: what model_step() said; hint: an
 * index's name or NULL.  The first two are false when the store differs. */
bool scenario_check(scenario *s, const mv *step, const answer *want, uint32_t copy,
                    const char *hint);
bool scenario_check_read(scenario *s, const mv *step, const answer *want);
bool scenario_is_read(const mv *step);
/* The copies on which a write is done, a bit each.  Ask before the model drops an index. */
uint32_t scenario_copies(const model *m, const mv *step, const answer *want);

/* One step; false when the store differs. */
bool scenario_step(scenario *s, const bson_t *step);
/* From empty collections; the number of the step that differs, or -1. */
int scenario_run(scenario *s, bson_t **steps, uint32_t count);
bool scenario_reset(scenario *s);
/* Leaves out what is not needed for a difference; the steps change in place. */
uint32_t scenario_shrink(scenario *s, bson_t **steps, uint32_t count);

#endif
