/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/upload.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Such a one is in memory in part (dav.h's tree says how much), for as long as its client takes. */
enum { LARGE_BYTES = 64 * 1024, MAX_LARGE = 24 };

void ash__dav_answer_change(ash_exchange *x, const ash_error *err)
{
    switch (err->code) {
    case ASH_ECONFLICT:
    case ASH_ECONDITION:
        ash__answer_text(x, 412, "%s", err->text);
        return;
    case ASH_ELOST:
        ash__answer_text(x, 423, "somebody has locked it meanwhile: %s", err->text);
        return;
    case ASH_ENOTFOUND:
        ash__answer_text(x, 409, "%s", err->text);
        return;
    default:
        ash__answer_error(x, err);
    }
}

/* What a client says the file's time is (ownCloud's and Nextcloud's clients, rclone). */
static int64_t modified_of(ash_exchange *x)
{
    const char *text = ash__head_field(x->head, "X-OC-Mtime");
    char *end;
    double s = text != NULL ? strtod(text, &end) : 0;
    if (text == NULL || end == text || *end != '\0' || !(s > 0 && s < 253402300800.0))
        return 0;
    ash__answer_field(x, "X-OC-Mtime", "accepted");
    return (int64_t)(s * 1000);
}

/* What clients send when they know nothing says nothing. */
static const char *type_of(const ash_exchange *x)
{
    static const char *const nothing[] = {"application/octet-stream",
                                          "application/x-www-form-urlencoded", ASH_DAV_PATCH_TYPE};
    const char *type = ash__head_field(x->head, "Content-Type");
    for (size_t i = 0; type != NULL && i < ASH_ARRAY_LEN(nothing); i++)
        if (strcasecmp(type, nothing[i]) == 0)
            return NULL;
    return type != NULL && type[0] != '\0' && strlen(type) < 256 ? type : NULL;
}

/* false: x is answered. */
static bool check_place(ash_dav_upload *u, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *folder = NULL;
    if (strcmp(u->path, "/") == 0 || x->target.is_folder) {
        ash__answer_text(x, 405, "a folder has no content to be put there; MKCOL makes one");
        return false;
    }
    int rc = ash__dav_lookup_parent(u->dav, u->path, &folder, &err);
    bool there = folder != NULL;
    ash_tree_entry_free(folder);
    if (rc != 0)
        ash__answer_error(x, &err);
    else if (!there)
        ash__answer_text(x, 409, "the folder that %s would lie in is not there", u->path);
    return rc == 0 && there;
}

static bool count_in(ash_dav_upload *u, ash_exchange *x, int64_t bytes)
{
    if (bytes >= 0 && bytes <= LARGE_BYTES)
        return true;
    u->counted = true;
    if (atomic_fetch_add(&u->dav->uploads, 1) < MAX_LARGE)
        return true;
    ash__answer_field(x, "Retry-After", "2");
    ash__answer_text(x, 503, "there are %d large uploads at once already", (int)MAX_LARGE);
    return false;
}

bool ash__dav_upload_open(ash_dav_upload *u, ash_dav *dav, ash_exchange *x, const char *path,
                          int64_t bytes)
{
    ash_error err = ASH_ERROR_INIT;
    u->dav = dav;
    u->path = ash__strdup(path);
    if (!check_place(u, x) || !ash__dav_guard(dav, x, path, ASH_GUARD_BYTES, &u->guard))
        return false;
    if (u->guard.entry != NULL && ash_tree_entry_is_folder(u->guard.entry)) {
        ash__answer_text(x, 405, "%s is a folder", path);
        return false;
    }
    if (!count_in(u, x, bytes))
        return false;
    u->is_new = u->guard.entry == NULL;
    u->opts = (ash_tree_change_options)ASH_TREE_CHANGE_OPTIONS_INIT;
    u->opts.fence = u->guard.fence;
    u->opts.if_version = u->guard.if_version;
    u->opts.if_absent = u->guard.if_absent;
    u->opts.content_type = type_of(x);
    u->opts.modified_ms = modified_of(x);
    if (ash_tree_open_writer(dav->tree, path, &u->opts, NULL, &u->writer, &err) == 0)
        return true;
    ash__dav_answer_change(x, &err);
    return false;
}

void ash__dav_upload_finish(ash_dav_upload *u, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    char etag[ASH_ETAG_BYTES];
    if (ash_tree_writer_finish(u->writer, NULL, &e, &err) != 0) {
        /* A name that was free a moment ago, and had to be. */
        if (err.code == ASH_EEXISTS)
            err.code = ASH_ECONDITION;
        ash__dav_answer_change(x, &err);
        return;
    }
    ash__dav_etag(e, etag);
    ash__answer_field(x, "ETag", "%s", etag);
    ash__answer_empty(x, u->is_new ? 201 : 204);
    ash_tree_entry_free(e);
}

void ash__dav_upload_release(ash_dav_upload *u)
{
    ash_tree_writer_free(u->writer);
    ash__dav_guard_release(&u->guard);
    if (u->counted)
        atomic_fetch_sub(&u->dav->uploads, 1);
    ash__free(u->path);
}
