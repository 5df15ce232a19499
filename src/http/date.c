/* SPDX-License-Identifier: Apache-2.0 */
#include "http/date.h"
#include <stdio.h>
#include <time.h>
void ash__date_http(char out[ASH_DATE_BYTES], int64_t ms)
{
    time_t t = ms / 1000;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, ASH_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}
