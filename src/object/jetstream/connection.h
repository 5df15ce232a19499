/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_CONNECTION_H
#define ASH_OBJECT_JETSTREAM_CONNECTION_H

/* One connection to NATS servers, and JetStream's requests over it.
 *
 * libnats reconnects by itself, for ever.  A request that is told of a change of leader, or is not
 * answered, is sent again until the operation's deadline, without one for ASH_JS_PATIENCE_MS;
 * so only what may be done twice goes this way.  Any number of threads. */

#include "base/buffer.h"
#include "base/error.h"
#include "base/thread.h"
#include "object/jetstream/format/address.h"
#include "object/jetstream/format/json.h"

#include <ashlar/store.h>

#include <nats/nats.h>

enum {
    ASH_JS_PATIENCE_MS = 30000, /* longer than a busy cluster takes to find a leader */
    ASH_JS_PAUSE_MS = 100,      /* before something is tried again, and between looks at a flag */
    ASH_JS_TIMEOUT_MS = 5000    /* of one request */
};

/* JetStream's own numbers of errors ("err_code"). */
enum {
    ASH_JS_CLUSTER_NO_PEERS = 10005,
    ASH_JS_CLUSTER_NOT_AVAILABLE = 10008,
    ASH_JS_INSUFFICIENT_RESOURCES = 10023,
    ASH_JS_BAD_JSON = 10025,
    ASH_JS_MEMORY_EXCEEDED = 10028,
    ASH_JS_NO_MESSAGE = 10037,
    ASH_JS_NOT_ENABLED_FOR_ACCOUNT = 10039,
    ASH_JS_SEQUENCE_NOT_FOUND = 10043,
    ASH_JS_STORAGE_EXCEEDED = 10047,
    ASH_JS_DELETE_FAILED = 10057, /* not allowed, or, from some servers, not there */
    ASH_JS_STREAM_NAME_IN_USE = 10058,
    ASH_JS_STREAM_NOT_FOUND = 10059,
    ASH_JS_WRONG_LAST_SEQUENCE = 10071,
    ASH_JS_NO_REPLICAS = 10074, /* a server by itself has none */
    ASH_JS_NOT_ENABLED = 10076,
    ASH_JS_STORE_FAILED = 10077, /* a limit of the stream */
    ASH_JS_SEALED = 10109
};

typedef struct ash_js {
    natsConnection *nc;
    char *api; /* "$JS.API", or a domain's */
    int64_t timeout_ms;
    uint64_t denials; /* atomic: how often a server has refused a subject */
    ash_mutex mutex;  /* guards what follows; nothing is locked under it but in libnats */
    ash_cond closing;
    bool closed; /* libnats calls nothing of ours any more */
    struct ash_js_grave *graves;
    uint64_t buried; /* how many, ever */
} ash_js;

/* timeout_ms 0: ASH_JS_TIMEOUT_MS.  *out is yours: ash__js_close(). */
int ash__js_connect(const ash_nats_address *address, int64_t timeout_ms, ash_js **out,
                    ash_error *err);
void ash__js_close(ash_js *js);

/* Ends a subscription (NULL is fine).  libnats before 3.6.1 may still be giving it a message, on the
 * thread that reads, and does not hold it meanwhile; so it is destroyed once something was read that
 * was asked for later. */
void ash__js_bury(ash_js *js, natsSubscription *sub);

/* libnats' status as an error; what: "to publish …". */
int ash__js_fail_status(natsStatus status, const char *what, ash_error *err);

/* JetStream's error in an answer, or 0.  *number: its err_code, 0 when there is none. */
int ash__js_answer_error(const ash_json *answer, int *number, ash_error *err);
/* May it be cured by waiting?  That is what a change of leader, or a crowd, looks like. */
bool ash__js_is_passing(int rc, int number);

/* What is left of op's time, of at most limit_ms; >= 1.  An error once it is over, or cancelled. */
int ash__js_time_left(const ash_op *op, int64_t limit_ms, int64_t *out, ash_error *err);
/* Between two tries.  give_up_ms: on the monotonic clock; ASH_ETIMEOUT behind it. */
int ash__js_pause(const ash_op *op, int64_t give_up_ms, ash_error *err);

/* Sends body (NULL: none) to "<api>.<verb>" and reads the answer.  *answer (NULL: not wanted) is
 * yours, ash__json_free(), also after a failure, where it has the error's number; or NULL. */
int ash__js_request(ash_js *js, const char *verb, ash_buffer *body, const ash_op *op,
                    ash_json **answer, ash_error *err);
/* The same, tried once. */
typedef struct ash_js_answer {
    ash_json *json; /* yours, as above */
    int number;     /* the err_code of what was refused, else 0 */
} ash_js_answer;
int ash__js_request_once(ash_js *js, const char *verb, const ash_buffer *body, const ash_op *op,
                         ash_js_answer *out, ash_error *err);
/* A request whose answer comes in pages. */
typedef struct ash_js_paged {
    const char *verb;
    const char *filter_key, *filter; /* a member of the request */
    /* Takes what a page has and adds how many that were to *count. */
    int (*take)(void *ctx, const ash_json *answer, int64_t *count, ash_error *err);
    void *ctx;
} ash_js_paged;
/* Page by page, until all of the answer's `total` were taken or a page has none. */
int ash__js_each_page(ash_js *js, const ash_js_paged *p, const ash_op *op, ash_error *err);
/* The err_code in an answer; 0: none. */
int ash__js_number(const ash_json *answer);
/* The message whole, tried once: for direct gets. */
int ash__js_ask(ash_js *js, natsMsg *message, const ash_op *op, natsMsg **answer, ash_error *err);

/* A header of a message; NULL: it has none.  Borrowed. */
const char *ash__js_header(natsMsg *message, const char *name);

#endif
