/* SPDX-License-Identifier: Apache-2.0 */
#include "visit.h"

#include "check.h"

#include "base/clock.h"
#include "base/mem.h"

#include <ashlar/error.h>
#include <string.h>
#include <strings.h>

bool visit_is_far;

static void wake(void *ctx)
{
    __atomic_fetch_add(&((visit *)ctx)->wakes, 1, __ATOMIC_SEQ_CST);
}

/* The request as it would have come, with the line ends of HTTP. */
static void write_head(ash_buffer *out, const char *line, const char *fields, int64_t body_length)
{
    ash__buffer_printf(out, "%s HTTP/1.1\r\n", line);
    if (fields == NULL || strncasecmp(fields, "Host:", 5) != 0)
        ash__buffer_append_text(out, "Host: localhost:8080\r\n");
    for (const char *at = fields; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n");
        ash__buffer_append(out, at, len);
        ash__buffer_append_text(out, "\r\n");
        at += len + (at[len] == '\n');
    }
    if (body_length > 0)
        ash__buffer_printf(out, "Content-Length: %lld\r\n", (long long)body_length);
    else if (body_length < 0)
        ash__buffer_append_text(out, "Transfer-Encoding: chunked\r\n");
    ash__buffer_append_text(out, "\r\n");
}

visit *visit_begin(const ash_http_service *service, void *ctx, const char *line, const char *fields,
                   int64_t body_length)
{
    visit *v = ash__new(visit);
    ash_buffer bytes = ASH_BUFFER_INIT;
    const char *why = "";
    size_t used = 0;
    write_head(&bytes, line, fields, body_length);
    size_t len = bytes.len;
    v->head_bytes = (char *)ash__buffer_detach(&bytes);
    if (ash__head_parse(v->head_bytes, len, &v->head, &used, &why) != ASH_HEAD_DONE)
        fail_msg("%s: %s", line, why);
    v->x = (ash_exchange){.head = &v->head,
                          .method = v->head.method,
                          .remote = "127.0.0.1:4711",
                          .local = "127.0.0.1:8080",
                          .id = "visit",
                          .body_length = v->head.body_length,
                          .is_head = strcmp(v->head.method, "HEAD") == 0,
                          .service = ctx,
                          .is_private = !visit_is_far,
                          .is_local = !visit_is_far,
                          .wake = wake,
                          .wake_ctx = v};
    if (!ash__http_target_parse(v->head.target, &v->x.target, NULL, &why))
        fail_msg("%s: %s", line, why);
    service->begin(&v->x);
    return v;
}

void visit_begin_again(visit *v, const ash_http_service *service)
{
    v->x.is_put_off = false;
    service->begin(&v->x);
}

visit *visit_start(const ash_http_service *service, void *ctx, const char *line, const char *fields,
                   int64_t body_length)
{
    visit *v = visit_begin(service, ctx, line, fields, body_length);
    /* As the connection does; who is forgotten waits for ever. */
    for (int wakes = 0; v->x.is_put_off;) {
        for (int ms = 0; __atomic_load_n(&v->wakes, __ATOMIC_SEQ_CST) == wakes &&
                         (v->x.due_ms == 0 || ash__clock_ms() < v->x.due_ms);
             ms++) {
            assert_true(ms < 60000);
            ash__clock_sleep_ms(1);
        }
        wakes = __atomic_load_n(&v->wakes, __ATOMIC_SEQ_CST);
        visit_begin_again(v, service);
    }
    /* Whoever did not answer waits for the body's end. */
    assert_true(v->x.status != 0 || v->x.finish != NULL);
    return v;
}

void visit_send(visit *v, const void *data, size_t len)
{
    if (v->x.status != 0 || v->x.take == NULL || len == 0)
        return;
    /* Its own copy, so that whoever keeps a view into it is found out. */
    void *piece = ash__memdup(data, len);
    v->x.take(&v->x, piece, len);
    ash__free(piece);
}

/* ---- the answer ---- */

static bool has_no_body(const visit *v)
{
    return v->x.is_head || v->status < 200 || v->status == 204 || v->status == 304;
}

