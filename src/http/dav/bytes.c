/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/bytes.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/resource.h"
#include "http/dav/sums.h"

#include <stdio.h>
#include <string.h>

enum { BOUNDARY_BYTES = 24 };

typedef struct sending {
    ash_tree *tree;
    ash_tree_entry *entry;
    ash_tree_reader *reader;
    ash_range ranges[ASH_MAX_RANGES];
    int count; /* of ranges; 1 for the whole file as well */
    int at;    /* which is being sent */
    int64_t left;
    bool parts; /* multipart/byteranges */
    char boundary[BOUNDARY_BYTES + 1];
} sending;

static void release(ash_exchange *x)
{
    sending *s = x->state;
    ash_tree_reader_free(s->reader);
    ash_tree_entry_free(s->entry);
    ash__free(s);
}

/* ---- fields ---- */

/* What a user put here must not act as this server's own page: no scripts, no forms, no way to read
 * other files, even for a document that is opened by itself. */
static const char sandbox[] =
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; "
    "style-src 'unsafe-inline'";

void ash__dav_disposition(ash_exchange *x, const char *how, const char *name)
{
    ash_buffer plain = ASH_BUFFER_INIT, encoded = ASH_BUFFER_INIT;
    for (const char *at = name; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        ash__buffer_append_byte(
            &plain, c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '%' ? '_' : c);
    }
    ash__http_target_encode(&encoded, name);
    ash__answer_field(x, "Content-Disposition", "%s; filename=\"%s\"; filename*=UTF-8''%s", how,
                      ash__buffer_text(&plain), ash__buffer_text(&encoded));
    ash__buffer_release(&plain);
    ash__buffer_release(&encoded);
}

static void add_digest(ash_exchange *x, const ash_tree_entry *e)
{
    const char *hex = ash_tree_entry_digest(e);
    size_t len = strlen(hex) / 2;
    uint8_t bytes[32];
    if ((len != 32 && len != 20) || !ash__hex_read(hex, len, bytes))
        return;
    char *text = ash__dav_base64(bytes, len);
    /* RFC 9530; and what Nextcloud's clients look for. */
    ash__answer_field(x, "Repr-Digest", "%s=:%s:", len == 32 ? "sha-256" : "sha", text);
    ash__answer_field(x, "OC-Checksum", "%s:%s", len == 32 ? "SHA256" : "SHA1", hex);
    ash__free(text);
}

static void add_fields(ash_exchange *x, const ash_tree_entry *e, const ash_validators *now)
{
    char date[ASH_DATE_BYTES];
    ash__date_http(date, now->modified_ms);
    ash__answer_field(x, "ETag", "%s", now->etag);
    ash__answer_field(x, "Last-Modified", "%s", date);
    ash__answer_field(x, "Accept-Ranges", "bytes");
    ash__answer_field(x, "Cache-Control", "no-cache");
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    ash__answer_field(x, "Content-Security-Policy", "%s", sandbox);
    add_digest(x, e);
    if (ash__http_target_flag(&x->target, "download"))
        ash__dav_disposition(x, "attachment", ash_tree_entry_name(e));
}

/* ---- parts ---- */

static void part_head(const sending *s, ash_buffer *out, int part)
{
    const ash_range *r = &s->ranges[part];
    ash__buffer_printf(
        out, "%s--%s\r\nContent-Type: %s\r\nContent-Range: bytes %lld-%lld/%lld\r\n\r\n",
        part > 0 ? "\r\n" : "", s->boundary, ash__dav_type(s->entry), (long long)r->start,
        (long long)r->end - 1, (long long)ash_tree_entry_length(s->entry));
}

static void part_end(const sending *s, ash_buffer *out)
{
    ash__buffer_printf(out, "\r\n--%s--\r\n", s->boundary);
}

static int64_t length_of_parts(const sending *s)
{
    ash_buffer text = ASH_BUFFER_INIT;
    int64_t sum = 0;
    for (int i = 0; i < s->count; i++) {
        part_head(s, &text, i);
        sum += s->ranges[i].end - s->ranges[i].start;
    }
    part_end(s, &text);
    sum += (int64_t)text.len;
    ash__buffer_release(&text);
    return sum;
}

/* ---- bytes ---- */

static int open_range(sending *s, ash_error *err)
{
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    const ash_range *r = &s->ranges[s->at];
    ash_tree_reader_free(s->reader);
    s->reader = NULL;
    s->left = r->end - r->start;
    o.start = r->start;
    o.end = r->end;
    /* An end of 0 is the file's, and an empty range is not to be had otherwise. */
    return ash_tree_open_entry(s->tree, s->entry, &o, NULL, &s->reader, err);
}

