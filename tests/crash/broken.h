/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_BROKEN_H
#define ASH_TESTS_CRASH_BROKEN_H

/* Break a rule of the engine on purpose, to see that the suite notices.  The variable is read by
 * test programs only. */

#include <stdlib.h>

#include "store/embedded/kit/embedded.h"

/* 1: pointers before payloads; 2: reuse before commits; 3: answers before the journal is synced */
#define BREAK_RULE_ENV "ASH_BREAK_RULE"

static inline void broken_rule_from_environment(void)
{
    const char *text = getenv(BREAK_RULE_ENV);
    int rule = text != NULL ? atoi(text) : 0;
    ash__embedded_break_rules(rule == 1, rule == 2, rule == 3);
}

#endif
