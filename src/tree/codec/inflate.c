/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/codec/inflate.h"

#include "base/mem.h"

#include <limits.h>

#define ZLIB_CONST
#include <zlib.h>

enum { LEVEL = 9, WINDOW_BITS = 15, GZIP = 16, MEMORY_LEVEL = 8, STEP_BYTES = 65536 };

struct ash_inflater {
    z_stream stream;
    uint64_t left_bytes; /* that may still come out */
    bool ready;          /* zlib has its memory */
    bool ended;
    ash_deflate_form form;
};

static int window_bits(ash_deflate_form form)
{
    return form == ASH_DEFLATE_RAW ? -WINDOW_BITS : WINDOW_BITS + GZIP;
}

static uInt at_most_uint(size_t len)
{
    return len < UINT_MAX ? (uInt)len : UINT_MAX;
}

int ash__deflate(ash_deflate_form form, const void *content, size_t len_bytes, ash_buffer *out,
                 ash_error *err)
{
    z_stream s = {.next_in = content};
    size_t left = len_bytes;
    int rc = deflateInit2(&s, LEVEL, Z_DEFLATED, window_bits(form), MEMORY_LEVEL, 0);
    if (rc != Z_OK)
        return ash__fail(err, ASH_ENOMEM, "no memory to compress a content");
    while (rc == Z_OK) {
        if (s.avail_in == 0) {
            s.avail_in = at_most_uint(left);
            left -= s.avail_in;
        }
        ash__buffer_reserve(out, STEP_BYTES);
        s.next_out = out->data + out->len;
        s.avail_out = STEP_BYTES;
        rc = deflate(&s, left == 0 ? Z_FINISH : Z_NO_FLUSH);
        out->len += STEP_BYTES - s.avail_out;
    }
    deflateEnd(&s);
    ash_assert(rc == Z_STREAM_END);
    return 0;
}

ash_inflater *ash__inflater_new(ash_deflate_form form, uint64_t max_bytes)
{
    ash_inflater *i = ash__new(ash_inflater);
    i->left_bytes = max_bytes;
    i->form = form;
    return i;
}

void ash__inflater_free(ash_inflater *i)
{
    if (i == NULL)
        return;
    if (i->ready)
        inflateEnd(&i->stream);
    ash__free(i);
}

static int fail_corrupt(const ash_inflater *i, const char *what, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "%s content: %s",
                     i->form == ASH_DEFLATE_RAW ? "deflated" : "gzipped", what);
}

static int get_ready(ash_inflater *i, ash_error *err)
{
    if (!i->ready && inflateInit2(&i->stream, window_bits(i->form)) != Z_OK)
        return ash__fail(err, ASH_ENOMEM, "no memory to unpack a content");
    i->ready = true;
    return 0;
}

/* What may come out and does not is found by one byte of room more than the limit. */
static int step(ash_inflater *i, ash_error *err)
{
    uint8_t beyond;
    uInt room = i->stream.avail_out;
    bool at_limit = i->left_bytes == 0 && room > 0;
    if (at_limit) {
        i->stream.next_out = &beyond;
        i->stream.avail_out = 1;
    } else if (room > i->left_bytes)
        i->stream.avail_out = (uInt)i->left_bytes;
    uInt given = i->stream.avail_out;
    int rc = inflate(&i->stream, Z_NO_FLUSH);
    uInt made = given - i->stream.avail_out;
    i->stream.avail_out = at_limit ? room : room - made;
    if (rc == Z_MEM_ERROR)
        return ash__fail(err, ASH_ENOMEM, "no memory to unpack a content");
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return fail_corrupt(i, i->stream.msg == NULL ? "cannot be read" : i->stream.msg, err);
    if (at_limit && made > 0)
        return ash__fail(err, ASH_ETOOBIG, "a content unpacks to more than was allowed");
    i->left_bytes -= made;
    i->ended = rc == Z_STREAM_END;
    return 0;
}

int ash__inflater_feed(ash_inflater *i, const void *in, size_t *in_len, void *out, size_t *out_len,
                       ash_error *err)
{
    uInt given_in = at_most_uint(*in_len), given_out = at_most_uint(*out_len);
    size_t all_in = *in_len;
    *in_len = *out_len = 0;
    if (i->ended)
        return all_in == 0 ? 0 : fail_corrupt(i, "goes on behind its end", err);
    int rc = get_ready(i, err);
    i->stream.next_in = in;
    i->stream.avail_in = given_in;
    i->stream.next_out = out;
    i->stream.avail_out = given_out;
    uInt before_in = 0, before_out = 0;
    while (rc == 0 && !i->ended && i->stream.avail_out > 0 &&
           (before_in != i->stream.avail_in || before_out != i->stream.avail_out)) {
        before_in = i->stream.avail_in;
        before_out = i->stream.avail_out;
        rc = step(i, err);
    }
    *in_len = given_in - i->stream.avail_in;
    *out_len = given_out - i->stream.avail_out;
    if (rc == 0 && i->ended && *in_len < all_in)
        rc = fail_corrupt(i, "goes on behind its end", err);
    return rc;
}

int ash__inflater_finish(const ash_inflater *i, ash_error *err)
{
    return i->ended ? 0 : fail_corrupt(i, "is cut off", err);
}

int ash__inflate(ash_deflate_form form, const void *packed, size_t len_bytes, uint64_t max_bytes,
                 ash_buffer *out, ash_error *err)
{
    const uint8_t *in = packed;
    size_t made = STEP_BYTES;
    int rc = 0;
    ash_inflater *i = ash__inflater_new(form, max_bytes);
    while (rc == 0 && (len_bytes > 0 || made == STEP_BYTES)) {
        size_t used = len_bytes;
        made = STEP_BYTES;
        ash__buffer_reserve(out, STEP_BYTES);
        rc = ash__inflater_feed(i, in, &used, out->data + out->len, &made, err);
        in += used;
        len_bytes -= used;
        out->len += made;
    }
    if (rc == 0)
        rc = ash__inflater_finish(i, err);
    ash__inflater_free(i);
    return rc;
}
