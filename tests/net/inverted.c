/* SPDX-License-Identifier: Apache-2.0 */
#include "inverted.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

typedef struct inverted {
    const ash_stream_ops *plain;
    unsigned calls;
    uint8_t kept[4096];
    size_t at, end;
    atomic_int *released;
} inverted;

void invert(void *data, size_t len)
{
    uint8_t *bytes = data;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)~bytes[i];
}

static ssize_t receive_inverted(ash_stream *s, void *data, size_t room)
{
    inverted *v = s->state;
    if (v->at == v->end) {
        ssize_t n = v->plain->receive(s, v->kept, sizeof v->kept);
        if (n < 0)
            return n;
        v->at = 0;
        v->end = (size_t)n;
        invert(v->kept, v->end);
    }
    size_t n = v->end - v->at < room ? v->end - v->at : room;
    memcpy(data, v->kept + v->at, n);
    v->at += n;
    return (ssize_t)n;
}

/* As TLS, it takes one record at a time. */
static ssize_t send_inverted(ash_stream *s, const struct iovec *iov, size_t count)
{
    inverted *v = s->state;
    uint8_t record[1000];
    size_t first = 0;
    if (++v->calls % 3 == 0)
        return ASH_STREAM_WANTS_WRITE;
    while (first < count && iov[first].iov_len == 0)
        first++;
    if (first == count)
        return 0;
    size_t len = iov[first].iov_len < sizeof record ? iov[first].iov_len : sizeof record;
    memcpy(record, iov[first].iov_base, len);
    invert(record, len);
    struct iovec one = {.iov_base = record, .iov_len = len};
    return v->plain->send(s, &one, 1);
}

static bool holds_inverted(const ash_stream *s)
{
    const inverted *v = s->state;
    return v->at < v->end;
}

static void release_inverted(ash_stream *s)
{
    inverted *v = s->state;
    if (v->released != NULL)
        atomic_fetch_add(v->released, 1);
    ash__free(v);
}

static const ash_stream_ops ops = {.receive = receive_inverted,
                                   .send = send_inverted,
                                   .holds = holds_inverted,
                                   .release = release_inverted};

int inverted_wrap(void *ctx, ash_stream *stream, ash_error *err)
{
    inverted *v = ash__new(inverted);
    (void)err;
    v->plain = stream->ops;
    v->released = ctx;
    stream->ops = &ops;
    stream->state = v;
    return 0;
}
