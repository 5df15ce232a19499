/* SPDX-License-Identifier: Apache-2.0 */
/* tus 1.0.0 with creation, creation-with-upload, termination, expiration and checksum.
 * https://tus.io/protocols/resumable-upload */
#include "http/site/uploads.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/date.h"
#include "http/dav/guard.h"
#include "http/dav/upload.h"
#include "http/gate/trace.h"

#include <stdlib.h>
#include <string.h>

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

/* Clients that know of no path say what the file is called, and mean the top.  NULL: neither. */
static char *path_of(const ash_exchange *x)
{
    char *path = metadata(x, "path"), *name = path == NULL ? metadata(x, "filename") : NULL;
    if (name != NULL)
        path = ash__sprintf("/%s", name);
    ash__free(name);
    return path;
}

/* Where it is to go: a path of the URL space.  false: x is answered. */
static bool find_target(ash_site *s, ash_exchange *x, ash_site_upload *u)
{
    ash_http_target t = {0};
    const char *why = NULL, *in_tree = NULL;
    char *text = path_of(x);
    ash_buffer url = ASH_BUFFER_INIT;
    const ash_site_mount *m = NULL;
    /* As every other path that comes in. */
    if (text != NULL) {
        ash__http_target_encode(&url, text);
        if (ash__http_target_parse(ash__buffer_text(&url), &t, NULL, &why) && t.path != NULL &&
            !t.is_folder && !ash__site_is_reserved(t.path))
            m = ash__site_mount_of(s, t.path, &in_tree);
    }
    if (text == NULL) {
        ash__answer_text(x, 400,
                         "Upload-Metadata needs `path`, where the file is to go (or `filename`), "
                         "as text in base64");
    } else if (m == NULL) {
        ash__answer_text(x, 400, "`path` in Upload-Metadata has to be where a file can be: %s",
                         why != NULL ? why : text);
    } else {
        u->mount = ash__strdup(m->prefix);
        u->path = ash__strdup(in_tree);
        ash__trace_path(x, u->mount, u->path);
    }
    ash__http_target_release(&t);
    ash__buffer_release(&url);
    ash__free(text);
    return x->status == 0;
}

/* What would be refused in the end is refused before the bytes are sent. */
static bool check_place(ash_site *s, ash_exchange *x, const ash_site_upload *u)
{
    ash_dav_guard g = {0};
    ash_tree_entry *folder = NULL;
    ash_error err = ASH_ERROR_INIT;
    const ash_site_mount *m = ash__site_upload_mount(s, u);
    if (ash__dav_guard(m->dav, x, u->path, ASH_GUARD_BYTES, &g)) {
        if (ash__dav_lookup_parent(m->dav, x->op, u->path, &folder, &err) != 0)
            ash__answer_error(x, &err);
        else if (folder == NULL)
            ash__answer_text(x, 409, "the folder that %s would lie in is not there", u->path);
        else if (g.entry != NULL && (u->if_absent || ash_tree_entry_is_folder(g.entry)))
            ash__answer_text(x, 412, "%s is there already", u->path);
        else if (u->if_version != 0 &&
                 (g.entry == NULL || ash_tree_entry_version(g.entry) != u->if_version))
            ash__answer_text(x, 412, "%s has another version", u->path);
        else
            (void)ash__dav_check_room(m->dav, x, u->path, g.entry, u->length);
    }
    ash_tree_entry_free(folder);
    ash__dav_guard_release(&g);
    return x->status == 0;
}

static void read_facts(const ash_exchange *x, ash_site_upload *u)
{
    char *modified = metadata(x, "modified"), *absent = metadata(x, "if_absent");
    char *type = metadata(x, "filetype"), *version = metadata(x, "if_version");
    const char *all = ash__head_field(x->head, "Upload-Metadata");
    int64_t ms = 0, number = 0;
    if (read_number(modified, &ms))
        u->modified_ms = ms;
    u->if_absent = absent != NULL && strcmp(absent, "true") == 0;
    /* What cannot be a version is none that is there. */
    if (version != NULL)
        u->if_version = read_number(version, &number) && number > 0 && number < INT32_MAX
                            ? (int32_t)number
                            : INT32_MAX;
    u->by = ash__dav_who(x->op);
    u->metadata = ash__strdup(all != NULL ? all : "");
    u->type = type != NULL && strlen(type) < 256 ? type : ash__strdup("");
    if (type != u->type)
        ash__free(type);
    ash__free(modified);
    ash__free(absent);
    ash__free(version);
}

static bool sends_bytes(const ash_exchange *x)
{
    const char *type = ash__head_field(x->head, "Content-Type");
    return type != NULL && strcmp(type, "application/offset+octet-stream") == 0;
}

static void create(ash_site *s, ash_exchange *x)
{
    ash_site_upload u = {0};
    ash_error err = ASH_ERROR_INIT;
    add_version(x);
    if (!read_number(ash__head_field(x->head, "Upload-Length"), &u.length)) {
        /* Extensions that a client was told of by nobody. */
        ash__answer_text(x, 400, "Upload-Length is needed%s",
                         ash__head_field(x->head, "Upload-Defer-Length") != NULL
                             ? ": a length that comes later (Upload-Defer-Length) is not served"
                             : "");
        return;
    }
    if (u.length > ASH_UPLOAD_MAX_BYTES) {
        ash__answer_text(x, 413, "a file has at most %lld bytes", (long long)ASH_UPLOAD_MAX_BYTES);
        return;
    }
    if (ash__head_field(x->head, "Upload-Concat") != NULL) {
        ash__answer_text(x, 400, "uploads in parallel parts (Upload-Concat) are not served");
        return;
    }
    read_facts(x, &u);
    if (find_target(s, x, &u) && check_place(s, x, &u)) {
        if (ash__site_upload_create(s->uploads, &u, &err) != 0) {
            ash__answer_error(x, &err);
        } else if (sends_bytes(x) || u.length == 0) {
            /* No bytes are all of an empty file. */
            if (!ash__site_upload_begin(s, x, &u, true))
                ash__site_upload_end(s->uploads, &u, &err);
        } else {
            ash__answer_field(x, "Location", ASH_UPLOADS_URL "/%s", u.token);
            ash__site_upload_answer_expiry(x, &u);
            ash__answer_field(x, "Upload-Offset", "0");
            ash__answer_empty(x, 201);
        }
    }
    ash__site_upload_release(&u);
}

