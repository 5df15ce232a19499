/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/bytes.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/resource.h"
#include "http/dav/sums.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { BOUNDARY_BYTES = 24 };

typedef struct sending {
    ash_dav *dav;
    const ash_tree_entry *entry;
    ash_tree_entry *own;          /* the same; or NULL */
    const ash_op *op;             /* who asks */
    ash_kept_file *kept;          /* whose the entry is, and the bytes; or NULL */
    const ash_kept_facts *keep;   /* while the answer begins; or NULL */
    size_t fields_at, fields_len; /* of the file, among the answer's */
    ash_tree_reader *reader;
    bool begun; /* with the first range */
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
    ash_tree_entry_free(s->own);
    ash__kept_file_release(s->kept);
    ash__free(s);
}

/* ---- fields ---- */

/* What a user put here must not act as this server's own page: no scripts, no forms, no way to read
 * other files, even for a document that is opened by itself. */
static const char sandbox[] =
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; "
    "style-src 'unsafe-inline'";

/* RFC 8187 §3.2.1: fewer characters stay than in a path. */
static void encode_value(ash_buffer *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        bool stays = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     strchr("!#$&+-.^_`|~", c) != NULL;
        ash__buffer_printf(out, stays ? "%c" : "%%%02X", c);
    }
}

void ash__dav_disposition(ash_exchange *x, const char *how, const char *name)
{
    ash_buffer plain = ASH_BUFFER_INIT, encoded = ASH_BUFFER_INIT;
    for (const char *at = name; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        bool odd = c < 0x20 || c >= 0x7f || strchr("\"\\%", c) != NULL;
        ash__buffer_append_byte(&plain, odd ? '_' : c);
    }
    encode_value(&encoded, name);
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

static void describe(ash_exchange *x, const ash_tree_entry *e, const ash_validators *now)
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
}

static void add_fields(ash_exchange *x, sending *s, const ash_validators *now)
{
    s->fields_at = x->fields.len;
    if (s->kept != NULL)
        ash__buffer_append(&x->fields, s->kept->fields, s->kept->fields_len);
    else
        describe(x, s->entry, now);
    s->fields_len = x->fields.len - s->fields_at;
    if (ash__http_target_flag(&x->target, "download"))
        ash__dav_disposition(x, "attachment", ash_tree_entry_name(s->entry));
}

/* ---- parts ---- */

