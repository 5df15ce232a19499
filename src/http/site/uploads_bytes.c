/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an upload, and its end.  An offset that is the upload's length says that the file is there:
 * clients ask no further.  So the last bytes are kept in the commit that makes the file, or not at
 * all. */
#include "http/site/uploads.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/guard.h"
#include "http/dav/upload.h"

#include <string.h>

const ash_site_mount *ash__site_upload_mount(const ash_site *s, const ash_site_upload *u)
{
    for (size_t i = 0; i < s->mount_count; i++)
        if (strcmp(s->mounts[i].prefix, u->mount) == 0)
            return &s->mounts[i];
    return NULL;
}

void ash__site_upload_answer_expiry(ash_exchange *x, const ash_site_upload *u)
{
    char expires[ASH_DATE_BYTES];
    ash__date_http(expires, u->expires_ms);
    ash__answer_field(x, "Upload-Expires", "%s", expires);
}

typedef struct patching {
    ash_site *site;
    ash_site_upload u;
    ash_buffer waiting; /* less than a part; or the last ones */
    ash_digest *digest; /* of a body that comes with one; else NULL */
    uint8_t promised[ASH_DIGEST_MAX_BYTES];
    size_t promised_len;
    bool is_new; /* a POST: answers 201, and forgets what it could not end */
} patching;

static bool is_last(const patching *p)
{
    return p->u.offset + (int64_t)p->waiting.len == p->u.length;
}

static void release(ash_exchange *x)
{
    patching *p = x->state;
    ash_error err = ASH_ERROR_INIT;
    /* The connection went: what came of the last part is kept, too, unless nobody can say whether it
     * is what was sent. */
    if (x->status == 0 && p->waiting.len > 0 && !is_last(p) && p->digest == NULL && !p->is_new)
        ash__site_upload_append(p->site->uploads, &p->u, p->waiting.data, p->waiting.len, &err);
    /* Nobody knows where it is. */
    if (p->is_new && x->status != 201 && p->u.token[0] != '\0')
        ash__site_upload_end(p->site->uploads, &p->u, &err);
    ash__site_upload_leave(p->site->uploads);
    ash__digest_free(p->digest);
    ash__buffer_release(&p->waiting);
    ash__site_upload_release(&p->u);
    ash__free(p);
}

static bool flush(patching *p, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    if (p->waiting.len == 0)
        return true;
    int rc =
        ash__site_upload_append(p->site->uploads, &p->u, p->waiting.data, p->waiting.len, &err);
    ash__buffer_clear(&p->waiting);
    if (rc != 0)
        ash__answer_error(x, &err);
    return rc == 0;
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    patching *p = x->state;
    const uint8_t *at = data;
    if (p->u.offset + (int64_t)(p->waiting.len + len) > p->u.length) {
        ash__answer_text(x, 413, "the upload has %lld bytes, and these are more",
                         (long long)p->u.length);
        return;
    }
    if (p->digest != NULL) {
        ash__digest_add(p->digest, data, len);
        if (p->waiting.len + len > ASH_UPLOAD_PART_BYTES) {
            ash__answer_text(x, 413, "with Upload-Checksum, %d bytes can be sent at a time",
                             (int)ASH_UPLOAD_PART_BYTES);
            return;
        }
    }
    while (len > 0) {
        size_t room = ASH_UPLOAD_PART_BYTES - p->waiting.len;
        size_t n = len < room ? len : room;
        /* There is more of it, so these are not the last ones. */
        if (n == 0 && !flush(p, x))
            return;
        ash__buffer_append(&p->waiting, at, n);
        at += n;
        len -= n;
    }
}

/* What was asked for in advance, and is met or not in the commit. */
static void answer_refused(const patching *p, ash_exchange *x, ash_error *err)
{
    /* 409 would be taken for an offset that is wrong. */
    if (err->code == ASH_ECONFLICT && p->u.if_version == 0) {
        ash__answer_field(x, "Retry-After", "1");
        ash__answer_text(x, 503, "somebody else changed it meanwhile; try again: %s", err->text);
        return;
    }
    if (err->code == ASH_ECONFLICT || (err->code == ASH_EEXISTS && p->u.if_absent))
        err->code = ASH_ECONDITION;
    ash__dav_answer_change(x, err);
}

