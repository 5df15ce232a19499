/* SPDX-License-Identifier: Apache-2.0 */
/* tus 1.0.0: creation, termination, expiration.  https://tus.io/protocols/resumable-upload */
#include "http/site/uploads.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/date.h"
#include "http/dav/guard.h"
#include "http/dav/upload.h"

#include <stdlib.h>
#include <string.h>

#define URL ASH_SITE_RESERVED "/uploads"

static void add_version(ash_exchange *x)
{
    ash__answer_field(x, "Tus-Resumable", "1.0.0");
    ash__answer_field(x, "Cache-Control", "no-store");
}

/* ---- POST: a new one ---- */

/* Upload-Metadata: "path L2EvYg==,modified MTIz,…": the value of a key, yours; NULL: not there, or no text. */
static char *metadata(const ash_exchange *x, const char *key)
{
    const char *at = ash__head_field(x->head, "Upload-Metadata");
    size_t key_len = strlen(key);
    while (at != NULL && *at != '\0') {
        at += strspn(at, " ,");
        size_t len = strcspn(at, ","), name = strcspn(at, " ,");
        if (name == key_len && strncmp(at, key, key_len) == 0) {
            uint8_t *value = NULL;
            size_t value_len = 0;
            const char *text = at + name + strspn(at + name, " ");
            size_t text_len = len > (size_t)(text - at) ? len - (size_t)(text - at) : 0;
            while (text_len > 0 && text[text_len - 1] == ' ')
                text_len--;
            bool good = ash__base64_read(text, text_len, &value, &value_len) &&
                        strlen((char *)value) == value_len &&
                        ash__text_good((char *)value, value_len) == value_len;
            if (good)
                return (char *)value;
            ash__free(value);
            return NULL;
        }
        at += len;
    }
    return NULL;
}

static bool read_number(const char *text, int64_t *out)
{
    size_t digits = text != NULL ? strspn(text, "0123456789") : 0;
    if (digits == 0 || digits > 18 || text[digits] != '\0')
        return false;
    *out = strtoll(text, NULL, 10);
    return true;
}

/* Where it is to go: a path of the URL space.  false: x is answered. */
static bool find_target(ash_site *s, ash_exchange *x, ash_site_upload *u)
{
    ash_http_target t = {0};
    const char *why = "it is not there", *in_tree = NULL;
    char *text = metadata(x, "path");
    ash_buffer url = ASH_BUFFER_INIT;
    const ash_site_mount *m = NULL;
    /* As every other path that comes in. */
    if (text != NULL) {
        ash__http_target_encode(&url, text);
        if (ash__http_target_parse(ash__buffer_text(&url), &t, NULL, &why) && t.path != NULL &&
            !t.is_folder && !ash__site_is_reserved(t.path))
            m = ash__site_mount_of(s, t.path, &in_tree);
    }
    if (m == NULL) {
        ash__answer_text(x, 400, "`path` in Upload-Metadata has to be where a file can be: %s",
                         why);
    } else {
        u->mount = ash__strdup(m->prefix);
        u->path = ash__strdup(in_tree);
    }
    ash__http_target_release(&t);
    ash__buffer_release(&url);
    ash__free(text);
    return x->status == 0;
}

static const ash_site_mount *mount_of(const ash_site *s, const ash_site_upload *u)
{
    for (size_t i = 0; i < s->mount_count; i++)
        if (strcmp(s->mounts[i].prefix, u->mount) == 0)
            return &s->mounts[i];
    return NULL;
}

/* What would be refused in the end is refused before the bytes are sent. */
static bool check_place(ash_site *s, ash_exchange *x, const ash_site_upload *u)
{
    ash_dav_guard g = {0};
    ash_tree_entry *folder = NULL;
    ash_error err = ASH_ERROR_INIT;
    const ash_site_mount *m = mount_of(s, u);
    if (ash__dav_guard(m->dav, x, u->path, ASH_GUARD_BYTES, &g)) {
        if (ash__dav_lookup_parent(m->dav, u->path, &folder, &err) != 0)
            ash__answer_error(x, &err);
        else if (folder == NULL)
            ash__answer_text(x, 409, "the folder that %s would lie in is not there", u->path);
        else if (g.entry != NULL && (u->if_absent || ash_tree_entry_is_folder(g.entry)))
            ash__answer_text(x, 412, "%s is there already", u->path);
    }
    ash_tree_entry_free(folder);
    ash__dav_guard_release(&g);
    return x->status == 0;
}

