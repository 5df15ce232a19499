/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_TRACE_H
#define ASH_HTTP_TRACE_H

/* What of a request goes into the audit log (audit/audit.h): an "authCheck" with
 *
 *   {"command": "PUT", "path": "/docs/a", …, "token"?, "status": 201}
 *
 * as param, when its answer is decided.  The command is the method, or the name of a call
 * ("tree/move"); the path one of the URL space, decoded, without its query.  What else is told, a
 * part names itself: no field, no query and no body gets in unseen.  Texts are cut.
 *
 * Whoever was refused is told as well (result 13), of all kinds; but not who never said who it is,
 * and could push everything else out. */

#include "audit/audit.h"
#include "http/exchange.h"

typedef struct ash_gate ash_gate;

enum { ASH_TRACE_PATH_BYTES = 1024, ASH_TRACE_TEXT_BYTES = 255, ASH_TRACE_NAMES = 10 };

/* x, which has entered, is to be told as one of a kind (ASH_AUDIT_…; 0: only that it was refused),
 * once.  true: x is answered, with 507, since it could not be told. */
bool ash__trace_begin(ash_gate *gate, ash_exchange *x, unsigned kind, const char *path);

/* ---- of an exchange that may have none, which is fine ---- */

void ash__trace_kind(ash_exchange *x, unsigned kind);
/* A call instead of the method. */
void ash__trace_command(ash_exchange *x, const char *name);
/* What it is about, instead of the path of its URL: both texts, one behind the other. */
void ash__trace_path(ash_exchange *x, const char *prefix, const char *path);
/* More of it; NULL: nothing.  A name comes once. */
void ash__trace_text(ash_exchange *x, const char *name, const char *text);
/* One of the "names" of what it made; of more than ASH_TRACE_NAMES the first ones. */
void ash__trace_name(ash_exchange *x, const char *text);
/* It came by a link that is good: told, though nobody has signed in.  true: x is answered, as
 * above. */
bool ash__trace_link(ash_exchange *x, const char *id);

#endif
