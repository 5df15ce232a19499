/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/upload.h"

#include "base/mem.h"
#include "base/server_codes.h"
#include "http/dav/multistatus.h"
#include "http/dav/xml.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Did the client say what it counts on?  Else it is not told that it was wrong. */
static bool is_conditional(const ash_exchange *x)
{
    return ash__condition_is_there(x->head) || ash__head_field(x->head, "If") != NULL;
}

/* RFC 4331 §6, and the sentence where Nextcloud's and ownCloud's clients look for one. */
static void answer_over_quota(ash_exchange *x, const ash_error *err)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_text(&out, ASH_DAV_XML_BEGIN
                            "<D:error xmlns:D=\"DAV:\" xmlns:s=\"http://sabredav.org/ns\">"
                            "<D:quota-not-exceeded/><s:message>");
    ash__xml_text(&out, err->text);
    ash__buffer_append_text(&out, "</s:message></D:error>\n");
    ash__answer_body(x, 507, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&out);
}

void ash__dav_answer_change(ash_exchange *x, const ash_error *err)
{
    switch (err->code) {
    case ASH_ECONFLICT:
        if (is_conditional(x))
            ash__answer_text(x, 412, "%s", err->text);
        else
            ash__answer_text(x, 409, "somebody else changed it meanwhile; try again: %s",
                             err->text);
        return;
    case ASH_ECONDITION:
        ash__answer_text(x, 412, "%s", err->text);
        return;
    case ASH_ELOST:
        ash__answer_text(x, 423, "somebody has locked it meanwhile: %s", err->text);
        return;
    case ASH_ENOTFOUND:
        ash__answer_text(x, 409, "%s", err->text);
        return;
    case ASH_ENOSPC:
        if (err->server_code == ASH_MONGO_LOCATION_QUOTA_EXCEEDED)
            answer_over_quota(x, err);
        else
            ash__answer_error(x, err);
        return;
    default:
        ash__answer_error(x, err);
    }
}

/* Small ones are told at their commit, which costs no more. */
enum { ROOM_LOOK_BYTES = 1024 * 1024 };

bool ash__dav_check_room(ash_dav *dav, ash_exchange *x, const char *path,
                         const ash_tree_entry *there, int64_t bytes)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    const char *slash = strrchr(path, '/');
    if (bytes <= ROOM_LOOK_BYTES || slash == NULL)
        return true;
    char *folder =
        slash == path ? ash__strdup("/") : ash__sprintf("%.*s", (int)(slash - path), path);
    int rc = ash_tree_get_quota(dav->tree, there != NULL ? path : folder, x->op, &q, NULL, NULL);
    ash__free(folder);
    int64_t more = bytes - (there != NULL ? ash_tree_entry_length(there) : 0);
    if (rc != 0 || q.available_bytes < 0 || more <= 0 || more <= q.available_bytes)
        return true; /* or the commit says what is wrong */
    ash__fail_server(&err, ASH_ENOSPC, ASH_MONGO_LOCATION_QUOTA_EXCEEDED,
                     "over quota: there is no room for %lld bytes more", (long long)more);
    ash__dav_answer_change(x, &err);
    return false;
}

/* ---- what a request says of its file ---- */

/* When the client's system changed it (ownCloud's and Nextcloud's clients, rclone), in seconds; what
 * cannot be is not counted. */
static int64_t modified_of(const ash_exchange *x)
{
    const char *text = ash__head_field(x->head, "X-OC-Mtime");
    char *end;
    double s = text != NULL ? strtod(text, &end) : 0;
    if (text == NULL || end == text || *end != '\0' || !(s >= 0.001 && s < 253402300800.0))
        return 0;
    return (int64_t)(s * 1000);
}

/* What clients send when they know nothing says nothing. */
static const char *type_of(const ash_exchange *x)
{
    static const char *const nothing[] = {"application/octet-stream",
                                          "application/x-www-form-urlencoded", ASH_DAV_PATCH_TYPE};
    const char *type = ash__head_field(x->head, "Content-Type");
    size_t len = type != NULL ? strcspn(type, "; \t") : 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(nothing); i++)
        if (strlen(nothing[i]) == len && strncasecmp(type, nothing[i], len) == 0)
            return NULL;
    return len > 0 && strlen(type) < 256 ? type : NULL;
}