static void read_facts(const ash_exchange *x, ash_site_upload *u)
{
    char *modified = metadata(x, "modified"), *absent = metadata(x, "if_absent");
    char *type = metadata(x, "filetype");
    int64_t ms = 0;
    if (read_number(modified, &ms))
        u->modified_ms = ms;
    u->if_absent = absent != NULL && strcmp(absent, "true") == 0;
    u->type = type != NULL && strlen(type) < 256 ? type : ash__strdup("");
    if (type != u->type)
        ash__free(type);
    ash__free(modified);
    ash__free(absent);
}

static void create(ash_site *s, ash_exchange *x)
{
    ash_site_upload u = {0};
    ash_error err = ASH_ERROR_INIT;
    char expires[ASH_DATE_BYTES];
    add_version(x);
    if (!read_number(ash__head_field(x->head, "Upload-Length"), &u.length)) {
        ash__answer_text(x, 400, "Upload-Length is needed");
        return;
    }
    read_facts(x, &u);
    if (find_target(s, x, &u) && check_place(s, x, &u)) {
        if (ash__site_upload_create(s->uploads, &u, &err) != 0) {
            ash__answer_error(x, &err);
        } else {
            ash__date_http(expires, u.expires_ms);
            ash__answer_field(x, "Location", URL "/%s", u.token);
            ash__answer_field(x, "Upload-Expires", "%s", expires);
            ash__answer_field(x, "Upload-Offset", "0");
            ash__answer_empty(x, 201);
        }
    }
    ash__site_upload_release(&u);
}

/* ---- PATCH: bytes ---- */

typedef struct patching {
    ash_site *site;
    ash_site_upload u;
    ash_buffer waiting; /* less than a part */
} patching;

static void release(ash_exchange *x)
{
    patching *p = x->state;
    ash_error err = ASH_ERROR_INIT;
    /* The connection went: what came of the last part is kept, too. */
    if (x->status == 0 && p->waiting.len > 0)
        ash__site_upload_append(p->site->uploads, &p->u, p->waiting.data, p->waiting.len, &err);
    ash__site_upload_leave(p->site->uploads);
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
    while (len > 0) {
        size_t room = ASH_UPLOAD_PART_BYTES - p->waiting.len;
        size_t n = len < room ? len : room;
        ash__buffer_append(&p->waiting, at, n);
        at += n;
        len -= n;
        if (p->waiting.len == ASH_UPLOAD_PART_BYTES && !flush(p, x))
            return;
    }
}

/* All bytes are there: one commit makes them a file. */
static bool complete(patching *p, ash_exchange *x)
{
    const ash_site_mount *m = mount_of(p->site, &p->u);
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_writer *w = NULL;
    ash_tree_entry *e = NULL;
    ash_dav_guard g = {0};
    ash_error err = ASH_ERROR_INIT;
    char etag[ASH_ETAG_BYTES];
    int rc = 0;
    if (m == NULL || !ash__dav_guard(m->dav, x, p->u.path, ASH_GUARD_BYTES, &g)) {
        if (m == NULL)
            ash__answer_text(x, 409, "the tree that it is for is not shown any more");
        ash__dav_guard_release(&g);
        return false;
    }
    o.fence = g.fence;
    o.if_absent = p->u.if_absent;
    o.modified_ms = p->u.modified_ms;
    o.content_type = p->u.type[0] != '\0' ? p->u.type : NULL;
    rc = ash_tree_open_writer(m->tree, p->u.path, &o, NULL, &w, &err);
    if (rc == 0)
        rc = ash__site_upload_copy(p->site->uploads, &p->u, w, &err);
    bool may = rc != 0 || ash__dav_guard_again(&g);
    if (rc == 0 && may)
        rc = ash_tree_writer_finish(w, NULL, &e, &err);
    /* It was to be a new name. */
    if (rc == ASH_EEXISTS && p->u.if_absent)
        err.code = ASH_ECONDITION;
    if (rc != 0) {
        ash__dav_answer_change(x, &err);
    } else if (may) {
        ash__dav_etag(e, etag);
        ash__answer_field(x, "ETag", "%s", etag);
        /* What fails here expires by itself. */
        ash__site_upload_end(p->site->uploads, &p->u, true, &err);
    }
    ash_tree_entry_free(e);
    ash_tree_writer_free(w);
    ash__dav_guard_release(&g);
    return rc == 0 && may;
}