static int fail(ash_exchange *x, const ash_error *err)
{
    sending *s = x->state;
    ash__log(ASH_LOG_ERROR, "%s: %s", ash_tree_entry_path(s->entry), err->text);
    return err->code;
}

static int more(ash_exchange *x, ash_buffer *out)
{
    sending *s = x->state;
    ash_error err = ASH_ERROR_INIT;
    size_t got = 0;
    if (s->left == 0) {
        s->at += s->reader != NULL;
        if (open_range(s, &err) != 0)
            return fail(x, &err);
        if (s->parts)
            part_head(s, out, s->at);
    }
    size_t want = s->left < ASH_PIECE_BYTES ? (size_t)s->left : ASH_PIECE_BYTES;
    ash__buffer_reserve(out, want + 1);
    /* One byte more than is left: the end is where the digest is compared. */
    bool last_of_range = (int64_t)want == s->left;
    for (size_t n = 0; n < want; n += got)
        if (ash_tree_reader_read(s->reader, out->data + out->len, want - n, &got, &err) != 0 ||
            got == 0)
            return got == 0 && err.code == 0 ? ASH_ECORRUPT : fail(x, &err);
        else
            out->len += got;
    s->left -= (int64_t)want;
    if (last_of_range && ash_tree_reader_read(s->reader, out->data + out->len, 1, &got, &err) != 0)
        return fail(x, &err);
    if (s->left > 0 || s->at + 1 < s->count)
        return ASH_MORE_TO_COME;
    if (s->parts)
        part_end(s, out);
    return ASH_MORE_LAST;
}

/* The first piece goes with the head; and a file that cannot be read from its beginning is told by
 * status. */
static void send_body(ash_exchange *x, int status, const char *type, int64_t length)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = length == 0 || x->is_head ? ASH_MORE_LAST : more(x, &x->body);
    if (rc < 0) {
        ash__buffer_clear(&x->body);
        ash__buffer_clear(&x->fields);
        ash__fail(&err, ASH_ECORRUPT,
                  "the file is damaged and cannot be read; `ashlar tree check` says more");
        ash__answer_error(x, &err);
        return;
    }
    x->more = more;
    ash__answer_stream(x, status, type, length);
    x->is_streamed = rc != ASH_MORE_LAST;
}

static void send_ranges(ash_exchange *x, sending *s)
{
    int64_t length = ash_tree_entry_length(s->entry);
    uint8_t random[BOUNDARY_BYTES / 2];
    char type[80];
    if (s->count == 1) {
        ash__answer_field(x, "Content-Range", "bytes %lld-%lld/%lld", (long long)s->ranges[0].start,
                          (long long)s->ranges[0].end - 1, (long long)length);
        send_body(x, 206, ash__dav_type(s->entry), s->ranges[0].end - s->ranges[0].start);
        return;
    }
    s->parts = true;
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, s->boundary);
    snprintf(type, sizeof type, "multipart/byteranges; boundary=%s", s->boundary);
    send_body(x, 206, type, length_of_parts(s));
}

void ash__dav_send_file(ash_exchange *x, ash_tree *tree, ash_tree_entry *entry)
{
    sending *s = ash__new(sending);
    char etag[ASH_ETAG_BYTES];
    ash_validators now;
    int64_t length = ash_tree_entry_length(entry);
    s->tree = tree;
    s->entry = entry;
    x->state = s;
    x->release = release;
    ash__dav_validators(entry, etag, &now);
    int status = ash__condition_check(x->head, x->method, &now);
    if (status == 412) {
        ash__answer_text(x, 412, "the file is not what the request's conditions want it to be");
        return;
    }
    add_fields(x, entry, &now);
    if (status == 304) {
        ash__answer_empty(x, 304);
        return;
    }
    s->count = ash__ranges(x->head, length, &now, s->ranges);
    if (s->count < 0) {
        ash__answer_field(x, "Content-Range", "bytes */%lld", (long long)length);
        ash__answer_text(x, 416, "the file has %lld bytes", (long long)length);
    } else if (s->count > 0) {
        send_ranges(x, s);
    } else {
        s->count = 1;
        s->ranges[0] = (ash_range){0, length};
        send_body(x, 200, ash__dav_type(entry), length);
    }
}