static void check_length(const visit *v)
{
    if (!v->cut && !has_no_body(v) && v->x.length >= 0)
        assert_int_equal(v->body.len, v->x.length);
}

void visit_read(visit *v)
{
    int rc = v->x.is_streamed && !has_no_body(v) ? ASH_MORE_TO_COME : ASH_MORE_LAST;
    v->waits = false;
    if (v->status == 0)
        return;
    while (rc == ASH_MORE_TO_COME) {
        ash__buffer_clear(&v->x.body);
        rc = v->x.more(&v->x, &v->x.body);
        if (rc >= 0)
            ash__buffer_append(&v->body, v->x.body.data, v->x.body.len);
    }
    v->waits = rc == ASH_MORE_LATER;
    v->cut = rc < 0;
    if (!v->waits)
        check_length(v);
}

static void decided(visit *v)
{
    void (*tell)(ash_exchange * x) = v->x.decided;
    v->x.decided = NULL;
    if (tell != NULL)
        tell(&v->x);
}

void visit_end(visit *v)
{
    if (v->x.status == 0)
        ash__exchange_finish(&v->x);
    for (; v->x.is_put_off && v->x.status == 0; ash__exchange_finish(&v->x)) {
        ash__clock_sleep_ms(2);
        v->x.is_put_off = false;
    }
    assert_true(v->x.status != 0);
    decided(v);
    v->status = v->x.status;
    if (!has_no_body(v))
        ash__buffer_append(&v->body, v->x.body.data, v->x.body.len);
    visit_read(v);
}

void visit_free(visit *v)
{
    if (v == NULL)
        return;
    decided(v);
    if (v->x.release != NULL)
        v->x.release(&v->x);
    if (v->x.dismiss != NULL)
        v->x.dismiss(&v->x);
    ash__http_target_release(&v->x.target);
    ash__buffer_release(&v->x.fields);
    ash__buffer_release(&v->x.body);
    ash__buffer_release(&v->body);
    ash__free(v->head_bytes);
    ash__free(v);
}

/* ---- all of it ---- */

visit *visit_ask_bytes(const ash_http_service *service, void *ctx, const char *line,
                       const char *fields, const void *body, size_t len)
{
    visit *v = visit_start(service, ctx, line, fields, (int64_t)len);
    size_t half = len / 2;
    visit_send(v, body, half);
    visit_send(v, (const char *)body + half, len - half);
    visit_end(v);
    return v;
}

visit *visit_ask(const ash_http_service *service, void *ctx, const char *line, const char *fields,
                 const char *body)
{
    const char *text = body != NULL ? body : "";
    return visit_ask_bytes(service, ctx, line, fields, text, strlen(text));
}

void visit_expect(const visit *v, int status)
{
    if (v->status != status || v->cut)
        fail_msg("%s %s: %d and not %d%s: %.*s", v->x.method, v->head.target, v->status, status,
                 v->cut ? ", cut" : "", v->body.len < 500 ? (int)v->body.len : 500,
                 (const char *)v->body.data);
}

void visit_expect_body(visit *v, const char *text)
{
    assert_string_equal(ash__buffer_text(&v->body), text);
}

const char *visit_field(visit *v, const char *name)
{
    static char value[4096];
    const char *found = NULL;
    size_t name_len = strlen(name);
    for (const char *at = ash__buffer_text(&v->x.fields); *at != '\0';) {
        size_t len = strcspn(at, "\r");
        if (strncasecmp(at, name, name_len) == 0 && at[name_len] == ':') {
            assert_null(found);
            assert_true(len - name_len - 2 < sizeof value);
            memcpy(value, at + name_len + 2, len - name_len - 2);
            value[len - name_len - 2] = '\0';
            found = value;
        }
        at += len + 2;
    }
    return found;
}

void visit_expect_field(visit *v, const char *name, const char *value)
{
    const char *got = visit_field(v, name);
    if (got == NULL)
        fail_msg("%s %s: no %s", v->x.method, v->head.target, name);
    assert_string_equal(got, value);
}
