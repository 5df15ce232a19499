/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines are points on the monotonic clock, since the wall clock can be set under them. */
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

int64_t ash__clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t ash__clock_ms(void)
{
    return ash__clock_us() / 1000;
}

int64_t ash__clock_coarse_ms(void)
{
/* The time of the last timer tick, which is read without asking the hardware's counter. */
#ifdef CLOCK_MONOTONIC_COARSE
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
#else
    return ash__clock_ms();
#endif
}

int64_t ash__clock_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void ash__clock_sleep_ms(int64_t ms)
{
    struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    /* What is left of the wait is where it goes on after a signal. */
    while (nanosleep(&wait, &wait) == -1 && errno == EINTR) {
    }
}

int64_t ash__clock_deadline(int64_t timeout_ms)
{
    if (timeout_ms <= 0)
        return 0;
    int64_t now = ash__clock_ms();
    return timeout_ms > INT64_MAX - now ? INT64_MAX : now + timeout_ms;
}

void ash__clock_print(char *buf, size_t size, int64_t wall_ms)
{
    /* Division rounds towards zero, which before 1970 is the next second. */
    int64_t seconds = wall_ms >= 0 ? wall_ms / 1000 : (wall_ms - 999) / 1000;
    time_t when = (time_t)seconds;
    struct tm parts;
    if (gmtime_r(&when, &parts) == NULL || strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(buf, size, "%" PRId64 " ms", wall_ms);
}
