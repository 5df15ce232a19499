/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/source.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "tree/codec/inflate.h"

#include <string.h>

/* What has to be unpacked: deflate and gzip as they go, zstd frames whole. */

enum { INPUT_BYTES = 64 * 1024, DECODES_MAX = 1000 };

/* ---- inflating ---- */

typedef struct inflate_source {
    ash_source head;
    ash_source *inner;
    ash_deflate_form form;
    ash_inflater *inflater;
    uint8_t *input; /* INPUT_BYTES */
    size_t input_at, input_len;
    bool input_ended;
} inflate_source;

static int start_inflating(inflate_source *s, ash_error *err)
{
    uint64_t most = s->head.length >= 0 ? (uint64_t)s->head.length : INT64_MAX;
    ash__inflater_free(s->inflater);
    s->inflater = ash__inflater_new(s->form, most);
    s->input_at = s->input_len = 0;
    s->input_ended = false;
    s->head.position = 0;
    return ash__source_seek(s->inner, 0, err);
}

static int fill_input(inflate_source *s, ash_error *err)
{
    if (s->input_at < s->input_len || s->input_ended)
        return 0;
    s->input_at = 0;
    int rc = ash__source_read(s->inner, s->input, INPUT_BYTES, &s->input_len, err);
    s->input_ended = rc == 0 && s->input_len == 0;
    return rc;
}

/* More than the size that is known is damage: nobody asked for it. */
static int say_too_long(int rc, ash_error *err)
{
    return rc == ASH_ETOOBIG ? ash__fail(err, ASH_ECORRUPT, "unpacks to more than its size") : rc;
}

static int inflate_read(ash_source *source, uint8_t *buf, size_t len, size_t *got, ash_error *err)
{
    inflate_source *s = (inflate_source *)source;
    int rc = 0;
    while (rc == 0 && *got == 0) {
        rc = fill_input(s, err);
        if (rc != 0)
            return rc;
        size_t in_len = s->input_len - s->input_at, out_len = len;
        rc = ash__inflater_feed(s->inflater, s->input + s->input_at, &in_len, buf, &out_len, err);
        s->input_at += in_len;
        *got = rc == 0 ? out_len : 0;
        source->fetch->unpacked += (int64_t)*got;
        if (rc == 0 && out_len == 0 && s->input_ended) {
            rc = ash__inflater_finish(s->inflater, err);
            if (rc == 0 && source->length >= 0 && source->position != source->length)
                rc = ash__fail(err, ASH_ECORRUPT, "unpacks to less than its size");
            break;
        }
    }
    return say_too_long(rc, err);
}

/* Forward by reading, backward by beginning again. */
static int inflate_seek(ash_source *source, int64_t position, ash_error *err)
{
    inflate_source *s = (inflate_source *)source;
    uint8_t waste[4096];
    int rc = position < source->position ? start_inflating(s, err) : 0;
    while (rc == 0 && source->position < position) {
        int64_t left = position - source->position;
        size_t got = 0;
        rc = ash__fetch_go_on(source->fetch, err);
        if (rc == 0)
            rc = ash__source_read(source, waste, left < 4096 ? (size_t)left : sizeof waste, &got,
                                  err);
        if (rc == 0 && got == 0)
            rc = ash__fail(err, ASH_ECORRUPT, "ends too early");
    }
    return rc;
}

static void inflate_free(ash_source *source)
{
    inflate_source *s = (inflate_source *)source;
    ash__inflater_free(s->inflater);
    ash__source_free(s->inner);
    ash__free(s->input);
    ash__free(s);
}

static const ash_source_ops inflate_ops = {inflate_read, inflate_seek, inflate_free};

int ash__source_of_inflate(ash_fetch *f, ash_form_kind kind, int64_t size, ash_source *inner,
                           ash_source **out, ash_error *err)
{
    inflate_source *s = ash__new(inflate_source);
    s->head = (ash_source){.ops = &inflate_ops, .fetch = f, .id = inner->id, .length = size};
    s->inner = inner;
    s->form = kind == ASH_FORM_GZIP ? ASH_DEFLATE_GZIP : ASH_DEFLATE_RAW;
    s->input = ash__alloc(INPUT_BYTES);
    int rc = start_inflating(s, err);
    if (rc == 0)
        *out = &s->head;
    else
        inflate_free(&s->head);
    return rc;
}

/* ---- entries of zip archives ---- */

typedef struct window_source {
    ash_source head;
    ash_source *inner;
    int64_t start;
} window_source;

static int window_read(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err)
{
    window_source *w = (window_source *)s;
    int64_t left = s->length - s->position;
    if (left <= 0)
        return 0;
    int rc = ash__source_seek(w->inner, w->start + s->position, err);
    return rc == 0
               ? ash__source_read(w->inner, buf, (int64_t)len < left ? len : (size_t)left, got, err)
               : rc;
}

static int window_seek(ash_source *s, int64_t position, ash_error *err)
{
    (void)s, (void)position, (void)err;
    return 0;
}

static void window_free(ash_source *s)
{
    ash__source_free(((window_source *)s)->inner);
    ash__free(s);
}

static const ash_source_ops window_ops = {window_read, window_seek, window_free};

static ash_source *window_of(ash_source *inner, int64_t start, int64_t length)
{
    window_source *w = ash__new(window_source);
    w->head =
        (ash_source){.ops = &window_ops, .fetch = inner->fetch, .id = inner->id, .length = length};
    w->inner = inner;
    w->start = start;
    return &w->head;
}

/* An entry begins with its local header: signature, method at 8, lengths of name and extra field
 * at 26 and 28; then come the bytes (APPNOTE 4.3.7). */
