/* SPDX-License-Identifier: Apache-2.0 */
#include "http/site/shared.h"

#include "base/log.h"
#include "base/mem.h"
#include "http/dav/bytes.h"
#include "http/gate/trace.h"

#include <string.h>

/* ---- finding ---- */

static bool split(const char *rest, char token[ASH_SHARE_TOKEN_BYTES], const char **below)
{
    size_t len = rest[0] == '/' ? strcspn(rest + 1, "/") : 0;
    if (len != ASH_SHARE_TOKEN_BYTES - 1)
        return false;
    memcpy(token, rest + 1, len);
    token[len] = '\0';
    *below = rest + 1 + len;
    return true;
}

static const ash_site_mount *mount_of(const ash_site *site, const char *root)
{
    for (size_t i = 0; i < site->mount_count; i++)
        if (strcmp(site->mounts[i].root, root) == 0)
            return &site->mounts[i];
    return NULL;
}

int ash__shared_find(ash_site *site, const char *rest, ash_shared *out, ash_error *err)
{
    char token[ASH_SHARE_TOKEN_BYTES];
    *out = (ash_shared){0};
    if (!split(rest, token, &out->below))
        return ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    int rc = ash__share_find(site->shares, token, &out->share, err);
    if (rc != 0)
        return rc;
    out->mount = mount_of(site, out->share.root);
    if (out->mount == NULL)
        return ash__fail(err, ASH_ENOTFOUND, "there is no such share");
    rc = ash__share_entry(&out->share, out->mount->tree, &out->top, err);
    if (rc != 0)
        return rc;
    const char *top = ash_tree_entry_path(out->top);
    out->path =
        ash__sprintf("%s%s", strcmp(top, "/") == 0 && out->below[0] != '\0' ? "" : top, out->below);
    return 0;
}

void ash__shared_release(ash_shared *s)
{
    ash__share_release(&s->share);
    ash_tree_entry_free(s->top);
    ash__free(s->path);
}

bool ash__shared_stays(const ash_shared *s)
{
    ash_tree_entry *now = NULL;
    bool stays = ash__share_entry(&s->share, s->mount->tree, &now, NULL) == 0 &&
                 strcmp(ash_tree_entry_path(now), ash_tree_entry_path(s->top)) == 0;
    ash_tree_entry_free(now);
    return stays;
}

/* ---- answers ---- */

void ash__shared_fields(ash_exchange *x)
{
    ash__answer_field(x, "Referrer-Policy", "no-referrer");
    ash__answer_field(x, "X-Robots-Tag", "noindex");
}

void ash__shared_answer_failure(ash_exchange *x, int status)
{
    ash__buffer_clear(&x->body);
    ash__buffer_clear(&x->fields);
    x->status = 0;
    x->is_streamed = false;
    ash__shared_fields(x);
    ash__answer_field(x, "Cache-Control", "no-store");
    if (status == 404)
        ash__answer_text(
            x, 404, "Nothing is here. The link may have expired, or somebody has taken it back.");
    else
        ash__answer_text(x, status, "%s", ash__status_text(status));
}

void ash__shared_answer_missing(ash_exchange *x)
{
    ash__shared_answer_failure(x, 404);
}

/* Texts of failures have paths in them. */
static void hide_failure(ash_exchange *x)
{
    /* What the client did not say right is about nothing but its own request. */
    bool own = x->status == 412 || x->status == 416 || x->status == 400;
    if (x->status >= 400 && !own)
        ash__shared_answer_failure(x, x->status);
}

/* ---- reading ---- */

/* e is taken over. */
static void send_file(const ash_shared *s, ash_exchange *x, ash_tree_entry *e)
{
    ash__shared_fields(x);
    if (!ash__http_target_flag(&x->target, "download"))
        ash__dav_disposition(x, "inline", ash_tree_entry_name(e));
    ash__dav_send_file(x, s->mount->dav, e);
}

static void send_folder(const ash_shared *s, ash_exchange *x)
{
    char *format = NULL;
    if (ash__http_target_query(&x->target, "format", &format)) {
        ash__shared_fields(x);
        ash__site_pack(s->mount, x, s->path, 0);
    } else if (!x->target.is_folder) {
        ash__shared_fields(x);
        ash__site_redirect_to_folder(x);
    } else {
        ash__shared_page(s, x);
    }
    ash__free(format);
}

static void read_shared(const ash_shared *s, ash_exchange *x)
{
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__dav_lookup(s->mount->dav, NULL, s->path, &e, &err);
    if (rc != 0)
        ash__shared_answer_failure(x, ash__status_of(rc));
    else if (e == NULL || !ash__shared_stays(s))
        ash__shared_answer_missing(x);
    else if (ash_tree_entry_is_folder(e))
        send_folder(s, x);
    else if (x->target.is_folder)
        ash__shared_answer_missing(x);
    else {
        send_file(s, x, e);
        e = NULL;
    }
    ash_tree_entry_free(e);
    /* What was opened by its path meanwhile. */
    if (x->status < 300 && x->status != 0 && !ash__shared_stays(s))
        ash__shared_answer_missing(x);
    hide_failure(x);
}

/* Which link it is, and what lies behind it; true: x is answered. */
static bool trace(const ash_shared *s, ash_exchange *x)
{
    char id[25];
    bson_oid_to_string(&s->share.id, id);
    ash__trace_path(x, s->mount->prefix, s->path);
    return ash__trace_link(x, id);
}

void ash__site_share(ash_site *site, ash_exchange *x, const char *rest)
{
    ash_shared s;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__shared_find(site, rest, &s, &err);
    if (rc == 0 && trace(&s, x)) {
        ash__shared_answer_failure(x, x->status);
        ash__shared_release(&s);
        return;
    }
    if (rc == 0 && s.share.upload) {
        ash__shared_upload(site, &s, x);
        return;
    }
    if (rc == ASH_ENOTFOUND) {
        ash__shared_answer_missing(x);
    } else if (rc != 0) {
        ash__log(ASH_LOG_ERROR, "a share cannot be read: %s", err.text);
        ash__shared_answer_failure(x, ash__status_of(rc));
    } else if (strcmp(x->method, "GET") != 0 && !x->is_head) {
        ash__shared_fields(x);
        ash__answer_field(x, "Allow", "GET, HEAD");
        ash__answer_text(x, 405, "it can be read, and nothing else");
    } else {
        read_shared(&s, x);
    }
    ash__shared_release(&s);
}
