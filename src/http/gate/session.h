/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SESSION_H
#define ASH_HTTP_SESSION_H

/* Sessions of browsers: who has signed in by the form shows a cookie.
 *
 * Its value is 256 random bits; they are kept in memory, as a digest, and a restart ends them.  A
 * session ends ASH_SESSION_IDLE_MS after its last request, ASH_SESSION_MAX_MS after it was begun,
 * when its user signs out or in again, is removed, or has another password.  There are at most
 * ASH_SESSIONS; the one that was not used for longest makes room.
 *
 * Over TLS, here or in a proxy that says so (X-Forwarded-Proto), the cookie is __Host-ashlar, which
 * no other host and no plain connection can set; else it is ashlar.  Scripts do not see it, and
 * no request that another site causes has it (SameSite=Strict); what listens at another port of the
 * same host may, which is why changes also need to come from this origin. */

#include "http/exchange.h"

typedef struct ash_gate ash_gate;

enum {
    ASH_SESSIONS = 1024,
    ASH_SESSION_IDLE_MS = 2 * 60 * 60 * 1000,
    ASH_SESSION_MAX_MS = 24 * 60 * 60 * 1000
};

/* What the form says.  0: x, which has entered, is answered with a cookie by whoever calls, and is
 * the user's from now on.  ASH_EACCES: no.  ASH_EBUSY: x is put off.  Passwords that go over an open
 * network are refused: ASH_EINVAL. */
int ash__gate_sign_in(ash_gate *gate, ash_exchange *x, const char *name, const char *password,
                      ash_error *err);
/* Ends the sessions of x's cookies, and takes the cookie away. */
void ash__gate_sign_out(ash_gate *gate, ash_exchange *x);
/* The name of who came by a session; NULL: x did not. */
const char *ash__gate_session_of(const ash_exchange *x);

#endif