static int read_local_header(ash_source *archive, const ash_form_part *part, int64_t *start,
                             int *method, ash_error *err)
{
    uint8_t h[30];
    int rc = ash__source_seek(archive, part->off, err);
    if (rc == 0)
        rc = ash__source_read_all(archive, h, sizeof h, err);
    if (rc != 0)
        return rc;
    *method = h[8] | h[9] << 8;
    *start = part->off + 30 + (h[26] | h[27] << 8) + (h[28] | h[29] << 8);
    if (memcmp(h, "PK\3\4", 4) != 0 || *start > part->end)
        return ash__fail(err, ASH_ECORRUPT, "has no zip entry where one is said to be");
    if (*method != 0 && *method != 8)
        return ash__fail(err, ASH_EUNSUPPORTED, "zip method %d is not known here", *method);
    return 0;
}

int ash__source_of_zip(ash_fetch *f, const ash_form_part *part, ash_source **out, ash_error *err)
{
    ash_source *archive = NULL;
    int64_t start = 0;
    int method = 0;
    int rc = ash__source_open(f, &part->id, &archive, err);
    if (rc == 0)
        rc = read_local_header(archive, part, &start, &method, err);
    if (rc != 0) {
        ash__source_free(archive);
        return rc;
    }
    if (method == 0) {
        *out = window_of(archive, start, part->len);
        return 0;
    }
    return ash__source_of_inflate(f, ASH_FORM_DEFLATE, part->len,
                                  window_of(archive, start, part->end - start), out, err);
}

/* ---- frames ---- */

static int append_part(ash_fetch *f, const ash_form_part *part, uint8_t *to, ash_error *err)
{
    ash_source *s = NULL;
    int rc = 0;
    if (part->id.len == 0)
        s = ash__source_memory(f, part->bytes, part->bytes_len, part->off + part->len);
    else if (part->zipped)
        return ash__fail(err, ASH_ECORRUPT, "stands on an entry of an archive");
    else
        rc = ash__source_open(f, &part->id, &s, err);
    if (rc == 0)
        rc = ash__source_seek(s, part->off, err);
    if (rc == 0)
        rc = ash__source_read_all(s, to, (size_t)part->len, err);
    ash__source_free(s);
    return rc;
}

/* The common case: all of one content, which is remembered as it is. */
static bool is_one_whole(const ash_form_part *p, size_t count)
{
    return count == 1 && p->id.len != 0 && p->off == 0 && !p->zipped &&
           p->len <= ASH_CONTENT_WHOLE_MAX;
}

static int gather(ash_fetch *f, const ash_form_part *parts, size_t count, ash_blob *out,
                  ash_error *err)
{
    uint8_t *to = out->data;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = append_part(f, &parts[i], to, err);
        to += parts[i].len;
    }
    return rc;
}

int ash__fetch_parts(ash_fetch *f, const ash_form_part *parts, size_t count, ash_blob **out,
                     ash_error *err)
{
    int64_t sum = 0;
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        sum += parts[i].len;
    if (is_one_whole(parts, count)) {
        rc = ash__fetch_whole(f, &parts[0].id, out, err);
        if (rc == 0 && (int64_t)(*out)->len == sum)
            return 0;
        ash__blob_release(*out);
        *out = NULL;
        if (rc != 0 && rc != ASH_ETOOBIG) /* it is the beginning of something long */
            return rc;
    }
    if (sum > ASH_GATHERED_BYTES_MAX - f->gathered)
        return ash__fail(err, ASH_ECORRUPT, "stands on more bytes at once than anybody reads");
    f->gathered += sum;
    *out = ash__blob_new((size_t)sum, err);
    rc = *out != NULL ? gather(f, parts, count, *out, err) : ASH_ENOMEM;
    f->gathered -= sum;
    if (rc != 0) {
        ash__blob_release(*out);
        *out = NULL;
    }
    return rc;
}

static int decode(ash_fetch *f, const ash_form *form, ash_source *frame, const ash_blob *prefix,
                  ash_blob **out, ash_error *err)
{
    ash_span before = {NULL, 0};
    ash_blob *packed = ash__blob_new((size_t)form->stored, err);
    *out = packed != NULL ? ash__fetch_blob(f, (size_t)form->size, err) : NULL;
    int rc =
        *out != NULL ? ash__source_read_all(frame, packed->data, packed->len, err) : ASH_ENOMEM;
    if (f->zstd == NULL)
        f->zstd = ash__zstd_new();
    if (prefix != NULL)
        before = (ash_span){prefix->data, prefix->len};
    if (rc == 0)
        rc = ash__zstd_decode(f->zstd, before, (ash_span){packed->data, packed->len}, (*out)->data,
                              (*out)->len, err);
    ash__blob_release(packed);
    if (rc != 0) {
        ash__blob_release(*out);
        *out = NULL;
    }
    return rc;
}

/* How often something is decoded for one content is bounded, and not only how deep: each of two
 * that stand on the same two, and so on, would double it. */
int ash__decode_frame(ash_fetch *f, const ash_form *form, ash_source *frame, ash_blob **out,
                      ash_error *err)
{
    ash_blob *prefix = NULL;
    int rc = 0;
    if (f->delta_level == 0)
        f->decodes = 0;
    if (f->delta_level >= ASH_DELTA_LEVELS_MAX || ++f->decodes > DECODES_MAX)
        return ash__fail(err, ASH_ECORRUPT, "stands on more deltas than anybody makes");
    f->delta_level++;
    f->unpacked += form->size;
    if (form->part_count > 0)
        rc = ash__fetch_parts(f, form->parts, form->part_count, &prefix, err);
    if (rc == 0)
        rc = decode(f, form, frame, prefix, out, err);
    f->delta_level--;
    ash__fetch_recycle(f, prefix);
    return rc;
}
