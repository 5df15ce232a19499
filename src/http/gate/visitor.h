/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_VISITOR_H
#define ASH_HTTP_VISITOR_H

/* Inside this folder: one who asks, and what the gate knows of them. */

#include "base/thread.h"
#include "http/gate/may.h"
#include "http/gate/session.h"
#include "user/attempts.h"
#include "user/tokens.h"
#include "user/usage.h"
#include "user/users.h"

#include <stdatomic.h>

/* A user as it was at some time; nothing of it changes but the count of its holders. */
typedef struct ash_visitor {
    _Atomic int holders;
    char *user, *db;   /* NULL: nobody */
    uint64_t known_at; /* ash__users_changes() when it was looked up */
    uint8_t user_id[16];
    ash_scram_credential credential; /* that the password fitted */
    bson_t roles;   /* array of {role, db}, inherited ones too, of admin and the default database */
    bson_t origins; /* from where it may sign in: that part of its document */
    ash_limits limits;
    ash_privileges privileges;
    ash_principal principal;
    ash_op op;
} ash_visitor;

/* Nobody: may do nothing. */
ash_visitor *ash__visitor_nobody(void);
ash_visitor *ash__visitor_hold(ash_visitor *v);
void ash__visitor_release(ash_visitor *v); /* NULL is fine */
/* The user as it is now; one holder.  ASH_ENOTFOUND. */
int ash__visitor_find(ash_users *users, const char *user, const char *db, ash_visitor **out,
                      ash_error *err);
/* The same one, after a change of users and roles.  ASH_ENOTFOUND: it is gone, or has another
 * password now. */
int ash__visitor_renew(ash_users *users, const ash_visitor *v, ash_visitor **out, ash_error *err);

enum { ASH_GATE_MARK_BYTES = 32 };

/* A password that fitted. */
typedef struct ash_gate_entry {
    uint8_t mark[ASH_GATE_MARK_BYTES]; /* HMAC of name and password with the gate's secret */
    ash_visitor *visitor;              /* NULL: free */
} ash_gate_entry;

typedef struct ash_session {
    uint8_t digest[32];   /* of the cookie's value */
    ash_visitor *visitor; /* NULL: free */
    int64_t begun_ms, seen_ms;
} ash_session;

/* What an exchange has of the gate: x->visitor. */
typedef struct ash_coming {
    ash_gate *gate;
    ash_visitor *visitor; /* NULL: not known yet */
    bool is_session;
    bool is_token; /* it is as narrow as that: */
    bool reads_only;
    char *within;    /* a path of the URL space; NULL: everywhere */
    bool is_attempt; /* to sign in: begun, and not over */
    bool had_to_wait;
    char token_id[ASH_TOKEN_ID_BYTES]; /* of is_token */
    uint8_t session[32];               /* of is_session: the digest of its cookie */
    ash_attempt attempt;
    int64_t due_ms;      /* before it is not judged (monotonic) */
    ash_usage *usage;    /* of a user with limits; else NULL */
    int64_t pace_due_ms; /* before it is not its turn (monotonic); 0: it is */
    int64_t paid_bytes;  /* of the answer, by now */
    int (*more)(ash_exchange *x, ash_buffer *out); /* of who answers */
    struct ash_coming *next;                       /* gate->lock, as what follows */
    ash_exchange *x;
    bool waits, has_place;
} ash_coming;

struct ash_gate {
    ash_users users;
    bool always;
    ash_attempts *attempts, *own_attempts; /* the latter: NULL, or the same */
    struct ash_audit *audit;               /* or NULL */
    ash_usage_table *usage, *own_usage;    /* the latter: NULL, or the same */
    uint8_t secret[ASH_GATE_MARK_BYTES];
    _Atomic bool has_users;
    _Atomic uint64_t looked_at; /* ash__users_changes() when has_users was found; 0: never */
    ash_mutex lock;             /* guards what follows */
    ash_gate_entry entries[ASH_GATE_REMEMBERED];
    ash_session sessions[ASH_SESSIONS];
    int checks;                /* that run */
    ash_coming *first, **last; /* who waits for one */
};

/* password.c: who has this password?  0: *out, yours.  ASH_EACCES: nobody.  ASH_EBUSY: the exchange
 * is put off, and asks again. */
int ash__gate_check_password(ash_gate *gate, ash_coming *c, const char *name, const char *password,
                             ash_visitor **out, ash_error *err);
/* token.c: the same of a token; name: that of Basic, or "". */
int ash__gate_check_token(ash_gate *gate, ash_coming *c, const char *name, const char *text,
                          ash_visitor **out, ash_error *err);
/* trace.c: somebody signed in, or failed to, which happened so often besides since it was told last.
 * mechanism: "PLAIN" (of SASL's, as Basic and the form are), or "token". */
void ash__gate_tell(const ash_gate *g, const ash_exchange *x, const ash_attempt_name *who,
                    const char *mechanism, bool failed, int64_t besides);
/* Before its session is ended. */
void ash__gate_tell_sign_out(const ash_gate *g, const ash_exchange *x);
/* Its end, of an exchange that has begun one (trace.h). */
void ash__gate_tell_request(ash_exchange *x);
/* pace.c: is it the user's turn?  false: x is put off, or answered (429). */
bool ash__gate_pace(ash_coming *c);
/* The answer is decided, and goes at the user's pace from now on. */
void ash__gate_pace_answer(ash_exchange *x);
void ash__gate_pace_end(ash_coming *c);
/* gate.c: as x->decided. */
void ash__gate_decided(ash_exchange *x);
/* session.c: who has the exchange's cookie?  ASH_ENOTFOUND: nobody.  in_use: the session lasts for
 * longer by that. */
bool ash__gate_has_cookie(const ash_exchange *x);
int ash__gate_check_session(ash_gate *gate, ash_coming *c, bool in_use, ash_visitor **out,
                            ash_error *err);
/* Is the session that let it in still one?  in_use: by a body that came until now, however long that
 * took; not by who just waits for news. */
bool ash__gate_session_lasts(ash_gate *gate, const ash_coming *c, bool in_use);
/* The exchange is over: neither waits nor has a place. */
void ash__gate_leave_queue(ash_gate *gate, ash_coming *c);

#endif
