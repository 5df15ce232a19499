/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_SCRATCH_H
#define ASH_TESTS_CRASH_SCRATCH_H

#include "../remove_folder.h"

/* A folder of a test's own.  ASH_CRASH_DIR says where; else memory, where there is such a file
 * system, since the simulated disk needs no real one; else the usual place. */
char *scratch_new(void); /* the caller frees */

/* Stop with the text when the condition does not hold: for what cannot fail unless the test itself
 * is broken. */
#define REQUIRE(condition) ((condition) ? (void)0 : scratch_stop(#condition, __FILE__, __LINE__))
_Noreturn void scratch_stop(const char *condition, const char *file, int line);

#endif
