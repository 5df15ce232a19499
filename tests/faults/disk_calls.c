/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_calls.h"

#include "check.h"

#include <stdlib.h>

#define ALL_ENV "ASH_FAULTS_ALL"
/* The number of calls varies with how LMDB's pages lie, so a try beyond the last is not the end. */
enum { MOST_CALLS = 900, BEYOND = 4 };

bool disk_all_calls(void)
{
    return getenv(ALL_ENV) != NULL;
}

bool disk_fault_fits(enum fault fault, const ash_error *err)
{
    return err->code == ASH_EIO ||
           (err->code == ASH_ENOSPC && (fault == FAULT_ENOSPC || fault == FAULT_SHORT));
}

int disk_calls_fail(disk_try try_once, void *ctx, enum fault fault, int stride, const char *what,
                    int *tries)
{
    int calls = 0;
    if (disk_all_calls())
        stride = 1;
    for (int n = 1; n <= calls + (stride > BEYOND ? stride : BEYOND); n += stride, ++*tries) {
        if (!try_once(ctx, n))
            calls = n;
        assert_true(n < MOST_CALLS);
    }
    print_message("# %s, %s: %d calls\n", fault_names[fault], what, calls);
    return calls;
}
