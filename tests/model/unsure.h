/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_UNSURE_H
#define ASH_TESTS_MODEL_UNSURE_H

/* Raised where MongoDB's documentation leaves the answer open: the step is then left out of the
 * comparison, and counted. */

#include <stdbool.h>

extern bool naive_unsure;

#endif
