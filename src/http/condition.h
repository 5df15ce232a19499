/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_CONDITION_H
#define ASH_HTTP_CONDITION_H

/* Conditional requests (RFC 9110 §13) and ranges (§14).  Pure, no I/O. */

#include "http/head.h"

/* What a resource is now; etag with its quotes, NULL when there is no such resource. */
typedef struct ash_validators {
    const char *etag;
    int64_t modified_ms; /* since 1970; 0: not known */
} ash_validators;

/* 0: the request may go on; 304 or 412 as §13.2.2 says.  A request that changes something compares
 * strongly; If-Modified-Since counts for GET and HEAD alone. */
int ash__http_condition_check(const ash_head *head, const char *method, const ash_validators *now);
/* Is an If-Match or If-None-Match in it, or If-Unmodified-Since? */
bool ash__condition_is_there(const ash_head *head);

typedef struct ash_range {
    int64_t start, end; /* end: first byte not wanted */
} ash_range;
enum { ASH_MAX_RANGES = 16 };

/* The parts of Range (bytes alone) that are to be sent of a body of length bytes: how many; 0: send
 * all of it (no Range, one that does not parse, If-Range does not hold, too many, overlapping);
 * -1: 416. */
int ash__ranges(const ash_head *head, int64_t length, const ash_validators *now,
                ash_range out[ASH_MAX_RANGES]);

#endif
