/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_SESSIONS_H
#define ASH_WIRE_SESSIONS_H

/* Logical sessions: which exist and when each was used last.
 *
 * A session begins with the first command that names it and ends by endSessions or after 30
 * minutes without use, or when a client begins more of them than there is place for.  What a
 * session's retryable writes did is the store's to remember; here only the cursors depend on it.
 * All functions may be called from any thread. */

#include "base/error.h"
#include "bson/builder.h"

#include <stdbool.h>
#include <stddef.h>

enum { ASH_SESSION_MINUTES = 30, ASH_SESSION_ID_BYTES = 16 };

typedef struct ash_session_id {
    uint8_t bytes[ASH_SESSION_ID_BYTES];
} ash_session_id;

typedef struct ash_session_table ash_session_table;

ash_session_table *ash__sessions_new(size_t max_sessions); /* at least 1 */
void ash__sessions_free(ash_session_table *t);

/* The session was used now, on that connection.  A new one takes the place of another in a full
 * table: of those that the connection with the most used last, the longest unused.  true when it
 * did; *displaced is over then, and its cursors are to be ended. */
bool ash__sessions_touch(ash_session_table *t, const ash_session_id *id, int64_t connection_id,
                         ash_session_id *displaced);

bool ash__sessions_exists(ash_session_table *t, const ash_session_id *id);

/* It is over; false if it was not there. */
bool ash__sessions_end(ash_session_table *t, const ash_session_id *id);
void ash__sessions_end_all(ash_session_table *t);

/* {_id: {id, uid}, lastUse} documents into an open array; at most 100,000. */
void ash__sessions_describe(ash_session_table *t, ash_builder *b);

/* Take out one session that was last used before the monotonic time given: false when none is left.
 */
bool ash__sessions_expire(ash_session_table *t, int64_t before_ms, ash_session_id *out);

size_t ash__sessions_count(ash_session_table *t);

#endif