/* ---- opening ---- */

/* false: x is answered. */
static bool check_place(ash_dav_upload *u, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *folder = NULL;
    if (strcmp(u->path, "/") == 0 || x->target.is_folder) {
        ash__answer_text(x, 405, "a folder has no content to be put there; MKCOL makes one");
        return false;
    }
    int rc = ash__dav_lookup_parent(u->dav, x->op, u->path, &folder, &err);
    bool there = folder != NULL;
    ash_tree_entry_free(folder);
    if (rc != 0)
        ash__answer_error(x, &err);
    else if (!there)
        ash__answer_text(x, 409, "the folder that %s would lie in is not there", u->path);
    return rc == 0 && there;
}

bool ash__dav_upload_look(ash_dav_upload *u, ash_dav *dav, ash_exchange *x, const char *path)
{
    u->dav = dav;
    u->path = ash__strdup(path);
    if (!check_place(u, x) || !ash__dav_guard(dav, x, path, ASH_GUARD_BYTES, &u->guard))
        return false;
    if (u->guard.entry != NULL && ash_tree_entry_is_folder(u->guard.entry)) {
        ash__answer_text(x, 405, "%s is a folder", path);
        return false;
    }
    u->opts = (ash_tree_change_options)ASH_TREE_CHANGE_OPTIONS_INIT;
    u->opts.fence = u->guard.fence;
    u->opts.if_version = u->guard.if_version;
    u->opts.if_absent = u->guard.if_absent;
    u->opts.content_type = type_of(x);
    u->opts.modified_ms = modified_of(x);
    return true;
}

/* Is there room for what it may come to? */
static bool count_in(ash_dav_upload *u, ash_exchange *x, int64_t bytes)
{
    if (bytes >= 0 && bytes <= ASH_DAV_SMALL_BYTES)
        return true;
    u->counted = bytes < 0 || bytes > ASH_DAV_PIECE_BYTES ? ASH_DAV_PIECE_BYTES : bytes;
    if (atomic_fetch_add(&u->dav->upload_bytes, u->counted) + u->counted <= ASH_DAV_UPLOADS_BYTES)
        return true;
    ash__answer_field(x, "Retry-After", "2");
    ash__answer_text(x, 503, "too many large files are being uploaded at once; try again");
    return false;
}

bool ash__dav_upload_begin(ash_dav_upload *u, ash_exchange *x, int64_t bytes)
{
    ash_error err = ASH_ERROR_INIT;
    if (!ash__dav_check_room(u->dav, x, u->path, u->guard.entry, bytes) || !count_in(u, x, bytes))
        return false;
    if (ash_tree_open_writer(u->dav->tree, u->path, &u->opts, x->op, &u->writer, &err) == 0)
        return true;
    /* A name that was free a moment ago, and had to be. */
    if (err.code == ASH_EEXISTS)
        err.code = ASH_ECONDITION;
    ash__dav_answer_change(x, &err);
    return false;
}

void ash__dav_upload_finish(ash_dav_upload *u, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    char etag[ASH_ETAG_BYTES];
    if (!ash__dav_guard_again(&u->guard))
        return;
    if (ash_tree_writer_finish(u->writer, NULL, &e, &err) != 0) {
        if (err.code == ASH_EEXISTS)
            err.code = ASH_ECONDITION;
        ash__dav_answer_change(x, &err);
        return;
    }
    ash__dav_etag(e, etag);
    ash__answer_field(x, "ETag", "%s", etag);
    if (u->opts.modified_ms != 0)
        ash__answer_field(x, "X-OC-Mtime", "accepted");
    ash__answer_empty(x, u->guard.entry == NULL ? 201 : 204);
    ash_tree_entry_free(e);
}

void ash__dav_upload_release(ash_dav_upload *u)
{
    ash_tree_writer_free(u->writer);
    ash__dav_guard_release(&u->guard);
    if (u->counted > 0)
        atomic_fetch_sub(&u->dav->upload_bytes, u->counted);
    ash__free(u->path);
}
