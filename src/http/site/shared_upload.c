/* SPDX-License-Identifier: Apache-2.0 */
/* New files by a link: as a form sends them, or by PUT.  Each is one commit; of several in a form,
 * those that came whole stay, also when the connection ends amid the next one.  No answer tells what
 * lies in the folder, and a name that is taken gets a number without a word. */
#include "base/mem.h"
#include "http/dav/sums.h"
#include "http/dav/upload.h"
#include "http/gate/trace.h"
#include "http/json.h"
#include "http/multipart.h"
#include "http/site/shared.h"

#include <string.h>
#include <strings.h>

enum { MAX_NAMES = 8 }; /* that are taken just between the look and the commit */

typedef struct receiving {
    ash_site *site;
    ash_shared shared;
    char by[40]; /* who changed the tree, as far as we know */

    /* The file whose bytes come. */
    ash_dav_upload upload;
    bool is_open;
    char *path;         /* ours until it is there */
    char *name;         /* as it was sent */
    int64_t bytes;      /* that came of it */
    ash_dav_sums *sums; /* that were sent along with a PUT, or NULL */

    ash_multipart form;
    ash_buffer came; /* HTML: the names of what is there */
    int count;
} receiving;

static void close_file(receiving *r)
{
    if (r->is_open)
        ash__dav_upload_release(&r->upload);
    r->upload = (ash_dav_upload){0};
    r->is_open = false;
    ash__site_name_leave(r->site->names, r->path);
    ash__free(r->name);
    r->path = r->name = NULL;
    r->bytes = 0;
}

static void release(ash_exchange *x)
{
    receiving *r = x->state;
    close_file(r);
    ash__dav_sums_free(r->sums);
    ash__multipart_release(&r->form);
    ash__buffer_release(&r->came);
    ash__shared_release(&r->shared);
    ash__free(r);
}

/* ---- one file ---- */

/* What a path was said in; the client knows of none. */
static void hide(ash_exchange *x)
{
    int status = x->status;
    ash__shared_answer_failure(x, status);
    if (status == 503)
        ash__answer_field(x, "Retry-After", "2");
}

/* What whoever made the link lends is not without end.  One more file, of so many bytes at least;
 * what was taken meanwhile is seen in the end (ash__share_count).  false: x is answered. */
static bool check_room(const receiving *r, ash_exchange *x, int64_t bytes)
{
    const ash_share *s = &r->shared.share;
    if ((s->max_files == 0 || s->used_files < s->max_files) &&
        (s->max_bytes == 0 || s->used_bytes + bytes <= s->max_bytes))
        return true;
    ash__shared_answer_failure(x, 413);
    return false;
}

/* type: NULL, nobody said one.  bytes: that it will have at least.  false: x is answered. */
static bool open_file(receiving *r, ash_exchange *x, const char *name, const char *type,
                      int64_t bytes)
{
    ash_error err = ASH_ERROR_INIT;
    if (!check_room(r, x, bytes))
        return false;
    int rc = ash__site_name_take(r->site->names, &r->shared, name, &r->path, &err);
    if (rc != 0) {
        ash__shared_answer_failure(x, ash__status_of(rc));
        return false;
    }
    r->name = ash__strdup(name);
    r->is_open = true;
    if (ash__dav_upload_look(&r->upload, r->shared.mount->dav, x, r->path)) {
        r->upload.opts.if_absent = true;
        r->upload.opts.changed_by = r->by;
        /* The room is lent, as the right to write is. */
        r->upload.opts.written_by = r->shared.share.by;
        r->upload.opts.content_type = type;
        if (ash__dav_upload_begin(&r->upload, x, x->body_length))
            return true;
    }
    hide(x);
    return false;
}

static bool write_file(receiving *r, ash_exchange *x, const void *data, size_t len)
{
    ash_error err = ASH_ERROR_INIT;
    r->bytes += (int64_t)len;
    if (!check_room(r, x, r->bytes))
        return false;
    if (ash_tree_writer_write(r->upload.writer, data, len, &err) == 0)
        return true;
    ash__shared_answer_failure(x, ash__status_of(err.code));
    return false;
}

/* Bytes may have come for hours: is the link good still, and its folder where it was?  false: x is
 * answered. */
