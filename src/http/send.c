/* SPDX-License-Identifier: Apache-2.0 */
/* The answer's way out: its head with the first piece, then piece by piece as the client takes
 * them. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/state.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

enum { TURN_BYTES = 1024 * 1024 }; /* sent in one turn, then others have theirs */

/* ---- the head ---- */

static bool has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

static void write_head(ash_http_connection *c)
{
    ash_http_request *r = c->request;
    ash_exchange *x = &r->x;
    char date[ASH_DATE_BYTES];
    bool stays = r->head.keep_alive && !x->must_close;
    r->chunked = x->length < 0 && !r->head.is_http_1_0 && !has_no_body(x->status);
    /* Where neither length nor chunks say where the body ends, the connection's end does. */
    if (x->length < 0 && !r->chunked && !x->is_head && !has_no_body(x->status))
        stays = false;
    x->must_close = !stays;
    ash__date_http(date, ash__clock_wall_ms());
    ash__buffer_printf(&r->frame, "HTTP/1.1 %d %s\r\nDate: %s\r\n", x->status,
                       ash__status_text(x->status), date);
    ash__buffer_append(&r->frame, x->fields.data, x->fields.len);
    if (r->chunked)
        ash__buffer_append_text(&r->frame, "Transfer-Encoding: chunked\r\n");
    else if (x->length >= 0 && !has_no_body(x->status))
        ash__buffer_printf(&r->frame, "Content-Length: %lld\r\n", (long long)x->length);
    ash__buffer_printf(&r->frame, "X-Request-Id: %s\r\n", x->id);
    if (!stays)
        ash__buffer_append_text(&r->frame, "Connection: close\r\n");
    else if (r->head.is_http_1_0)
        ash__buffer_append_text(&r->frame, "Connection: keep-alive\r\n");
    ash__buffer_append_text(&r->frame, "\r\n");
    r->head_made = true;
}

/* ---- pieces ---- */

static void add(ash_http_request *r, const void *data, size_t len)
{
    if (len > 0)
        r->iov[r->unsent_count++] = (struct iovec){(void *)(uintptr_t)data, len};
}

/* What there is of head and body becomes what is to be sent. */
static void frame_piece(ash_http_request *r)
{
    ash_exchange *x = &r->x;
    bool bodiless = x->is_head || has_no_body(x->status);
    size_t len = bodiless ? 0 : x->body.len;
    r->made_bytes += (int64_t)len;
    if (r->chunked && !bodiless && len > 0)
        ash__buffer_printf(&r->frame, "%zx\r\n", len);
    r->unsent = r->iov;
    r->unsent_count = 0;
    add(r, r->frame.data, r->frame.len);
    add(r, x->body.data, len);
    if (r->chunked && !bodiless) {
        const char *end = len == 0 ? "0\r\n\r\n" : r->last_made ? "\r\n0\r\n\r\n" : "\r\n";
        if (len > 0 || r->last_made)
            add(r, end, strlen(end));
    }
    if (bodiless)
        r->last_made = true;
}

/* The service could not go on before anything was sent: an answer can still say so. */
static void answer_failure(ash_http_request *r)
{
    ash_exchange *x = &r->x;
    x->status = 0;
    x->is_streamed = false;
    ash__buffer_clear(&x->fields);
    ash__buffer_clear(&x->body);
    ash__answer_text(x, 500, "the answer could not be read; the server's log says why (request %s)",
                     x->id);
}

/* A piece from the service.  What more() says, or ASH_MORE_LAST for what was complete before. */
static int next_piece(ash_http_request *r)
{
    ash_exchange *x = &r->x;
    if (!x->is_streamed || x->is_head)
        return ASH_MORE_LAST;
    /* The first one may be there already; then it is worth sending at once. */
    if (!r->head_made && x->body.len > 0)
        return ASH_MORE_TO_COME;
    if (r->head_made)
        ash__buffer_clear(&x->body);
    return x->more(x, &x->body);
}

