/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_CURSORS_H
#define ASH_WIRE_CURSORS_H

/* Cursors that clients hold between commands.
 *
 *                        ash__cursors_add             ash__cursors_give
 *   ash__wire_cursor_new ───────────────> in use ──────────────────────────> at rest
 *        │                                 │  │  <────────────────────────      │
 *        │                                 │  │      ash__cursors_take          │
 *        │                                 │  │                                 │
 *        │                                 │  │ ash__cursors_kill,              │ ash__cursors_kill,
 *        │                                 │  │ _kill_session, _kill_all        │ _kill_session,
 *        │                                 │  v                                 │ _kill_all, _expire,
 *        │                ash__cursors_end │ killed                             │ _free; _add of another
 *        │                                 │  │ ash__cursors_give, _end         │ in a full table
 *        v                                 v  v                                 v
 *   ash__wire_cursor_free ────────────> freed <──────────────────────────────────
 *
 * Before it is in the table a cursor is its command's alone.  One in use belongs to the command
 * that took it, which is interrupted when somebody kills the cursor.  All functions on the table may
 * be called from any thread. */

#include "base/buffer.h"
#include "wire/access.h"
#include "wire/sessions.h"

#include <ashlar/store.h>

typedef struct ash_wire_cursor {
    ash_cursor *cursor; /* owned */
    char *ns;           /* "database.collection", owned */
    int64_t id;         /* positive once in a table, else 0 */
    bool has_session;
    ash_session_id session;
    ash_buffer joined;     /* other collections that it reads, as needs.h has them; owned */
    ash_who who;           /* whose it is */
    int64_t connection_id; /* that last used it */
    bool no_timeout;
    bool awaits;          /* tailable with awaitData, or a change stream: a batch may wait */
    bool tailable;        /* stays open at its end */
    bool changes;         /* a change stream */
    bool past_damage;     /* a damaged document is told of in a batch, and does not end it */
    bool name_only;       /* documents are cut down to {name, type} */
    int64_t limit_left;   /* documents still allowed; < 0 = no limit */
    int64_t time_left_ms; /* of the first command's maxTimeMS; 0 = no limit */
    int64_t await_ms;     /* wait of a batch whose command names none */
    int64_t created_ms;   /* wall clock */
    /* The table's own. */
    struct ash_wire_cursor *next;
    bool busy;
    bool killed;
    volatile int *cancel; /* of the command that uses it */
    int64_t used_ms;
    bool orphan; /* that connection is gone */
} ash_wire_cursor;

/* Takes over cursor, copies ns. */
ash_wire_cursor *ash__wire_cursor_new(ash_cursor *cursor, const char *ns);
void ash__wire_cursor_free(ash_wire_cursor *w); /* NULL is fine */

typedef struct ash_cursor_table ash_cursor_table;

ash_cursor_table *ash__cursors_new(size_t max_cursors);
void ash__cursors_free(ash_cursor_table *t); /* no cursor may be in use */

/* Put a new cursor into the table, in use, and choose its id: random, positive.  In a full table it
 * takes the place of a cursor at rest: of one whose connection is gone, else of one of the
 * connection that has the most, and of these the longest unused.  ASH_ENOMEM (146) when all are in
 * use; it is then still the caller's.  cancel: set when it is killed. */
int ash__cursors_add(ash_cursor_table *t, ash_wire_cursor *w, volatile int *cancel, ash_error *err);

/* The command that asks for a cursor. */
typedef struct ash_cursor_user {
    const char *ns;                /* that it names; must be the cursor's */
    const ash_session_id *session; /* NULL: it has none */
    const ash_who *who;            /* must be the cursor's */
    int64_t connection_id;
    volatile int *cancel; /* set when the cursor is killed meanwhile */
} ash_cursor_user;

/* Take a cursor for use.  ASH_ECURSOR 43 when there is none, 12050 when it stays in use for 500 ms;
 * ASH_EACCES (13) when it belongs to another namespace, session
 * or user. */
int ash__cursors_take(ash_cursor_table *t, int64_t id, const ash_cursor_user *user,
                      ash_wire_cursor **out, ash_error *err);

/* Back to rest (or, if it was killed, freed). */
void ash__cursors_give(ash_cursor_table *t, ash_wire_cursor *w);

/* A cursor in use that is at its end: out of the table and freed. */
void ash__cursors_end(ash_cursor_table *t, ash_wire_cursor *w);

/* false when there is none.  ns, who: it must be of that namespace, that user; NULL = any. */
bool ash__cursors_kill(ash_cursor_table *t, int64_t id, const char *ns, const ash_who *who);
void ash__cursors_kill_session(ash_cursor_table *t, const ash_session_id *session);
void ash__cursors_kill_all(ash_cursor_table *t); /* those with a session */

/* Free cursors without a session that rested since before the monotonic time given, unless they
 * have no time limit; and all without a session that rested since before orphans_before_ms when the
 * connection that used them is gone. */
void ash__cursors_expire(ash_cursor_table *t, int64_t before_ms, int64_t orphans_before_ms);

/* The connection is gone.  Its cursors may still be used on another one. */
void ash__cursors_leave(ash_cursor_table *t, int64_t connection_id);

/* Of a cursor in use: was it killed meanwhile? */
bool ash__cursors_is_killed(ash_cursor_table *t, const ash_wire_cursor *w);

bool ash__cursors_is_change_stream(ash_cursor_table *t, int64_t id);

typedef struct ash_cursor_counts {
    size_t open;
    size_t no_timeout;
    size_t pinned; /* in use */
    int64_t timed_out;
    int64_t total_opened;
} ash_cursor_counts;
ash_cursor_counts ash__cursors_counts(ash_cursor_table *t);

#endif
