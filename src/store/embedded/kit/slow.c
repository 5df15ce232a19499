/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/kit/embedded.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>

void ash__slow_note(const ash_embedded *s, const char *what, ash_ns ns, int64_t from_ms)
{
    int64_t took_ms = ash__clock_ms() - from_ms;
    if (took_ms > s->slow_ms)
        ash__log(ASH_LOG_INFO, "slow %s on %s.%s: %" PRId64 " ms", what, ns.db,
                 ns.coll != NULL ? ns.coll : "*", took_ms);
}
