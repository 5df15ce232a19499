/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_EXCHANGE_H
#define ASH_HTTP_EXCHANGE_H

/* One request and its answer, as those see it who answer requests.
 *
 * Whoever answers never touches a socket and never waits for a client: it is called when something
 * has come, does what is to be done with it, and says what the answer is.  Calls of one exchange
 * never overlap, though they come on different threads.
 *
 *     service->begin(x)   the head is there.  Answers at once, or sets x->take and x->finish and
 *                         waits for the body; or sets x->is_put_off, and is called again after
 *                         ash__exchange_wake(), or x->due_ms, and perhaps in between
 *     x->take(x, …)       a piece of the body came.  It may answer early; what still comes is then
 *                         thrown away
 *     x->admits(x)        if it was set: the body is complete.  false: it has answered, as who asks may
 *                         not any more what it was to do
 *     x->finish(x)        then: answers, or puts it off as begin() does
 *     x->more(x, out)     the answer's next piece is wanted
 *     x->release(x)       the exchange is over, or the client is gone, at any point: frees x->state.
 *                         Called once if it was set.  A body that ended early comes here without
 *                         finish, so nothing may become visible before that; of a form with several
 *                         files, none that has not come whole
 *
 * A body that nobody takes is read and thrown away, within limits.  HEAD is answered as GET is, and
 * the body is left out. */

#include "base/buffer.h"
#include "base/error.h"
#include "http/head.h"
#include "http/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ash_exchange ash_exchange;

/* What more() says. */
enum {
    ASH_MORE_LAST = 0, /* this was the last piece */
    ASH_MORE_TO_COME = 1,
    ASH_MORE_LATER = 2 /* nothing now: ask when ash__exchange_wake() was called, or at x->due_ms */
};
/* A piece should have about this much. */
enum { ASH_PIECE_BYTES = 64 * 1024 };

struct ash_exchange {
    /* The request. */
    const ash_head *head;
    ash_http_target target;
    const char *method;  /* of head */
    const char *remote;  /* the client's address as text */
    const char *local;   /* that it reached */
    const char *id;      /* of this request, for logs and the answer's X-Request-Id */
    int64_t body_length; /* announced; 0: none; -1: not known beforehand */
    bool is_head;
    bool is_secure;  /* by TLS */
    bool is_local;   /* from this machine, perhaps by a proxy */
    bool is_private; /* nobody between the client and this process can read or change it */
    void *service;   /* the ctx of who answers */

    /* Of who finds out who asks (http/gate). */
    const struct ash_op *op; /* for calls that are made for the client; NULL: nobody is asked */
    const char *user,
        *user_db; /* for logs, as long as it has visitor; NULL: nobody has signed in */
    void *visitor;
    void (*dismiss)(ash_exchange *x); /* after release(), if set */
    bool (*admits)(ash_exchange *x);
    bool is_put_off;

    /* Of what is told of it (http/gate/trace.h). */
    void *trace;
    /* Once, if set: what the answer is was decided, or the exchange ends without one (status 0).
     * Before release(). */
    void (*decided)(ash_exchange *x);

    /* Of who answers. */
    void *state;
    void (*take)(ash_exchange *x, const void *data, size_t len);
    void (*finish)(ash_exchange *x);
    /* Appends to out, which is empty; ASH_MORE_…, or a negative ASH_E…: the connection is cut, as
     * that is all that tells a client that an answer is not whole. */
    int (*more)(ash_exchange *x, ash_buffer *out);
    void (*release)(ash_exchange *x);
    int64_t due_ms; /* see ASH_MORE_LATER, begin(); monotonic, 0: no time */

    /* The answer; see below. */
    int status;                         /* 0: none yet */
    ash_buffer fields;                  /* "Name: value\r\n" … */
    ash_buffer body;                    /* the first piece, or all of it */
    int64_t length;                     /* of the whole body; -1: not known (chunked) */
    bool is_streamed;                   /* more() is asked for what follows body */
    bool must_close;                    /* no other request on this connection */
    int64_t received_bytes, sent_bytes; /* of bodies; set before dismiss() */

    void *wake_ctx; /* of the connection */
    void (*wake)(void *ctx);
};

typedef struct ash_http_service {
    void (*begin)(ash_exchange *x);
} ash_http_service;

/* ---- answering; once for an exchange ---- */

/* Fields may come before and after the status, as long as the call that answers lasts.  What would
 * break the head (control characters) is left out of values. */
void ash__answer_field(ash_exchange *x, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* No body: 201, 204, 304 … */
void ash__answer_empty(ash_exchange *x, int status);
/* A whole body, copied.  type: NULL for none. */
void ash__answer_body(ash_exchange *x, int status, const char *type, const void *data, size_t len);
/* One line of text/plain; a newline is added. */
void ash__answer_text(ash_exchange *x, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The status that goes with an error of ours, and its text; what only the operator should see (a
 * path of the machine, damage) goes to the log as well. */
void ash__answer_error(ash_exchange *x, const ash_error *err);
int ash__status_of(int code); /* ASH_E… to a status */
/* A body that comes in pieces, from x->more, which has to be set.  length: -1 when not known. */
void ash__answer_stream(ash_exchange *x, int status, const char *type, int64_t length);

bool ash__answered(const ash_exchange *x);
const char *ash__status_text(int status); /* "Not Found" */

/* Any thread: there is news for more().  The exchange must not be released yet, so whoever may call
 * it is told of the end by release(), and does not call it after that returned. */
void ash__exchange_wake(ash_exchange *x);

/* Of who gives a body to its taker: all of it has come, or finish() put it off and is due. */
void ash__exchange_finish(ash_exchange *x);

/* Does a method name a request that changes nothing? */
bool ash__method_is_safe(const char *method);

#endif
