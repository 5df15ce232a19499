/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/amount.h"

#include <errno.h>
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

bool ash__amount_time(const char *text, double *seconds)
{
    return parse(text, times, seconds);
}

bool ash__amount_size(const char *text, double *bytes)
{
    return parse(text, sizes, bytes);
}

bool ash__amount_seconds(const char *text, int64_t min, int64_t max, int64_t *out)
{
    double seconds;
    /* 2.5 minutes are whole seconds, 1.5 s are not. */
    if (!ash__amount_time(text, &seconds) || seconds < (double)min || seconds > (double)max ||
        seconds != (double)(int64_t)seconds)
        return false;
    *out = (int64_t)seconds;
    return true;
}

bool ash__amount_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != 0 || end == text || value < min || value > max)
        return false;
    *out = value;
    return true;
}
