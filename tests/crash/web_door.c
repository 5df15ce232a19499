/* SPDX-License-Identifier: Apache-2.0 */
#include "web_door.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "http/visit.h"
#include "tree_steps.h"

#include <stdio.h>
#include <string.h>

#define LOCK_INFO                                                                                  \
    "<D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/>" \
    "</D:locktype></D:lockinfo>"
#define LOCK_QUESTION                                                                              \
    "<D:propfind xmlns:D=\"DAV:\"><D:prop><D:lockdiscovery/></D:prop></D:propfind>"

int web_door_open(ash_store *store, const char *root, ash_site **out, ash_error *err)
{
    const ash_site_mount_options mounts[] = {{"", root}, {"/beside", "beside"}};
    ash_site_options o = ASH_SITE_OPTIONS_INIT;
    o.mounts = mounts;
    o.mount_count = ASH_ARRAY_LEN(mounts);
    return ash__site_new(store, &o, out, err);
}

static visit *ask(ash_site *site, const web_request *r)
{
    return visit_ask_bytes(ash__site_service(), site, r->line, r->fields,
                           r->body != NULL ? r->body : "", r->len);
}

int web_ask(ash_site *site, const web_request *r, ash_buffer *out)
{
    visit *v = ask(site, r);
    int status = v->cut ? 0 : v->status;
    if (out != NULL)
        ash__buffer_append(out, v->body.data, v->body.len);
    visit_free(v);
    return status;
}

bool web_is_acknowledged(int status)
{
    return status >= 200 && status < 300;
}

/* ---- tus ---- */

/* Its metadata are in base 64. */
static char *encode(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(text);
    char *out = ash__alloc(len * 2 + 5), *at = out;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t bits = (uint32_t)(uint8_t)text[i] << 16;
        bits |= left > 1 ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)(uint8_t)text[i + 2] : 0;
        *at++ = digits[bits >> 18];
        *at++ = digits[bits >> 12 & 63];
        *at++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[bits & 63] : '=';
    }
    *at = '\0';
    return out;
}

static int create_upload(ash_site *site, const char *path, size_t len, char **address)
{
    char *name = encode(path);
    char *fields = ash__sprintf("Tus-Resumable: 1.0.0\nUpload-Length: %zu\n"
                                "Upload-Metadata: path %s\n",
                                len, name);
    visit *v = ask(site, &(web_request){.line = "POST /.ashlar/uploads/", .fields = fields});
    int status = v->status;
    const char *location = visit_field(v, "Location");
    *address = location != NULL ? ash__strdup(location) : NULL;
    visit_free(v);
    ash__free(fields);
    ash__free(name);
    return status;
}

static int send_part(ash_site *site, const char *address, const uint8_t *data, size_t from,
                     size_t to)
{
    char *line = ash__sprintf("PATCH %s", address);
    char *fields = ash__sprintf("Tus-Resumable: 1.0.0\nUpload-Offset: %zu\n"
                                "Content-Type: application/offset+octet-stream\n",
                                from);
    int status = web_ask(site, &(web_request){line, fields, data + from, to - from}, NULL);
    ash__free(line);
    ash__free(fields);
    return status;
}

int web_upload(ash_site *site, const char *path, const void *data, size_t len)
{
    char *address = NULL;
    int status = create_upload(site, path, len, &address);
    if (web_is_acknowledged(status) && len > 0)
        status = send_part(site, address, data, 0, len / 2);
    if (web_is_acknowledged(status) && len > 0)
        status = send_part(site, address, data, len / 2, len);
    ash__free(address);
    return status;
}

/* ---- locks ---- */

/* The text in the first <D:NAME><D:href> of an answer; NULL: there is none. */
static char *href_in(ash_buffer *answer, const char *name)
{
    char *begin = ash__sprintf("<D:%s><D:href>", name);
    const char *at = strstr(ash__buffer_text(answer), begin);
    at = at != NULL ? at + strlen(begin) : NULL;
    ash__free(begin);
    return at != NULL ? ash__strndup(at, strcspn(at, "<")) : NULL;
}

/* The status: 207, 404, or the question was refused. */
static int ask_lock(ash_site *site, const char *path, const char *name, char **found)
{
    ash_buffer answer = ASH_BUFFER_INIT;
    char *line = ash__sprintf("PROPFIND %s", path);
    const web_request r = {line, "Depth: 0\n", LOCK_QUESTION, strlen(LOCK_QUESTION)};
    int status = web_ask(site, &r, &answer);
    *found = status == 207 ? href_in(&answer, name) : NULL;
    ash__buffer_release(&answer);
    ash__free(line);
    return status;
}

char *web_key(ash_site *site, const char *path, const char *field, int *status)
{
    char *token;
    bool is_if = strcmp(field, "If") == 0;
    *status = ask_lock(site, path, "locktoken", &token);
    if (*status != 207 && *status != 404)
        return NULL;
    char *out = token == NULL ? ash__strdup("")
                              : ash__sprintf("%s: %s<%s>%s\n", field, is_if ? "(" : "", token,
                                             is_if ? ")" : "");
    ash__free(token);
    return out;
}

int web_lock(ash_site *site, const char *path)
{
    char *line = ash__sprintf("LOCK %s", path);
    const web_request r = {line, "Timeout: Second-3600\n", LOCK_INFO, strlen(LOCK_INFO)};
    int status = web_ask(site, &r, NULL);
    for (int i = 0; i < 150 && status == 423; i++) {
        char *root;
        int asked = ask_lock(site, path, "lockroot", &root);
        bool is_known = root != NULL;
        ash__free(root);
        if (asked >= 500 || is_known)
            break;
        ash__clock_sleep_ms(100);
        status = web_ask(site, &r, NULL);
    }
    ash__free(line);
    return status;
}

int web_unlock(ash_site *site, const char *path)
{
    char *line = ash__sprintf("UNLOCK %s", path);
    int status;
    char *key = web_key(site, path, "Lock-Token", &status);
    if (key != NULL)
        status = web_ask(site, &(web_request){.line = line, .fields = key}, NULL);
    ash__free(key);
    ash__free(line);
    return status;
}

/* ---- what is there ---- */

int web_portrait(ash_site *site, ash_tree *tree, const char *const *paths, ash_buffer *out,
                 ash_error *err)
{
    int rc = tree_portrait(tree, out, err);
    for (; rc == 0 && *paths != NULL; paths++) {
        char *root;
        if (ask_lock(site, *paths, "lockroot", &root) >= 500)
            rc = ash__fail(err, ASH_EIO, "nobody says who holds %s", *paths);
        if (root != NULL)
            ash__buffer_printf(out, "locked %s by %s\n", *paths, root);
        ash__free(root);
    }
    return rc;
}
