/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_USAGE_H
#define ASH_USER_USAGE_H

/* What users take of a server, and the limits of some of them.
 *
 * Limits stand in the user's document (user/users.h), as limits: {connections, operations, bytes},
 * the last two a second; what is missing or 0 is unlimited.  Operations and bytes may come a second's worth at
 * once; what goes beyond is told to wait, and once that would be ASH_USAGE_MAX_WAIT_MS, refused
 * (462, which newer drivers try again by themselves, later each time).  Who leaves and comes back has
 * not paid by that.
 *
 * Any thread; leaf locks.  Times are monotonic, in microseconds. */

#include "base/error.h"
#include "bson/value.h"

#include <stdbool.h>
#include <stdint.h>

enum { ASH_USAGE_MAX_WAIT_MS = 10000 };

typedef struct ash_limits {
    int64_t connections, operations, bytes; /* 0: unlimited */
} ash_limits;

/* Of a user's document; numbers that are none, or below 0, limit nothing. */
void ash__limits_read(ash_doc user, ash_limits *out);

typedef struct ash_usage_table ash_usage_table;
typedef struct ash_usage ash_usage;

ash_usage_table *ash__usage_table_new(void);
void ash__usage_table_free(ash_usage_table *t); /* nobody is in it any more; NULL is fine */

/* One connection more; *out until leave.  ASH_EBUSY (462) when there are as many as it may have. */
int ash__usage_enter(ash_usage_table *t, const char *user, const char *db, const ash_limits *limits,
                     ash_usage **out, ash_error *err);
void ash__usage_leave(ash_usage_table *t, ash_usage *u); /* NULL is fine */
/* Its limits have changed; who is connected stays. */
void ash__usage_limit(ash_usage *u, const ash_limits *limits);

/* One operation: *wait_ms until it may begin.  ASH_EBUSY (462): it may not, and is not counted. */
int ash__usage_take(ash_usage *u, int64_t now_us, int64_t *wait_ms, ash_error *err);
/* How many ms until more bytes may come. */
int64_t ash__usage_wait(ash_usage *u, int64_t now_us);
/* So many bytes were read or sent: what comes next waits for them.  u NULL: nothing. */
void ash__usage_add_bytes(ash_usage *u, int64_t bytes, int64_t now_us);

#endif
