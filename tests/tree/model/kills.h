/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TREE_MODEL_KILLS_H
#define ASH_TESTS_TREE_MODEL_KILLS_H

/* One writer, with collection beside it, in a process that is killed at random moments.  Steps
 * depend on the seed and the model alone, so that the parent does those on its model that were
 * acknowledged; the store has to be there, or one step further. */

#include <stdbool.h>
#include <stdint.h>

bool kills_run(uint64_t seed, int64_t seconds, const char *folder);

#endif