static bool check_link(receiving *r, ash_exchange *x)
{
    ash_shared now;
    ash_error err = ASH_ERROR_INIT;
    int rc =
        ash__shared_find(r->site, x->target.path + strlen(ASH_SITE_RESERVED "/share"), &now, &err);
    if (rc != 0)
        ash__shared_answer_failure(x, ash__status_of(rc));
    else if (strcmp(ash_tree_entry_path(now.top), ash_tree_entry_path(r->shared.top)) != 0)
        ash__shared_answer_failure(x, 409);
    ash__shared_release(&now);
    return x->status == 0;
}

/* A name that somebody else took meanwhile is given up for another one. */
static int take_other_name(receiving *r, ash_error *err)
{
    char *path = NULL;
    int rc = ash__site_name_take(r->site->names, &r->shared, r->name, &path, err);
    if (rc == 0)
        rc = ash_tree_writer_redirect(r->upload.writer, path, err);
    ash__site_name_leave(r->site->names, rc == 0 ? r->path : path);
    if (rc == 0)
        r->path = path;
    return rc;
}

static int commit_file(receiving *r, ash_error *err)
{
    int rc = ash__share_count(r->site->shares, &r->shared.share, r->bytes, err);
    if (rc != 0)
        return rc;
    rc = ash_tree_writer_finish(r->upload.writer, NULL, NULL, err);
    for (int i = 0; i < MAX_NAMES && rc == ASH_EEXISTS; i++) {
        *err = (ash_error)ASH_ERROR_INIT;
        rc = take_other_name(r, err);
        if (rc == 0)
            rc = ash_tree_writer_finish(r->upload.writer, NULL, NULL, err);
    }
    if (rc != 0)
        ash__share_uncount(r->site->shares, &r->shared.share, r->bytes, NULL);
    return rc;
}

static bool finish_file(receiving *r, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    if (!check_link(r, x))
        return false;
    if (!ash__dav_guard_again(&r->upload.guard)) {
        hide(x);
        return false;
    }
    if (commit_file(r, &err) != 0) {
        ash__dav_answer_change(x, &err);
        hide(x);
        return false;
    }
    r->count++;
    ash__trace_name(x, strrchr(r->path, '/') + 1);
    r->shared.share.used_files++;
    r->shared.share.used_bytes += r->bytes;
    ash__buffer_append_text(&r->came, "<li><bdi>");
    ash__html_text(&r->came, r->name);
    ash__buffer_append_text(&r->came, "</bdi></li>");
    close_file(r);
    return true;
}

/* ---- a form ---- */

/* What browsers say of what they do not know says nothing. */
static const char *type_of(const char *type)
{
    size_t len = type != NULL ? strlen(type) : 0;
    return len > 0 && len < 256 && strcasecmp(type, "application/octet-stream") != 0 ? type : NULL;
}

/* false: x is answered. */
static bool take_event(receiving *r, ash_exchange *x, int event, const char *piece, size_t len)
{
    const char *name = r->form.file_name;
    switch (event) {
    case ASH_MULTIPART_PART:
        /* A field of another kind, or a form in which no file was chosen. */
        return name == NULL || name[0] == '\0' || open_file(r, x, name, type_of(r->form.type), 0);
    case ASH_MULTIPART_DATA:
        return !r->is_open || write_file(r, x, piece, len);
    case ASH_MULTIPART_PART_END:
        return !r->is_open || finish_file(r, x);
    default:
        return true;
    }
}

static void take_form(ash_exchange *x, const void *data, size_t len)
{
    receiving *r = x->state;
    const char *at = data;
    for (;;) {
        size_t used = 0, piece_len = 0;
        const char *piece = NULL;
        int event = ash__multipart_next(&r->form, at, len, &used, &piece, &piece_len);
        at += used;
        len -= used;
        if (event == ASH_MULTIPART_BAD)
            ash__answer_text(x, 400, "%s", r->form.why);
        if (event <= ASH_MULTIPART_MORE || event == ASH_MULTIPART_END ||
            !take_event(r, x, event, piece, piece_len))
            return;
    }
}

