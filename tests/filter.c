/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdlib.h>

/* ASH_TEST_FILTER=name runs one test of a program alone, so that one that hangs costs only itself.
 */
__attribute__((constructor)) static void filter_tests(void)
{
    const char *name = getenv("ASH_TEST_FILTER");
    if (name != NULL)
        cmocka_set_test_filter(name);
}
