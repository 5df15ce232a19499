/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a file, as sabre/dav defined it: the new version is the old one with the body in the
 * place of what it covers.  All of it is stored as one version, of which the pieces that are the same
 * take no room. */
#include "base/mem.h"
#include "http/dav/upload.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct patch {
    ash_dav_upload upload;
    int64_t old_length;
    int64_t start, end; /* what the body covers; end -1: as much as comes */
    int64_t taken;
} patch;

static void release(ash_exchange *x)
{
    patch *p = x->state;
    ash__dav_upload_release(&p->upload);
    ash__free(p);
}

/* So much of the old version. */
static int keep(patch *p, const ash_op *op, int64_t start, int64_t end, ash_error *err)
{
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    ash_tree_reader *r = NULL;
    size_t got = 1;
    if (start >= end)
        return 0;
    o.start = start;
    o.end = end;
    uint8_t *piece = ash__alloc(ASH_PIECE_BYTES);
    int rc = ash_tree_open_entry(p->upload.dav->tree, p->upload.guard.entry, &o, op, &r, err);
    while (rc == 0 && got > 0) {
        rc = ash_tree_reader_read(r, piece, ASH_PIECE_BYTES, &got, err);
        if (rc == 0 && got > 0)
            rc = ash_tree_writer_write(p->upload.writer, piece, got, err);
    }
    ash_tree_reader_free(r);
    ash__free(piece);
    return rc;
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    patch *p = x->state;
    ash_error err = ASH_ERROR_INIT;
    p->taken += (int64_t)len;
    if (p->end >= 0 && p->taken > p->end - p->start)
        ash__answer_text(x, 400, "the body is longer than the range that it is for");
    else if (ash_tree_writer_write(p->upload.writer, data, len, &err) != 0)
        ash__dav_answer_change(x, &err);
}

static void finish(ash_exchange *x)
{
    patch *p = x->state;
    ash_error err = ASH_ERROR_INIT;
    if (p->end >= 0 && p->taken != p->end - p->start) {
        ash__answer_text(x, 400, "the body is shorter than the range that it is for");
        return;
    }
    if (keep(p, x->op, p->start + p->taken, p->old_length, &err) != 0)
        ash__dav_answer_change(x, &err);
    else
        ash__dav_upload_finish(&p->upload, x);
}

static bool read_number(const char **at, int64_t *out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoll(*at, &end, 10);
    *at = end;
    return *out < INT64_MAX - 1;
}

/* "append", "bytes=0-99", "bytes=100-", "bytes=-10" (the last ten). */
static bool read_range(patch *p, const char *text)
{
    int64_t last;
    p->end = -1;
    if (strcasecmp(text, "append") == 0) {
        p->start = p->old_length;
        return true;
    }
    if (strncasecmp(text, "bytes=", 6) != 0)
        return false;
    text += 6;
    if (*text == '-') {
        text++;
        if (!read_number(&text, &last) || *text != '\0')
            return false;
        p->start = last < p->old_length ? p->old_length - last : 0;
        return true;
    }
    if (!read_number(&text, &p->start) || *text++ != '-')
        return false;
    if (*text == '\0')
        return true;
    if (!read_number(&text, &last) || *text != '\0' || last < p->start)
        return false;
    p->end = last + 1;
    return true;
}

/* How long the file will be; -1: nobody knows. */
static int64_t new_length(const patch *p, const ash_exchange *x)
{
    if (x->body_length < 0)
        return -1;
    int64_t end = p->start + x->body_length;
    return end > p->old_length ? end : p->old_length;
}

/* What is before the body is written at once.  false: x is answered. */
static bool begin_patch(patch *p, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    if (!ash__dav_upload_begin(&p->upload, x, new_length(p, x)))
        return false;
    if (keep(p, x->op, 0, p->start, &err) == 0)
        return true;
    ash__dav_answer_change(x, &err);
    return false;
}

/* false: x is answered. */
static bool check_patch(patch *p, ash_exchange *x, const char *range)
{
    const ash_tree_entry *old = p->upload.guard.entry;
    if (old == NULL) {
        ash__answer_text(x, 404, "there is no %s", p->upload.path);
        return false;
    }
    p->old_length = ash_tree_entry_length(old);
    if (!read_range(p, range)) {
        ash__answer_text(
            x, 400, "X-Update-Range is \"append\", \"bytes=A-B\", \"bytes=A-\" or \"bytes=-N\"");
        return false;
    }
    if (p->start > p->old_length) {
        ash__answer_field(x, "Content-Range", "bytes */%lld", (long long)p->old_length);
        ash__answer_text(x, 416, "the file has only %lld bytes", (long long)p->old_length);
        return false;
    }
    return true;
}

void ash__dav_patch(ash_dav *dav, ash_exchange *x, const char *path)
{
    const char *range = ash__head_field(x->head, "X-Update-Range");
    const char *digest = ash__head_field(x->head, "X-Recalculate-Hash");
    if (digest != NULL && range == NULL) {
        ash__dav_recalculate(dav, x, path, digest);
        return;
    }
    if (range == NULL) {
        ash__answer_field(x, "Accept-Patch", "%s", ASH_DAV_PATCH_TYPE);
        ash__answer_text(x, 415, "PATCH needs X-Update-Range, and takes the bytes for it");
        return;
    }
    patch *p = ash__new(patch);
    x->state = p;
    x->release = release;
    if (!ash__dav_upload_look(&p->upload, dav, x, path) || !check_patch(p, x, range))
        return;
    /* What is put together is of the version that was looked at, and of no other; and the body's
     * type is not the file's. */
    p->upload.opts.if_version = ash_tree_entry_version(p->upload.guard.entry);
    p->upload.opts.content_type = NULL;
    if (!begin_patch(p, x))
        return;
    x->take = take;
    x->finish = finish;
}
