/* SPDX-License-Identifier: Apache-2.0 */
#include "http/squeeze.h"

#include "base/mem.h"

#include <string.h>
#include <zlib.h>

/* 48 KiB for each answer that is under way, a quarter of zlib's usual, for a tenth more bytes. */
enum { LEVEL = 1, WINDOW_BITS = 13, GZIP = 16, MEM_LEVEL = 5, STEP = 16 * 1024 };

typedef struct squeezing {
    z_stream z;
    ash_buffer plain;
    /* Of who answers. */
    void *state;
    int (*more)(ash_exchange *x, ash_buffer *out);
    void (*release)(ash_exchange *x);
} squeezing;

static void squeeze(squeezing *s, const ash_buffer *in, ash_buffer *out, int flush)
{
    unsigned char step[STEP];
    int rc = Z_OK;
    s->z.next_in = (unsigned char *)(uintptr_t)in->data;
    s->z.avail_in = (unsigned)in->len;
    do {
        s->z.next_out = step;
        s->z.avail_out = sizeof step;
        rc = deflate(&s->z, flush);
        ash__buffer_append(out, step, sizeof step - s->z.avail_out);
    } while (rc == Z_OK && s->z.avail_out == 0);
}

/* A piece of which nothing comes out yet is not the last. */
static int more(ash_exchange *x, ash_buffer *out)
{
    squeezing *s = x->state;
    ash__buffer_clear(&s->plain);
    x->state = s->state;
    int rc = s->more(x, &s->plain);
    x->state = s;
    if (rc >= 0)
        squeeze(s, &s->plain, out,
                rc == ASH_MORE_LAST    ? Z_FINISH
                : rc == ASH_MORE_LATER ? Z_SYNC_FLUSH
                                       : Z_NO_FLUSH);
    return rc;
}

static void release(ash_exchange *x)
{
    squeezing *s = x->state;
    (void)deflateEnd(&s->z);
    ash__buffer_release(&s->plain);
    x->state = s->state;
    if (s->release != NULL)
        s->release(x);
    ash__free(s);
}

/* A proxy on this machine speaks for somebody elsewhere. */
static bool is_far(const ash_exchange *x)
{
    return !x->is_local || ash__head_field(x->head, "X-Forwarded-For") != NULL ||
           ash__head_field(x->head, "Forwarded") != NULL;
}

void ash__answer_squeezed(ash_exchange *x)
{
    ash_assert(x->is_streamed && x->length < 0);
    if (!is_far(x))
        return;
    ash__answer_field(x, "Vary", "Accept-Encoding");
    if (x->is_head || !ash__head_has_word(x->head, "Accept-Encoding", "gzip"))
        return;
    squeezing *s = ash__new(squeezing);
    if (deflateInit2(&s->z, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP, MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        ash__free(s); /* it goes as it is */
        return;
    }
    s->state = x->state;
    s->more = x->more;
    s->release = x->release;
    x->state = s;
    x->more = more;
    x->release = release;
    ash__answer_field(x, "Content-Encoding", "gzip");
    /* What is there of it already. */
    ash_buffer first = x->body;
    x->body = (ash_buffer)ASH_BUFFER_INIT;
    squeeze(s, &first, &x->body, Z_NO_FLUSH);
    ash__buffer_release(&first);
}
