/* SPDX-License-Identifier: Apache-2.0 */
/* One client: its turns, in which its requests are read and answered one after the other. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/state.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    IN_BYTES = ASH_HEAD_MAX_BYTES,
    LINGER_MS = 2000,
    MAX_DRAIN_BYTES =
        1024 * 1024 * 1024, /* of a body that nobody wants: clients that send all of it
                                             before they read the answer get to read it */
    TURN_READS = 32         /* in one turn, then others have theirs */
};

static void enter(ash_http_connection *c, ash_http_phase phase)
{
    c->phase = phase;
    c->since_ms = ash__clock_ms();
    c->moved = 0;
    c->peer.turn_due_ms = 0;
    if (phase == ASH_PHASE_ANSWER)
        ash__http_decided(c->request);
}

/* ---- what comes ---- */

static size_t waiting(const ash_http_connection *c)
{
    return c->in_end - c->in_start;
}

static void drop_input(ash_http_connection *c)
{
    ash__free(c->in);
    c->in = NULL;
    c->in_start = c->in_end = 0;
}

static void use_input(ash_http_connection *c, size_t bytes)
{
    c->in_start += bytes;
    if (c->in_start == c->in_end)
        c->in_start = c->in_end = 0;
}

/* As ash_stream_ops.receive, into what is free of the buffer. */
static ssize_t receive(ash_http_connection *c)
{
    ash_stream *s = &c->peer.stream;
    if (c->in == NULL)
        c->in = ash__alloc(IN_BYTES);
    if (c->in_start > 0) {
        memmove(c->in, c->in + c->in_start, waiting(c));
        c->in_end -= c->in_start;
        c->in_start = 0;
    }
    ssize_t n = s->ops->receive(s, c->in + c->in_end, IN_BYTES - c->in_end);
    if (n > 0) {
        c->in_end += (size_t)n;
        c->moved += (size_t)n;
    }
    return n;
}

/* ---- the end of an exchange ---- */

static void tell(ash_http_connection *c)
{
    ash_http_server *s = ash__http_server_of(c);
    ash_http_request *r = c->request;
    int64_t took_us = ash__clock_us() - r->begun_us;
    int class = r->x.status / 100;
    atomic_fetch_add(&s->counts.requests[class >= 1 && class <= 5 ? class : 0], 1);
    atomic_fetch_add(&s->counts.received_bytes, r->received_bytes);
    atomic_fetch_add(&s->counts.sent_bytes, r->made_bytes);
    atomic_fetch_add(&s->counts.seconds_us, took_us);
    atomic_fetch_sub(&s->counts.in_flight, 1);
    if (s->opts.log == NULL)
        return;
    ash_http_record record = {.remote = c->peer.remote,
                              .user = r->x.user,
                              .db = r->x.user_db,
                              .method = r->head.method,
                              .target = r->head.target,
                              .id = r->id,
                              .agent = ash__head_field(&r->head, "User-Agent"),
                              .referer = ash__head_field(&r->head, "Referer"),
                              .protocol = r->head.is_http_1_0 ? "HTTP/1.0" : "HTTP/1.1",
                              .status = r->x.status,
                              .received_bytes = r->received_bytes,
                              .sent_bytes = r->made_bytes,
                              .begun_ms = r->begun_wall_ms,
                              .took_us = took_us};
    s->opts.log(s->opts.log_ctx, &record);
}

static void end_exchange(ash_http_connection *c)
{
    bool stays = !c->request->x.must_close && ash__body_is_over(&c->request->body);
    tell(c);
    ash__http_request_free(c);
    enter(c, stays ? ASH_PHASE_HEAD : ASH_PHASE_LINGER);
    c->answered = stays;
    if (!stays)
        ash__stream_finish(&c->peer.stream);
}

static void cut(ash_http_connection *c)
{
    if (c->request != NULL) {
        c->request->x.status = 0;
        tell(c);
        ash__http_request_free(c);
    }
}

/* ---- a head ---- */

static void wake(void *ctx)
{
    ash__peer_wake(ctx);
}

static bool is_good_id(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return n > 0 && n < ASH_HTTP_ID_BYTES && text[n] == '\0';
}