static void finish_form(ash_exchange *x)
{
    receiving *r = x->state;
    size_t used, len;
    const char *piece;
    if (ash__multipart_next(&r->form, "", 0, &used, &piece, &len) != ASH_MULTIPART_END) {
        ash__answer_text(x, 400, "the form has no end");
    } else if (r->count == 0) {
        ash__shared_form(x, 400, "<p class=\"bad\">There was no file in it.</p>");
    } else {
        char *said =
            ash__sprintf("<p>Thank you, this has come:</p><ul>%s</ul>", ash__buffer_text(&r->came));
        ash__shared_form(x, 201, said);
        ash__free(said);
    }
}

static void begin_form(receiving *r, ash_exchange *x)
{
    if (!ash__multipart_init(&r->form, ash__head_field(x->head, "Content-Type"))) {
        ash__answer_text(x, 415,
                         "files come as a form (multipart/form-data), or one by one by PUT");
        return;
    }
    /* It is the folder that is posted to, and a file that is put. */
    x->target.is_folder = false;
    x->take = take_form;
    x->finish = finish_form;
}

/* ---- PUT ---- */

static void take_bytes(ash_exchange *x, const void *data, size_t len)
{
    receiving *r = x->state;
    ash__dav_sums_add(r->sums, data, len);
    write_file(r, x, data, len);
}

static void finish_bytes(ash_exchange *x)
{
    receiving *r = x->state;
    const char *broken = ash__dav_sums_broken(r->sums);
    if (broken != NULL) {
        ash__answer_text(x, 400, "what came does not give the %s that was sent along", broken);
    } else if (finish_file(r, x)) {
        ash__shared_fields(x);
        ash__answer_text(x, 201, "received");
    }
}

static void begin_put(receiving *r, ash_exchange *x)
{
    const char *name = r->shared.below[0] == '/' ? r->shared.below + 1 : "";
    const char *type = ash__head_field(x->head, "Content-Type");
    bool bad;
    r->sums = ash__dav_sums_new(x->head, &bad);
    if (bad)
        ash__answer_text(x, 400, "a digest that was sent along is none");
    else if (name[0] == '\0' && r->shared.below[0] == '\0')
        ash__answer_text(x, 400, "a file needs a name behind the link: LINK/NAME");
    else if (x->target.is_folder || strchr(name, '/') != NULL)
        ash__shared_answer_missing(x);
    else if (ash__head_field(x->head, "Content-Range") != NULL ||
             ash__head_field(x->head, "Content-Encoding") != NULL)
        ash__answer_text(x, 400, "a file is sent whole, and as it is");
    else if (open_file(r, x, name, type_of(type), x->body_length < 0 ? 0 : x->body_length)) {
        x->take = take_bytes;
        x->finish = finish_bytes;
    }
}

/* ---- requests ---- */

/* Its conditions can name anything in the tree, and the answer would tell whether they hold. */
static bool asks_for_more(const ash_exchange *x)
{
    return ash__head_field(x->head, "If") != NULL;
}

static void begin(receiving *r, ash_exchange *x)
{
    bool is_top = r->shared.below[0] == '\0';
    if (asks_for_more(x))
        ash__answer_text(x, 400, "the If field has no meaning here");
    else if (strcmp(x->method, "PUT") == 0)
        begin_put(r, x);
    else if (!is_top)
        ash__shared_answer_missing(x);
    else if (strcmp(x->method, "POST") == 0)
        begin_form(r, x);
    else if (strcmp(x->method, "GET") == 0 || x->is_head)
        ash__shared_form(x, 200, "");
    else {
        ash__shared_fields(x);
        ash__answer_field(x, "Allow", "GET, HEAD, POST, PUT");
        ash__answer_text(x, 405, "new files can be put here, and nothing else");
    }
}

void ash__shared_upload(ash_site *site, ash_shared *s, ash_exchange *x)
{
    char id[25];
    if (!ash_tree_entry_is_folder(s->top)) {
        ash__shared_release(s);
        ash__shared_answer_missing(x);
        return;
    }
    receiving *r = ash__new(receiving);
    r->site = site;
    r->shared = *s;
    bson_oid_to_string(&s->share.id, id);
    snprintf(r->by, sizeof r->by, "link %s", id);
    x->state = r;
    x->release = release;
    begin(r, x);
}