/* Not 0 with x answered: somebody has locked a folder above meanwhile. */
static int put_together(patching *p, const ash_site_mount *m, const ash_op *op, ash_dav_guard *g,
                        ash_tree_entry **e, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_writer *w = NULL;
    ash_site_uploads *s = p->site->uploads;
    o.fence = g->fence;
    o.if_absent = p->u.if_absent;
    o.if_version = p->u.if_version;
    o.modified_ms = p->u.modified_ms;
    o.content_type = p->u.type[0] != '\0' ? p->u.type : NULL;
    int rc = ash_tree_prepare(m->tree, NULL, err);
    if (rc == 0)
        rc = ash_tree_open_writer(m->tree, p->u.path, &o, op, &w, err);
    if (rc == 0)
        rc = ash__site_upload_copy(s, &p->u, w, err);
    if (rc == 0)
        rc = ash_tree_writer_write(w, p->waiting.data, p->waiting.len, err);
    if (rc == 0)
        rc = ash_tree_writer_seal(w, err);
    if (rc == 0 && !ash__dav_guard_again(g))
        rc = ASH_ELOST;
    if (rc == 0)
        rc = ash__site_upload_finish(s, &p->u, w, op, e, err);
    ash_tree_writer_free(w);
    return rc;
}

/* All bytes are there: one commit makes them a file, and the upload's end.  false: x is answered. */
static bool complete(patching *p, ash_exchange *x)
{
    const ash_site_mount *m = ash__site_upload_mount(p->site, &p->u);
    ash_tree_entry *e = NULL;
    ash_dav_guard g = {0};
    ash_error err = ASH_ERROR_INIT;
    char etag[ASH_ETAG_BYTES];
    bool good = false;
    if (m == NULL)
        ash__answer_text(x, 410, "the tree that it is for is not shown any more");
    else if (ash__dav_guard(m->dav, x, p->u.path, ASH_GUARD_BYTES, &g))
        good = put_together(p, m, x->op, &g, &e, &err) == 0;
    if (!good && x->status == 0)
        answer_refused(p, x, &err);
    if (good) {
        ash__dav_etag(e, etag);
        ash__answer_field(x, "ETag", "%s", etag);
    }
    ash_tree_entry_free(e);
    ash__dav_guard_release(&g);
    return good;
}

/* Is it what was sent?  false: x is answered. */
static bool check_sum(patching *p, ash_exchange *x)
{
    uint8_t got[ASH_DIGEST_MAX_BYTES];
    if (p->digest == NULL || (ash__digest_finish(p->digest, got) == p->promised_len &&
                              memcmp(got, p->promised, p->promised_len) == 0))
        return true;
    ash__answer_text(x, 460, "what came does not give the Upload-Checksum: it is left out");
    return false;
}

static void finish(ash_exchange *x)
{
    patching *p = x->state;
    if (check_sum(p, x) && (is_last(p) && !p->u.done ? complete(p, x) : flush(p, x))) {
        ash__answer_field(x, "Upload-Offset", "%lld", (long long)p->u.offset);
        ash__site_upload_answer_expiry(x, &p->u);
        if (p->is_new)
            ash__answer_field(x, "Location", ASH_UPLOADS_URL "/%s", p->u.token);
        ash__answer_empty(x, p->is_new ? 201 : 204);
    }
}

/* "sha1 BASE64".  false: x is answered. */
static bool read_sum(patching *p, ash_exchange *x)
{
    static const struct {
        const char *name;
        ash_digest_kind kind;
        size_t len;
    } kinds[] = {{"md5 ", ASH_DIGEST_MD5, 16},
                 {"sha1 ", ASH_DIGEST_SHA1, 20},
                 {"sha256 ", ASH_DIGEST_SHA256, 32}};
    const char *text = ash__head_field(x->head, "Upload-Checksum");
    uint8_t *sum = NULL;
    for (size_t i = 0; text != NULL && i < ASH_ARRAY_LEN(kinds); i++) {
        size_t len = strlen(kinds[i].name);
        if (strncmp(text, kinds[i].name, len) == 0 &&
            ash__base64_read(text + len, strlen(text + len), &sum, &p->promised_len) &&
            p->promised_len == kinds[i].len) {
            memcpy(p->promised, sum, p->promised_len);
            p->digest = ash__digest_new(kinds[i].kind);
        }
        ash__free(sum);
        sum = NULL;
    }
    if (text == NULL || p->digest != NULL)
        return true;
    ash__answer_text(x, 400, "Upload-Checksum is md5, sha1 or sha256, and the digest in base64");
    return false;
}

bool ash__site_upload_begin(ash_site *s, ash_exchange *x, ash_site_upload *u, bool is_new)
{
    if (!ash__site_upload_enter(s->uploads)) {
        ash__answer_field(x, "Retry-After", "2");
        ash__answer_text(x, 503, "bytes of %d uploads come already", (int)ASH_UPLOADS_AT_ONCE);
        return false;
    }
    patching *p = ash__new(patching);
    p->site = s;
    p->is_new = is_new;
    x->state = p;
    x->release = release;
    if (!read_sum(p, x))
        return false;
    p->u = *u;
    *u = (ash_site_upload){0};
    x->take = take;
    x->finish = finish;
    return true;
}
