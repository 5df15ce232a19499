/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_CLOCK_H
#define ASH_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t ash__clock_ms(void);        /* monotonic; deadlines are points on this clock */
int64_t ash__clock_us(void);        /* monotonic */
int64_t ash__clock_coarse_ms(void); /* monotonic, some ms behind, but cheap to ask */
int64_t ash__clock_wall_ms(void);   /* milliseconds since 1970, UTC */
void ash__clock_sleep_ms(int64_t ms);

/* The point on the monotonic clock timeout_ms from now; 0 (no deadline) for timeout_ms <= 0. */
int64_t ash__clock_deadline(int64_t timeout_ms);

/* ISO 8601, UTC, to the second; "N ms" for what no calendar has. */
void ash__clock_print(char *buf, size_t size, int64_t wall_ms);

#endif
