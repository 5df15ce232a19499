/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_UPDATE_H
#define ASH_TESTS_MODEL_UPDATE_H

#include "naive.h"

/* One modifier at its place: the field's new value, or NULL for "no field". old NULL: missing. */
mv *update_value(change *c, const char *op, const mv *operand, mv *old);
mv *update_list(change *c, const char *op, const mv *operand, mv *old);
void update_fail(change *c, int code);

#endif
