/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_MATCH_H
#define ASH_TESTS_MODEL_MATCH_H

#include "naive.h"

/* One operator that is no negation against one value; v NULL: the field is missing. */
bool match_value(const char *op, const mv *operand, const char *options, const mv *v);
bool match_truth(const mv *v); /* of $exists: 1 and the like */

#endif
