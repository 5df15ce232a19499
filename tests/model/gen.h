/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_GEN_H
#define ASH_TESTS_MODEL_GEN_H

/* Random documents, filters, updates and the rest, from few names and values, so that they meet. */

#include "crash/rng.h"
#include "value.h"

mv *gen_scalar(rng *r);
mv *gen_value(rng *r, int depth);
mv *gen_document(rng *r);
const char *gen_name(rng *r);
const char *gen_path(rng *r);

mv *gen_filter(rng *r, int depth);
mv *gen_conditions(rng *r, int depth); /* {$gt: 1, …} */
mv *gen_update(rng *r);
mv *gen_replacement(rng *r);
mv *gen_array_filters(const mv *update, rng *r); /* NULL when none is needed */
mv *gen_expr(rng *r, int depth);
mv *gen_pipeline(rng *r); /* for updates */
mv *gen_sort(rng *r);
mv *gen_projection(rng *r);
mv *gen_index(rng *r);
/* Something that must be refused: a filter, with its code in *code (0 = any). */
mv *gen_bad_filter(rng *r, int *code);

/* One step: {insert: …}, {find: …} and so on; the first field is its kind. */
mv *gen_step(rng *r);

#endif
