/* SPDX-License-Identifier: Apache-2.0 */
/* Times and sizes as values of options. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "cmd/kit/amount.h"
#include "cmd/kit/when.h"

int ash__cmd_time(const ash_cmd *cmd, const char *option, const char *text, double *seconds)
{
    if (ash__amount_time(text, seconds))
        return 0;
    return ash__cmd_usage(
        cmd, "--%s takes a time such as 90, 1.5s, 15m, 12h or 7d (no unit: seconds), not \"%s\"",
        option, text);
}

int ash__cmd_seconds(const ash_cmd *cmd, const char *option, const char *text, int64_t min,
                     int64_t max, int64_t *out)
{
    double seconds;
    int status = ash__cmd_time(cmd, option, text, &seconds);
    if (status != 0)
        return status;
    if (!ash__amount_seconds(text, min, max, out))
        return ash__cmd_usage(cmd, "--%s takes whole seconds from %lld to %lld, not \"%s\"", option,
                              (long long)min, (long long)max, text);
    return 0;
}

/* A unit alone is a span already; all else is a time, which was so long ago. */
int ash__cmd_age(const ash_cmd *cmd, const char *option, const char *text, int64_t min, int64_t max,
                 int64_t *out)
{
    double seconds;
    int64_t now_ms = ash__clock_wall_ms(), then_ms;
    if (ash__amount_time(text, &seconds))
        return ash__cmd_seconds(cmd, option, text, min, max, out);
    if (!ash__cmd_parse_time(text, now_ms, &then_ms) || (now_ms - then_ms) / 1000 < min ||
        (now_ms - then_ms) / 1000 > max)
        return ash__cmd_usage(
            cmd,
            "--%s takes a period such as 12h, 30d or \"2 weeks\", or the time that "
            "it began: \"last month\", 2026-11-24; not \"%s\"",
            option, text);
    *out = (now_ms - then_ms) / 1000;
    return 0;
}

int ash__cmd_bytes(const ash_cmd *cmd, const char *option, const char *text, int64_t min,
                   int64_t max, int64_t *out)
{
    double bytes;
    if (!ash__amount_size(text, &bytes) || bytes < (double)min || bytes > (double)max ||
        bytes != (double)(int64_t)bytes)
        return ash__cmd_usage(cmd,
                              "--%s takes a whole number of bytes from %lld to %lld, such as 4096, "
                              "64k or 1M, not \"%s\"",
                              option, (long long)min, (long long)max, text);
    *out = (int64_t)bytes;
    return 0;
}