static void finish(ash_exchange *x)
{
    patching *p = x->state;
    if (!flush(p, x))
        return;
    if (p->u.offset == p->u.length && !p->u.done && !complete(p, x))
        return;
    ash__answer_field(x, "Upload-Offset", "%lld", (long long)p->u.offset);
    ash__answer_empty(x, 204);
}

static void begin_patch(ash_site *s, ash_exchange *x, ash_site_upload *u)
{
    const char *type = ash__head_field(x->head, "Content-Type");
    int64_t offset = -1;
    if (type == NULL || strcmp(type, "application/offset+octet-stream") != 0) {
        ash__answer_text(x, 415, "PATCH takes application/offset+octet-stream");
    } else if (!read_number(ash__head_field(x->head, "Upload-Offset"), &offset) ||
               offset != u->offset) {
        ash__answer_field(x, "Upload-Offset", "%lld", (long long)u->offset);
        ash__answer_text(x, 409, "the upload stands at %lld", (long long)u->offset);
    } else if (!ash__site_upload_enter(s->uploads)) {
        ash__answer_field(x, "Retry-After", "2");
        ash__answer_text(x, 503, "bytes of %d uploads come already", (int)ASH_UPLOADS_AT_ONCE);
    } else {
        patching *p = ash__new(patching);
        p->site = s;
        p->u = *u;
        *u = (ash_site_upload){0};
        x->state = p;
        x->release = release;
        x->take = take;
        x->finish = finish;
    }
}

/* ---- HEAD, DELETE, OPTIONS ---- */

static void tell(ash_exchange *x, const ash_site_upload *u)
{
    char expires[ASH_DATE_BYTES];
    ash__date_http(expires, u->expires_ms);
    ash__answer_field(x, "Upload-Offset", "%lld", (long long)u->offset);
    ash__answer_field(x, "Upload-Length", "%lld", (long long)u->length);
    ash__answer_field(x, "Upload-Expires", "%s", expires);
    ash__answer_empty(x, 200);
}

static void remove_upload(ash_site *s, ash_exchange *x, const ash_site_upload *u)
{
    ash_error err = ASH_ERROR_INIT;
    if (ash__site_upload_end(s->uploads, u, false, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_empty(x, 204);
}

static void begin_one(ash_site *s, ash_exchange *x, const char *token)
{
    ash_site_upload u = {0};
    ash_error err = ASH_ERROR_INIT;
    add_version(x);
    if (strspn(token, "0123456789abcdef") != ASH_UPLOAD_TOKEN_BYTES - 1 ||
        strlen(token) != ASH_UPLOAD_TOKEN_BYTES - 1)
        ash__answer_text(x, 404, "there is no such upload");
    else if (ash__site_upload_find(s->uploads, token, &u, &err) != 0)
        ash__answer_text(x, err.code == ASH_ENOTFOUND ? 404 : ash__status_of(err.code), "%s",
                         err.code == ASH_ENOTFOUND ? "there is no such upload" : err.text);
    else if (x->is_head)
        tell(x, &u);
    else if (strcmp(x->method, "PATCH") == 0)
        begin_patch(s, x, &u);
    else if (strcmp(x->method, "DELETE") == 0)
        remove_upload(s, x, &u);
    else {
        ash__answer_field(x, "Allow", "HEAD, PATCH, DELETE, OPTIONS");
        ash__answer_text(x, 405, "%s is nothing that can be done with an upload", x->method);
    }
    ash__site_upload_release(&u);
}

void ash__site_uploads(ash_site *s, ash_exchange *x, const char *rest)
{
    const char *version = ash__head_field(x->head, "Tus-Resumable");
    bool all = rest[0] == '\0' || strcmp(rest, "/") == 0;
    if (strcmp(x->method, "OPTIONS") == 0) {
        add_version(x);
        ash__answer_field(x, "Tus-Version", "1.0.0");
        ash__answer_field(x, "Tus-Extension", "creation,termination,expiration");
        ash__answer_empty(x, 204);
    } else if (version == NULL || strcmp(version, "1.0.0") != 0) {
        ash__answer_field(x, "Tus-Version", "1.0.0");
        ash__answer_text(x, 412, "Tus-Resumable: 1.0.0 is needed");
    } else if (all && strcmp(x->method, "POST") == 0) {
        create(s, x);
    } else if (all) {
        ash__answer_field(x, "Allow", "POST, OPTIONS");
        ash__answer_text(x, 405, "a new upload is a POST");
    } else {
        begin_one(s, x, rest + 1);
    }
}
