/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CHECK_H
#define ASH_TESTS_CHECK_H

/* What every cmocka test needs, in the order cmocka wants it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Fails with the library's own text when a call did not succeed. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        int ok_result = (call);                                                                    \
        if (ok_result != 0)                                                                        \
            fail_msg("%s: %d %s", #call, ok_result, (err)->text);                                  \
    } while (0)

#endif