/* A proxy's own, if it gave one, so that both logs can be read together. */
static void name_request(ash_http_server *s, ash_http_request *r)
{
    const char *given = ash__head_field(&r->head, "X-Request-Id");
    if (given != NULL && is_good_id(given))
        snprintf(r->id, sizeof r->id, "%s", given);
    else
        snprintf(r->id, sizeof r->id, "%s-%lld", s->id,
                 (long long)(1 + atomic_fetch_add(&s->requests_made, 1)));
}

static void refuse(ash_exchange *x, int status, const char *why)
{
    x->must_close = true;
    ash__answer_text(x, status, "%s", why);
}

static void begin_service(ash_http_connection *c)
{
    ash_http_server *s = ash__http_server_of(c);
    ash_http_request *r = c->request;
    const char *why = NULL;
    r->continue_due = r->head.expects_continue;
    ash__body_init(&r->body, r->head.body_length);
    r->x.body_length = r->head.body_length;
    r->x.method = r->head.method;
    r->x.is_head = strcmp(r->head.method, "HEAD") == 0;
    if (!ash__http_target_parse(r->head.target, &r->x.target, NULL, &why))
        refuse(&r->x, 400, why);
    else if (r->head.body_length > s->opts.max_body_bytes)
        refuse(&r->x, 413, "the body is larger than this server takes");
    else
        s->service->begin(&r->x);
}

/* No network between the two. */
static bool is_local(const ash_peer *peer)
{
    return peer->is_unix || strncmp(peer->remote, "127.", 4) == 0 ||
           strncmp(peer->remote, "[::1]", 5) == 0;
}

static void new_request(ash_http_connection *c, size_t bytes)
{
    ash_http_server *s = ash__http_server_of(c);
    ash_http_request *r = ash__new(ash_http_request);
    c->request = r;
    /* The fields are views into it, and the buffer goes on with the body. */
    c->head_bytes = ash__memdup(c->in + c->in_start, bytes);
    r->begun_us = ash__clock_us();
    r->begun_wall_ms = ash__clock_wall_ms();
    r->head.method = "-";
    r->head.target = "-";
    r->x = (ash_exchange){.head = &r->head,
                          .remote = c->peer.remote,
                          .local = c->peer.local,
                          .id = r->id,
                          .method = "-",
                          .service = s->ctx,
                          .is_secure = c->peer.stream.is_private,
                          .is_local = is_local(&c->peer),
                          .is_private = is_local(&c->peer) || c->peer.stream.is_private,
                          .wake = wake,
                          .wake_ctx = &c->peer};
    atomic_fetch_add(&s->counts.in_flight, 1);
}

static void enter_begun(ash_http_connection *c)
{
    const ash_exchange *x = &c->request->x;
    enter(c, x->status != 0 ? ASH_PHASE_ANSWER : x->is_put_off ? ASH_PHASE_WAIT : ASH_PHASE_BODY);
}

/* A head is there, or what cannot be one. */
static void begin_exchange(ash_http_connection *c, size_t bytes)
{
    ash_http_server *s = ash__http_server_of(c);
    const char *why = "that is no HTTP";
    size_t used = 0;
    new_request(c, bytes);
    int status = ash__head_parse(c->head_bytes, bytes, &c->request->head, &used, &why);
    if (status == ASH_HEAD_DONE) {
        use_input(c, used);
        name_request(s, c->request);
        begin_service(c);
    } else {
        atomic_fetch_add(&s->counts.refused, 1);
        c->request->head.method = c->request->head.target = "-";
        c->request->head.field_count = 0;
        c->request->head.keep_alive = false;
        name_request(s, c->request);
        refuse(&c->request->x, status, why);
    }
    enter_begun(c);
}

/* At each turn the service is asked again. */
static bool wait_for_service(ash_http_connection *c, unsigned *wishes)
{
    ash_exchange *x = &c->request->x;
    x->is_put_off = false;
    /* Which of the two put it off: who waits for a body is begun. */
    if (x->finish != NULL)
        ash__exchange_finish(x);
    else
        ash__http_server_of(c)->service->begin(x);
    enter_begun(c);
    if (c->phase != ASH_PHASE_WAIT) {
        ash__peer_owes_nothing(&c->peer);
        return true;
    }
    c->peer.turn_due_ms = x->due_ms;
    /* Where places are short, it is the first to lose its own. */
    ash__peer_owes(&c->peer);
    *wishes = ash__stream_hung_up(&c->peer.stream) ? ASH_TURN_OVER : 0;
    return false;
}

