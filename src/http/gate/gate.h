/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_GATE_H
#define ASH_HTTP_GATE_H

/* Who asks, and what that one may do: where HTTP meets the users of a store (user/users.h).
 *
 * Nothing is asked of anybody while the store has no users, unless the gate was made to ask always.
 * From the first user on a request says who it comes from by Basic (RFC 7617): NAME is a user of
 * the database admin, DB.NAME one of another; or by a token (user/tokens.h), as Bearer (RFC 6750) or
 * in the place of the password.  There is no owner here as on the wire, since what
 * comes through a Unix socket may have come through a proxy.
 *
 * Both are taken only where nobody between can read it (x->is_private).  A password is compared with
 * the user's credential for SCRAM-SHA-256, which takes some milliseconds of a processor: only so
 * many do that at once, and the others wait in a queue without a thread, whoever failed often longer
 * than others (user/attempts.h).  What fitted is remembered
 * by a digest that this process alone can make, as long as the user's credential stays.
 *
 * Whoever has no name may ask and gets no further than what needs nothing.  What roles allow is
 * known anew after each change of users and roles.
 *
 * Any thread, one for an exchange. */

#include "http/exchange.h"

#include <ashlar/store.h>

typedef struct ash_gate ash_gate;

enum {
    ASH_GATE_CHECKS = 2,       /* of passwords at once */
    ASH_GATE_REMEMBERED = 512, /* passwords that fitted */
    ASH_GATE_PASSWORD_BYTES = 1024
};

typedef struct ash_gate_options {
    bool always;                   /* ask while there are no users, too */
    struct ash_attempts *attempts; /* of all doors (user/attempts.h), borrowed; NULL: its own */
    struct ash_usage_table *usage; /* of all doors (user/usage.h), borrowed; NULL: its own */
    struct ash_audit *audit;       /* that is told who does what (trace.h); or NULL */
} ash_gate_options;

/* *out is yours: ash__gate_free(), when no exchange is left.  The store must outlive it. */
int ash__gate_new(ash_store *store, const ash_gate_options *opts, ash_gate **out, ash_error *err);
void ash__gate_free(ash_gate *gate); /* NULL is fine */

/* Does it ask anybody, now?  A store that cannot tell counts as one with users. */
bool ash__gate_asks(ash_gate *gate);

/* Finds out who asks, and sets x->op for the calls that are made for them: NULL where nobody is
 * asked.  Whoever goes beyond their limits (user/usage.h) waits, or is refused with 429.
 * false: x is answered (400, 401, 403, 429, 500), or put off. */
bool ash__gate_enter(ash_gate *gate, ash_exchange *x);

/* Of one that was answered before it could enter, for the audit log: by whose session it came, which
 * is not in use for that.  false: by nobody's. */
bool ash__gate_recognize(ash_gate *gate, ash_exchange *x);

/* ---- of an exchange that has entered; may.h has what it may ---- */

/* One who would have to say who it is, and has not. */
bool ash__gate_is_stranger(const ash_exchange *x);
/* Who came by a token may be held to a path of the URL space, and what lies below; NULL: to none. */
const char *ash__gate_within(const ash_exchange *x);
/* A user, and not by a token, which could else make itself wider. */
bool ash__gate_owns_tokens(const ash_exchange *x);
/* For looking at users and their tokens; the gate's. */
struct ash_users *ash__gate_users(ash_gate *gate);
/* Is the user still there, with the rights and the password of when the exchange began, and is its
 * token, or session, good?  For answers that have no end. */
bool ash__gate_stays(const ash_exchange *x);
/* Why a user may not do that: a text. */
const char *ash__gate_why_not(const ash_exchange *x);
/* The same of a request whose body has come, which took its time; more rights than then are none the
 * worse.  false: x is answered (401, 403).  gate: NULL asks nobody. */
bool ash__gate_admits_still(ash_gate *gate, ash_exchange *x);
/* Answers 401 to a stranger, and 403 to others. */
void ash__gate_refuse(ash_exchange *x);

#endif