static void part_head(const sending *s, ash_buffer *out, int part)
{
    const ash_range *r = &s->ranges[part];
    ash__buffer_printf(out, "%s--%s\r\nContent-Type: ", part > 0 ? "\r\n" : "", s->boundary);
    /* As in a head, a line break would begin another field. */
    for (const char *at = ash__dav_type(s->entry); *at != '\0'; at++)
        if ((unsigned char)*at >= 0x20)
            ash__buffer_append_byte(out, (uint8_t)*at);
    ash__buffer_printf(out, "\r\nContent-Range: bytes %lld-%lld/%lld\r\n\r\n", (long long)r->start,
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

/* ---- what was compared before ---- */

static uint64_t head_of(const sending *s)
{
    uint8_t bytes[8];
    char hex[17];
    uint64_t head = 0;
    snprintf(hex, sizeof hex, "%s", ash_tree_entry_digest(s->entry));
    if (ash__hex_read(hex, sizeof bytes, bytes))
        memcpy(&head, bytes, sizeof head);
    return head;
}

static _Atomic uint64_t *slot_of(const sending *s, uint64_t head)
{
    return &s->dav->good[head % ASH_DAV_GOOD];
}

/* Its bytes gave its digest in this process already.  What happens to them on the disk since, the
 * store's own checksums tell with every read, and cost a tenth. */
static bool is_known_good(const sending *s)
{
    uint64_t head = head_of(s);
    return head != 0 && atomic_load_explicit(slot_of(s, head), memory_order_relaxed) == head;
}

static void note_good(const sending *s)
{
    uint64_t head = head_of(s);
    const ash_range *r = &s->ranges[s->at];
    if (head != 0 && r->start == 0 && r->end == ash_tree_entry_length(s->entry))
        atomic_store_explicit(slot_of(s, head), head, memory_order_relaxed);
}

static int open_range(sending *s, ash_error *err)
{
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    const ash_range *r = &s->ranges[s->at];
    ash_tree_reader_free(s->reader);
    s->reader = NULL;
    s->left = r->end - r->start;
    s->begun = true;
    if (s->kept != NULL)
        return 0;
    o.start = r->start;
    o.end = r->end;
    o.unverified = is_known_good(s);
    return ash_tree_open_entry(s->dav->tree, s->entry, &o, s->op, &s->reader, err);
}

/* What out has room for behind its end, len bytes; a file that ends earlier is damaged. */
static int read_piece(sending *s, ash_buffer *out, size_t len, ash_error *err)
{
    int rc = 0;
    size_t got = 1;
    if (s->kept != NULL) {
        ash__buffer_append(out, s->kept->data + (s->ranges[s->at].end - s->left), len);
        return 0;
    }
    while (rc == 0 && len > 0 && got > 0) {
        rc = ash_tree_reader_read(s->reader, out->data + out->len, len, &got, err);
        if (rc == 0) {
            out->len += got;
            len -= got;
        }
    }
    if (rc == 0 && len > 0)
        rc = ash__fail(err, ASH_ECORRUPT, "%s is %zu bytes too short",
                       ash_tree_entry_path(s->entry), len);
    return rc;
}

/* The end is where the digest is compared: it is looked at before the last bytes go out, since
 * afterwards the client has a whole answer. */
static int read_end(sending *s, ash_buffer *out, ash_error *err)
{
    size_t got = 0;
    if (s->kept != NULL)
        return 0;
    return ash_tree_reader_read(s->reader, out->data + out->len, 1, &got, err);
}

static int next_piece(sending *s, ash_buffer *out, ash_error *err)
{
    int rc = 0;
    if (s->left == 0) {
        s->at += s->begun;
        rc = open_range(s, err);
        if (rc == 0 && s->parts)
            part_head(s, out, s->at);
    }
    size_t want = s->left < ASH_PIECE_BYTES ? (size_t)s->left : ASH_PIECE_BYTES;
    ash__buffer_reserve(out, want + 1);
    if (rc == 0)
        rc = read_piece(s, out, want, err);
    s->left -= (int64_t)want;
    if (rc == 0 && s->left == 0)
        rc = read_end(s, out, err);
    if (rc == 0 && s->left == 0)
        note_good(s);
    if (rc != 0)
        return rc;
    if (s->left > 0 || s->at + 1 < s->count)
        return ASH_MORE_TO_COME;
    if (s->parts)
        part_end(s, out);
    return ASH_MORE_LAST;
}

static int more(ash_exchange *x, ash_buffer *out)
{
    sending *s = x->state;
    ash_error err = ASH_ERROR_INIT;
    int rc = next_piece(s, out, &err);
    if (rc < 0)
        ash__log(ASH_LOG_ERROR, "%s: %s", ash_tree_entry_path(s->entry), err.text);
    return rc;
}

static bool is_damage(int code)
{
    return code == ASH_ECORRUPT || code == ASH_ECHUNKMISSING || code == ASH_ECHUNKEXTRA ||
           code == ASH_ECHUNKSIZE;
}

/* Nothing was sent yet: what would have described the file goes. */
static void answer_unreadable(ash_exchange *x, ash_error *err)
{
    ash__buffer_clear(&x->body);
    ash__buffer_clear(&x->fields);
    if (is_damage(err->code))
        ash__fail(err, ASH_ECORRUPT,
                  "the file is damaged and cannot be read; `ashlar tree check` says more");
    ash__answer_error(x, err);
}

/* It came whole, and gave its digest. */
static void keep(const ash_exchange *x, const sending *s)
{
    if (s->keep == NULL)
        return;
    ash_kept_facts facts = *s->keep;
    facts.entry = s->entry;
    facts.fields = x->fields.data + s->fields_at;
    facts.fields_len = s->fields_len;
    facts.data = x->body.data;
    facts.len = x->body.len;
    ash__kept_file_add(s->dav->kept, &facts);
}

/* The first piece goes with the head, so that a file that cannot be read from its beginning, and a
 * small one that is damaged anywhere, is told by the status. */
static void send_body(ash_exchange *x, int status, const char *type, int64_t length)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = ASH_MORE_LAST;
    if (length > 0 && !x->is_head)
        rc = next_piece(x->state, &x->body, &err);
    if (rc < 0) {
        answer_unreadable(x, &err);
        return;
    }
    if (rc == ASH_MORE_LAST && status == 200 && !x->is_head)
        keep(x, x->state);
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

static int find_ranges(ash_exchange *x, sending *s, const ash_validators *now)
{
    ash_validators sure = *now;
    /* Clients and programs set times as they like.  Only one that the store set by itself says that
     * the bytes are those of before (RFC 9110 §8.8.2.2); else half a file could be completed with
     * half of another. */
    if (ash_tree_entry_modified_ms(s->entry) != ash_tree_entry_changed_ms(s->entry))
        sure.modified_ms = 0;
    return ash__ranges(x->head, ash_tree_entry_length(s->entry), &sure, s->ranges);
}

static void send_file(ash_exchange *x, sending *s, const ash_validators *now)
{
    int64_t length = ash_tree_entry_length(s->entry);
    /* RFC 9110 §14.2: Range is for GET alone. */
    s->count = x->is_head ? 0 : find_ranges(x, s, now);
    if (s->count < 0) {
        ash__answer_field(x, "Content-Range", "bytes */%lld", (long long)length);
        ash__answer_text(x, 416, "the file has %lld bytes", (long long)length);
        return;
    }
    add_fields(x, s, now);
    if (s->count > 0) {
        send_ranges(x, s);
    } else {
        s->count = 1;
        s->ranges[0] = (ash_range){0, length};
        send_body(x, 200, ash__dav_type(s->entry), length);
    }
}

static void send(ash_exchange *x, sending *s)
{
    char etag[ASH_ETAG_BYTES];
    ash_validators now;
    x->state = s;
    x->release = release;
    s->op = x->op;
    ash__dav_validators(s->entry, etag, &now);
    switch (ash__http_condition_check(x->head, x->method, &now)) {
    case 0:
        send_file(x, s, &now);
        break;
    case 304:
        add_fields(x, s, &now);
        ash__answer_empty(x, 304);
        break;
    default:
        ash__answer_text(x, 412, "the file is not what the request's conditions want it to be");
    }
    s->keep = NULL;
}

void ash__dav_send_current(ash_exchange *x, ash_dav *dav, ash_tree_entry *entry,
                           const ash_kept_facts *facts)
{
    sending *s = ash__new(sending);
    s->dav = dav;
    s->entry = s->own = entry;
    s->keep = facts;
    send(x, s);
}

void ash__dav_send_file(ash_exchange *x, ash_dav *dav, ash_tree_entry *entry)
{
    ash__dav_send_current(x, dav, entry, NULL);
}

void ash__dav_send_kept(ash_exchange *x, ash_dav *dav, ash_kept_file *file)
{
    sending *s = ash__new(sending);
    s->dav = dav;
    s->kept = file;
    s->entry = file->entry;
    send(x, s);
}