/* true: something is to be sent.  false: *wishes. */
static bool make_piece(ash_http_connection *c, unsigned *wishes)
{
    ash_http_request *r = c->request;
    ash_exchange *x = &r->x;
    int rc = next_piece(r);
    if (rc < 0 && !r->head_made) {
        answer_failure(r);
        rc = ASH_MORE_LAST;
    }
    if (rc < 0) {
        ash__log(ASH_LOG_WARN, "connection %lld from %s cut: the answer to request %s failed",
                 (long long)c->peer.id, c->peer.remote, x->id);
        *wishes = ASH_TURN_OVER;
        return false;
    }
    ash__buffer_clear(&r->frame);
    if (!r->head_made)
        write_head(c);
    else if (rc == ASH_MORE_LATER && x->body.len == 0) {
        c->peer.turn_due_ms = x->due_ms;
        *wishes = ash__stream_hung_up(&c->peer.stream) ? ASH_TURN_OVER : 0;
        return false;
    }
    r->last_made = rc == ASH_MORE_LAST;
    frame_piece(r);
    return true;
}

/* ---- sending ---- */

static size_t bytes_of(const struct iovec *iov, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += iov[i].iov_len;
    return sum;
}

/* false: *wishes. */
static bool push(ash_http_connection *c, size_t *sent, unsigned *wishes)
{
    ash_http_request *r = c->request;
    ash_http_server *s = ash__http_server_of(c);
    size_t before = bytes_of(r->unsent, r->unsent_count);
    bool alive = ash__stream_push(&c->peer.stream, &r->unsent, &r->unsent_count);
    size_t moved = before - bytes_of(r->unsent, r->unsent_count);
    *sent += moved;
    c->moved += moved;
    if (c->moved >= ASH_STREAM_STEP_BYTES || (moved > 0 && r->unsent_count == 0)) {
        c->moved = 0;
        c->since_ms = ash__clock_ms();
    }
    if (alive && r->unsent_count == 0)
        return true;
    c->peer.turn_due_ms = c->since_ms + s->opts.move_timeout_ms;
    *wishes = alive ? ASH_TURN_WRITE : ASH_TURN_OVER;
    return false;
}

bool ash__http_send(ash_http_connection *c, unsigned *wishes)
{
    ash_http_request *r = c->request;
    size_t sent = 0;
    for (;;) {
        if (r->unsent_count > 0 && !push(c, &sent, wishes))
            return false;
        if (r->head_made && r->last_made)
            break;
        if (sent >= TURN_BYTES) {
            c->peer.turn_due_ms = ash__clock_ms() + ash__http_server_of(c)->opts.move_timeout_ms;
            *wishes = ASH_TURN_WRITE;
            return false;
        }
        if (!make_piece(c, wishes))
            return false;
    }
    /* Fewer bytes than were announced: only the connection's end tells the client. */
    if (!r->x.is_head && !has_no_body(r->x.status) && r->x.length >= 0 &&
        r->made_bytes != r->x.length) {
        ash__log(ASH_LOG_ERROR, "the answer to request %s has %lld of %lld bytes", r->x.id,
                 (long long)r->made_bytes, (long long)r->x.length);
        *wishes = ASH_TURN_OVER;
        return false;
    }
    return true;
}

void ash__http_send_continue(ash_http_connection *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec iov = {(void *)(uintptr_t)text, sizeof text - 1};
    struct iovec *at = &iov;
    size_t count = 1;
    /* Before an answer there is always room for so little; and a client that does not get it sends
     * its body after a while all the same. */
    ash__stream_push(&c->peer.stream, &at, &count);
    c->request->continue_due = false;
}

void ash__http_decided(ash_http_request *r)
{
    void (*decided)(ash_exchange * x) = r->x.decided;
    r->x.decided = NULL;
    if (decided != NULL)
        decided(&r->x);
}

void ash__http_request_free(ash_http_connection *c)
{
    ash_http_request *r = c->request;
    if (r == NULL)
        return;
    ash__http_decided(r);
    if (r->x.release != NULL)
        r->x.release(&r->x);
    r->x.received_bytes = r->received_bytes;
    r->x.sent_bytes = r->made_bytes;
    if (r->x.dismiss != NULL)
        r->x.dismiss(&r->x);
    ash__http_target_release(&r->x.target);
    ash__buffer_release(&r->x.fields);
    ash__buffer_release(&r->x.body);
    ash__buffer_release(&r->frame);
    ash__free(r);
    ash__free(c->head_bytes);
    c->request = NULL;
    c->head_bytes = NULL;
}
