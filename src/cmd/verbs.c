/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs; kit/verbs.h has their names, and a file in one of the rooms has each. */
#include "cmd/kit/verbs.h"

#include <stddef.h>

const ash_cmd_verb *const ash__cmd_verbs[] = {
#define X(name) &ash__cmd_##name,
    ASH_CMD_VERBS(X)
#undef X
        NULL,
};