/* Where a head ends, or what is there cannot become one: so many bytes; else 0. */
static size_t complete_head(const ash_http_connection *c)
{
    const char *data = c->in + c->in_start;
    size_t len = waiting(c);
    size_t n = 0;
    while (n + 1 < len && data[n] == '\r' && data[n + 1] == '\n')
        n += 2;
    for (const char *at = data + n; (at = memchr(at, '\n', len - (size_t)(at - data))) != NULL;
         at++)
        if (at - data >= (ptrdiff_t)n + 3 && at[-1] == '\r' && at[-2] == '\n')
            return (size_t)(at - data) + 1;
    /* A first line of some other protocol, or of endless length, is not waited for. */
    bool endless = len >= IN_BYTES || (len - n > ASH_HEAD_MAX_TARGET_BYTES + 64 &&
                                       memchr(data + n, '\n', len - n) == NULL);
    return endless || data[0] == ASH_HEAD_TLS_BYTE ? len : 0;
}

/* false: *wishes. */
static bool read_head(ash_http_connection *c, unsigned *wishes)
{
    const ash_http_options *o = &ash__http_server_of(c)->opts;
    size_t bytes = waiting(c) > 0 ? complete_head(c) : 0;
    if (bytes > 0) {
        ash__peer_owes_nothing(&c->peer);
        begin_exchange(c, bytes);
        return true;
    }
    size_t before = waiting(c);
    /* Right after an answer the next request is hardly ever there already. */
    ssize_t n = c->answered && before == 0 ? ASH_STREAM_WANTS_READ : receive(c);
    c->answered = false;
    if (n > 0) {
        /* The time of a head counts from its first byte. */
        if (before == 0)
            enter(c, ASH_PHASE_HEAD);
        return true;
    }
    bool idle = waiting(c) == 0;
    if (idle)
        drop_input(c);
    *wishes = ash__turn_wish(n);
    /* A handshake has the time of a head. */
    bool may_rest = idle && !c->peer.stream.opening;
    c->peer.turn_due_ms = c->since_ms + (may_rest ? o->idle_timeout_ms : o->head_timeout_ms);
    if (ash__clock_ms() >= c->peer.turn_due_ms && *wishes != ASH_TURN_OVER) {
        atomic_fetch_add(&ash__http_server_of(c)->counts.timed_out, 1);
        *wishes = ASH_TURN_OVER;
    }
    ash__peer_owes(&c->peer);
    return false;
}

/* ---- a body ---- */

/* Content to whoever takes it, until it has answered. */
static void give(ash_http_connection *c, const char *piece, size_t len)
{
    ash_http_server *s = ash__http_server_of(c);
    ash_http_request *r = c->request;
    r->received_bytes += (int64_t)len;
    if (r->x.status != 0)
        return;
    if (r->received_bytes > s->opts.max_body_bytes)
        refuse(&r->x, 413, "the body is larger than this server takes");
    else if (r->x.take != NULL)
        r->x.take(&r->x, piece, len);
}

/* All that came of the body; false: it is none. */
static bool take_input(ash_http_connection *c)
{
    ash_http_request *r = c->request;
    while (waiting(c) > 0 && !ash__body_is_over(&r->body)) {
        size_t used, len;
        const char *piece;
        if (!ash__body_next(&r->body, c->in + c->in_start, waiting(c), &used, &piece, &len))
            return false;
        if (len > 0)
            give(c, piece, len);
        use_input(c, used);
    }
    return true;
}

/* Bytes of a body: >0 came, or *wishes. */
static bool receive_body(ash_http_connection *c, unsigned *wishes)
{
    ash_http_server *s = ash__http_server_of(c);
    ssize_t n = receive(c);
    if (n > 0) {
        if (c->moved >= ASH_STREAM_STEP_BYTES) {
            c->moved = 0;
            c->since_ms = ash__clock_ms();
        }
        ash__peer_owes_nothing(&c->peer);
        return true;
    }
    *wishes = ash__turn_wish(n);
    c->peer.turn_due_ms = c->since_ms + s->opts.move_timeout_ms;
    if (ash__clock_ms() >= c->peer.turn_due_ms && *wishes != ASH_TURN_OVER) {
        atomic_fetch_add(&s->counts.timed_out, 1);
        *wishes = ASH_TURN_OVER;
    }
    ash__peer_owes(&c->peer);
    return false;
}

