/* SPDX-License-Identifier: Apache-2.0 */
#include "http/source.h"

#include "base/log.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/log.h"

typedef struct sending {
    ash_http_source source;
    int64_t left;
} sending;

static void release(ash_exchange *x)
{
    sending *s = x->state;
    s->source.release(s->source.ctx);
    ash__free(s);
}

static int read_piece(sending *s, ash_buffer *out, ash_error *err)
{
    size_t want = s->left < ASH_PIECE_BYTES ? (size_t)s->left : ASH_PIECE_BYTES;
    size_t got = 0;
    ash__buffer_reserve(out, want);
    for (size_t n = 0; n < want; n += got) {
        int rc = s->source.read(s->source.ctx, out->data + out->len, want - n, &got, err);
        if (rc == 0 && got == 0)
            rc = ash__fail(err, ASH_ECORRUPT, "there are fewer bytes than there should be");
        if (rc != 0)
            return rc;
        out->len += got;
    }
    s->left -= (int64_t)want;
    return s->left > 0 ? ASH_MORE_TO_COME : ASH_MORE_LAST;
}

static int more(ash_exchange *x, ash_buffer *out)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = read_piece(x->state, out, &err);
    if (rc < 0) {
        char *path = ash__http_without_secrets(x->target.path);
        ash__log(ASH_LOG_ERROR, "%s: %s", path, err.text);
        ash__free(path);
    }
    return rc;
}

/* The first piece goes with the head, and what cannot be read from its beginning is told by
 * status. */
static void send(ash_exchange *x, sending *s, int status, ash_range range)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = ASH_MORE_LAST;
    s->left = range.end - range.start;
    int64_t length = s->left;
    if (!x->is_head && length > 0) {
        rc = s->source.open(s->source.ctx, range.start, range.end, &err);
        if (rc == 0)
            rc = read_piece(s, &x->body, &err);
    }
    if (rc < 0) {
        ash__buffer_clear(&x->body);
        ash__buffer_clear(&x->fields);
        ash__answer_error(x, &err);
        return;
    }
    x->more = more;
    ash__answer_stream(
        x, status, s->source.type != NULL ? s->source.type : "application/octet-stream", length);
    x->is_streamed = rc != ASH_MORE_LAST;
}

static void send_range(ash_exchange *x, sending *s, const ash_validators *now)
{
    ash_range ranges[ASH_MAX_RANGES];
    int64_t length = s->source.length;
    int count = x->is_head ? 0 : ash__ranges(x->head, length, now, ranges);
    if (count < 0) {
        ash__answer_field(x, "Content-Range", "bytes */%lld", (long long)length);
        ash__answer_text(x, 416, "it has %lld bytes", (long long)length);
    } else if (count == 1) {
        ash__answer_field(x, "Content-Range", "bytes %lld-%lld/%lld", (long long)ranges[0].start,
                          (long long)ranges[0].end - 1, (long long)length);
        send(x, s, 206, ranges[0]);
    } else {
        /* Several are answered by all of it, as RFC 9110 §14.2 allows. */
        send(x, s, 200, (ash_range){0, length});
    }
}

void ash__http_send_source(ash_exchange *x, const ash_http_source *source)
{
    sending *s = ash__new(sending);
    ash_validators now = {source->etag, source->modified_ms};
    char date[ASH_DATE_BYTES];
    s->source = *source;
    x->state = s;
    x->release = release;
    ash__date_http(date, source->modified_ms);
    ash__answer_field(x, "ETag", "%s", source->etag);
    ash__answer_field(x, "Last-Modified", "%s", date);
    ash__answer_field(x, "Accept-Ranges", "bytes");
    ash__answer_field(x, "Cache-Control", "no-cache");
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    ash__answer_field(x, "Content-Security-Policy", "sandbox; default-src 'none'");
    switch (ash__http_condition_check(x->head, x->method, &now)) {
    case 0:
        send_range(x, s, &now);
        break;
    case 304:
        ash__answer_empty(x, 304);
        break;
    default:
        ash__answer_text(x, 412, "it is not what the request's conditions want it to be");
    }
}
