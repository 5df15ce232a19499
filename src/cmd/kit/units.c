/* SPDX-License-Identifier: Apache-2.0 */
/* Times and sizes as people type them. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "cmd/kit/when.h"

#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit times[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {0}};
static const struct unit sizes[] = {
    {"", 1},
    {"k", 1024},
    {"K", 1024},
    {"KiB", 1024},
    {"M", 1024.0 * 1024},
    {"MiB", 1024.0 * 1024},
    {"G", 1024.0 * 1024 * 1024},
    {"GiB", 1024.0 * 1024 * 1024},
    {0},
};

/* Digits, perhaps with a point, and a unit: strtod alone takes signs, powers and words. */
static bool parse(const char *text, const struct unit *units, double *out)
{
    char *end;
    size_t len = strspn(text, "0123456789.");
    if (len == 0 || len > 30)
        return false;
    double value = strtod(text, &end);
    if (end != text + len)
        return false;
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, end) == 0) {
            *out = value * units->factor;
            return true;
        }
    }
    return false;
}

int ash__cmd_time(const ash_cmd *cmd, const char *option, const char *text, double *seconds)
{
    if (parse(text, times, seconds))
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
    /* 2.5 minutes are whole seconds, 1.5 s are not. */
    if (seconds < (double)min || seconds > (double)max || seconds != (double)(int64_t)seconds)
        return ash__cmd_usage(cmd, "--%s takes whole seconds from %lld to %lld, not \"%s\"", option,
                              (long long)min, (long long)max, text);
    *out = (int64_t)seconds;
    return 0;
}

/* A unit alone is a span already; all else is a time, which was so long ago. */
int ash__cmd_age(const ash_cmd *cmd, const char *option, const char *text, int64_t min, int64_t max,
                 int64_t *out)
{
    double seconds;
    int64_t now_ms = ash__clock_wall_ms(), then_ms;
    if (parse(text, times, &seconds))
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
    if (!parse(text, sizes, &bytes) || bytes < (double)min || bytes > (double)max ||
        bytes != (double)(int64_t)bytes)
        return ash__cmd_usage(cmd,
                              "--%s takes a whole number of bytes from %lld to %lld, such as 4096, "
                              "64k or 1M, not \"%s\"",
                              option, (long long)min, (long long)max, text);
    *out = (int64_t)bytes;
    return 0;
}