static bool read_body(ash_http_connection *c, unsigned *wishes)
{
    ash_http_request *r = c->request;
    if (!take_input(c)) {
        if (r->x.status == 0)
            refuse(&r->x, 400, "the body's chunks are none");
        r->x.must_close = true;
    } else if (ash__body_is_over(&r->body) && r->x.status == 0) {
        ash__exchange_finish(&r->x);
        ash_assert(r->x.status != 0 || r->x.is_put_off);
        if (r->x.status == 0) {
            enter(c, ASH_PHASE_WAIT);
            return true;
        }
    }
    if (r->x.status != 0) {
        enter(c, ASH_PHASE_ANSWER);
        return true;
    }
    if (r->continue_due)
        ash__http_send_continue(c);
    return receive_body(c, wishes);
}

/* ---- after the answer ---- */

/* What is left of a body that nobody wanted. */
static bool drain(ash_http_connection *c, unsigned *wishes)
{
    ash_http_request *r = c->request;
    int64_t before = r->received_bytes;
    /* Who was to be told to go on, and was not, sends nothing; and who sends too much is not
     * listened to for ever. */
    bool ends = r->continue_due || !take_input(c) || ash__body_is_over(&r->body);
    r->drained_bytes += r->received_bytes - before;
    if (r->drained_bytes > MAX_DRAIN_BYTES || (r->continue_due && !ash__body_is_over(&r->body)))
        r->x.must_close = true;
    if (ends || r->drained_bytes > MAX_DRAIN_BYTES) {
        end_exchange(c);
        return true;
    }
    return receive_body(c, wishes);
}

static bool linger(ash_http_connection *c, unsigned *wishes)
{
    drop_input(c);
    c->peer.turn_due_ms = c->since_ms + LINGER_MS;
    ssize_t n = receive(c);
    if (n > 0 && ash__clock_ms() < c->peer.turn_due_ms)
        return true;
    drop_input(c);
    *wishes = ash__clock_ms() < c->peer.turn_due_ms ? ash__turn_wish(n) : ASH_TURN_OVER;
    ash__peer_owes(&c->peer);
    return false;
}

static bool send_answer(ash_http_connection *c, unsigned *wishes)
{
    if (!ash__http_send(c, wishes))
        return false;
    enter(c, ASH_PHASE_DRAIN);
    return true;
}

/* ---- turns ---- */

/* true: go on; false: *wishes. */
static bool step(ash_http_connection *c, unsigned *wishes)
{
    switch (c->phase) {
    case ASH_PHASE_HEAD:
        return read_head(c, wishes);
    case ASH_PHASE_WAIT:
        return wait_for_service(c, wishes);
    case ASH_PHASE_BODY:
        return read_body(c, wishes);
    case ASH_PHASE_ANSWER:
        return send_answer(c, wishes);
    case ASH_PHASE_DRAIN:
        return drain(c, wishes);
    default:
        return linger(c, wishes);
    }
}

static unsigned turn(ash_peer *p)
{
    ash_http_connection *c = (ash_http_connection *)p;
    unsigned wishes = ASH_TURN_OVER;
    if (c->since_ms == 0)
        enter(c, ASH_PHASE_HEAD);
    p->turn_due_ms = 0;
    for (int steps = 0; step(c, &wishes); steps++)
        /* Others have their turn.  What is in the buffer is no event; that a socket takes something
         * nearly always is one. */
        if (steps >= TURN_READS) {
            wishes = ASH_TURN_READ | ASH_TURN_WRITE;
            break;
        }
    return wishes;
}

static void leave(ash_peer *p)
{
    ash_http_connection *c = (ash_http_connection *)p;
    cut(c);
    drop_input(c);
}

const ash_face ash__http_face = {.name = "http",
                                 .port = 8080,
                                 .peer_bytes = sizeof(ash_http_connection),
                                 .no_users = "clients may not have to sign in, or can be overheard",
                                 .no_place = "HTTP/1.1 503 Service Unavailable\r\n"
                                             "Retry-After: 1\r\nContent-Length: 0\r\n"
                                             "Connection: close\r\n\r\n",
                                 .turn = turn,
                                 .leave = leave};