static void begin_patch(ash_site *s, ash_exchange *x, ash_site_upload *u)
{
    int64_t offset = -1;
    if (!sends_bytes(x)) {
        ash__answer_text(x, 415, "PATCH takes application/offset+octet-stream");
    } else if (!read_number(ash__head_field(x->head, "Upload-Offset"), &offset) ||
               offset != u->offset) {
        ash__answer_field(x, "Upload-Offset", "%lld", (long long)u->offset);
        ash__answer_text(x, 409, "the upload stands at %lld", (long long)u->offset);
    } else {
        ash__site_upload_begin(s, x, u, false);
    }
}

/* ---- HEAD, DELETE, OPTIONS ---- */

static void tell(ash_exchange *x, const ash_site_upload *u)
{
    ash__answer_field(x, "Upload-Offset", "%lld", (long long)u->offset);
    ash__answer_field(x, "Upload-Length", "%lld", (long long)u->length);
    ash__answer_field(x, "Upload-Metadata", "%s", u->metadata);
    ash__site_upload_answer_expiry(x, u);
    ash__answer_empty(x, 200);
}

static void remove_upload(ash_site *s, ash_exchange *x, const ash_site_upload *u)
{
    ash_error err = ASH_ERROR_INIT;
    if (ash__site_upload_end(s->uploads, u, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_empty(x, 204);
}

static void begin_found(ash_site *s, ash_exchange *x, const char *method, ash_site_upload *u)
{
    ash__trace_path(x, u->mount, u->path);
    if (x->is_head)
        tell(x, u);
    else if (strcmp(method, "PATCH") == 0)
        begin_patch(s, x, u);
    else if (strcmp(method, "DELETE") == 0)
        remove_upload(s, x, u);
    else {
        ash__answer_field(x, "Allow", "HEAD, PATCH, DELETE, OPTIONS");
        ash__answer_text(x, 405, "%s is nothing that can be done with an upload", method);
    }
}

/* Another's is not there. */
static int find_own(ash_site *s, const ash_exchange *x, const char *token, ash_site_upload *u,
                    ash_error *err)
{
    int rc = ash__site_upload_find(s->uploads, token, u, err);
    char *who = ash__dav_who(x->op);
    if (rc == 0 && x->op != NULL && u->by[0] != '\0' && strcmp(u->by, who) != 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "it is another user's");
    ash__free(who);
    return rc;
}

static void begin_one(ash_site *s, ash_exchange *x, const char *method, const char *token)
{
    ash_site_upload u = {0};
    ash_error err = ASH_ERROR_INIT;
    add_version(x);
    if (strspn(token, "0123456789abcdef") != ASH_UPLOAD_TOKEN_BYTES - 1 ||
        strlen(token) != ASH_UPLOAD_TOKEN_BYTES - 1)
        ash__answer_text(x, 404, "there is no such upload");
    else if (find_own(s, x, token, &u, &err) != 0)
        ash__answer_text(x, err.code == ASH_ENOTFOUND ? 404 : ash__status_of(err.code), "%s",
                         err.code == ASH_ENOTFOUND ? "there is no such upload" : err.text);
    else
        begin_found(s, x, method, &u);
    ash__site_upload_release(&u);
}

/* Where only GET and POST come through, a client says what it means (of the protocol's core). */
static const char *method_of(const ash_exchange *x)
{
    const char *other = ash__head_field(x->head, "X-HTTP-Method-Override");
    return other != NULL && strcmp(x->method, "POST") == 0 ? other : x->method;
}

void ash__site_uploads(ash_site *s, ash_exchange *x, const char *rest)
{
    const char *method = method_of(x);
    const char *version = ash__head_field(x->head, "Tus-Resumable");
    bool all = rest[0] == '\0' || strcmp(rest, "/") == 0;
    if (strcmp(x->method, "OPTIONS") == 0) {
        add_version(x);
        ash__answer_field(x, "Tus-Version", "1.0.0");
        ash__answer_field(x, "Tus-Extension",
                          "creation,creation-with-upload,termination,expiration,checksum");
        ash__answer_field(x, "Tus-Checksum-Algorithm", "md5,sha1,sha256");
        ash__answer_field(x, "Tus-Max-Size", "%lld", (long long)ASH_UPLOAD_MAX_BYTES);
        ash__answer_empty(x, 204);
    } else if (version == NULL || strcmp(version, "1.0.0") != 0) {
        ash__answer_field(x, "Tus-Version", "1.0.0");
        ash__answer_text(x, 412, "Tus-Resumable: 1.0.0 is needed");
    } else if (all && strcmp(method, "POST") == 0) {
        create(s, x);
    } else if (all) {
        ash__answer_field(x, "Allow", "POST, OPTIONS");
        ash__answer_text(x, 405, "a new upload is a POST");
    } else {
        begin_one(s, x, method, rest + 1);
    }
}
