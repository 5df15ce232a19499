/* SPDX-License-Identifier: Apache-2.0 */
/* Links to what lies in a tree: made, listed, taken back. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/date.h"
#include "http/gate/trace.h"
#include "http/site/api.h"

#include <string.h>

/* A moment, "never", or nothing: a week.  false: x is answered. */
static bool read_end(ash_api_call *c, int64_t *ms)
{
    char *text = ash__api_text(c, "expires");
    bool good = true;
    *ms = 0;
    if (text == NULL)
        *ms = ash__clock_wall_ms() + ASH_SHARE_DEFAULT_MS;
    else if (strcmp(text, "never") != 0)
        good = ash__date_parse_iso(text, ms) && *ms > ash__clock_wall_ms();
    ash__free(text);
    if (!good)
        ash__api_refuse(c, 400, "EINVAL",
                        "`expires` is \"never\", or a time to come such as 2026-01-31T12:00:00Z");
    return good;
}

/* Of an upload; 0 is no bound. */
static bool read_bounds(ash_api_call *c, ash_share *share)
{
    bson_iter_t at;
    bool any = bson_iter_init_find(&at, c->body, "max_bytes") ||
               bson_iter_init_find(&at, c->body, "max_files");
    share->max_bytes = ash__api_number(c, "max_bytes", ASH_SHARE_DEFAULT_BYTES);
    share->max_files = ash__api_number(c, "max_files", ASH_SHARE_DEFAULT_FILES);
    bool good = share->upload ? share->max_bytes >= 0 && share->max_bytes <= ASH_SHARE_MAX_BYTES &&
                                    share->max_files >= 0 && share->max_files <= INT32_MAX
                              : !any;
    if (!good)
        ash__api_refuse(c, 400, "EINVAL",
                        "`max_bytes` and `max_files` are of an upload, and 0 for no bound");
    return good;
}

static bool read_right(ash_api_call *c, bool *upload)
{
    char *right = ash__api_text(c, "right");
    bool good = right == NULL || strcmp(right, "read") == 0 || strcmp(right, "upload") == 0;
    *upload = good && right != NULL && right[0] == 'u';
    ash__free(right);
    if (!good)
        ash__api_refuse(c, 400, "EINVAL", "`right` is \"read\" or \"upload\"");
    return good;
}

/* e: what is shared, or NULL where it is not there. */
static void add_share(ash_api_call *c, const ash_site_mount *m, const ash_share *share,
                      const ash_tree_entry *e)
{
    char id[25];
    bson_oid_to_string(&share->id, id);
    char *path = e != NULL ? ash__sprintf("%s%s", m->prefix, ash_tree_entry_path(e)) : NULL;
    ash__json_add_text(&c->out, "id", id);
    ash__json_add_text(&c->out, "path", path);
    ash__json_add_text(&c->out, "right", share->upload ? "upload" : "read");
    ash__json_add_time(&c->out, "created", share->created_ms);
    ash__json_add_time(&c->out, "expires", share->expires_ms);
    if (share->by != NULL && share->by[0] != '\0')
        ash__json_add_text(&c->out, "by", share->by);
    if (share->upload) {
        ash__json_add_int(&c->out, "maxBytes", share->max_bytes);
        ash__json_add_int(&c->out, "usedBytes", share->used_bytes);
        ash__json_add_int(&c->out, "maxFiles", share->max_files);
        ash__json_add_int(&c->out, "usedFiles", share->used_files);
    }
    ash__free(path);
}

static int count(ash_api_call *c, const ash_op *op, int64_t *n)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    o.recursive = true;
    *n = -1;
    int rc = ash_tree_list(c->mount->tree, c->path, &o, op, &l, &err);
    do
        ++*n;
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, &err)) == 0 && e != NULL);
    ash_tree_listing_free(l);
    return rc;
}

/* A link asks nobody: so it leads to nothing that its maker may not see, and takes files only where
 * its maker may put some. */
static bool may_lend(ash_api_call *c, const ash_share *share, const ash_tree_entry *e)
{
    int64_t all, seen;
    if (c->x->op == NULL)
        return true;
    if (share->upload)
        return ash__site_may(c->site, c->x, ASH_SITE_NEEDS_CHANGE) &&
               ash__dav_allows(c->mount->dav, c->x->op, c->path, ASH_TREE_WRITE | ASH_TREE_ENTER);
    return !ash_tree_entry_is_folder(e) ||
           (count(c, NULL, &all) == 0 && count(c, c->x->op, &seen) == 0 && all == seen);
}

/* Which link it is, and never the link. */
static void note(ash_api_call *c, const ash_share *share)
{
    char id[25];
    bson_oid_to_string(&share->id, id);
    ash__trace_text(c->x, "id", id);
    ash__trace_text(c->x, "right", share->upload ? "upload" : "read");
}

static void make(ash_api_call *c, ash_share *share)
{
    char token[ASH_SHARE_TOKEN_BYTES];
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    int rc = ash_tree_get(c->mount->tree, c->path, NULL, c->x->op, &e, &err);
    if (rc == 0 && share->upload && !ash_tree_entry_is_folder(e))
        ash__api_refuse(c, 400, "EINVAL", "files are uploaded into a folder");
    else if (rc == 0 && !may_lend(c, share, e))
        rc = ash__fail(&err, ASH_EACCES, "nobody lends what is not theirs");
    else if (rc == 0) {
        bson_value_copy(ash_tree_entry_id(e), &share->entry);
        rc = ash__share_create(c->site->shares, share, token, &err);
    }
    if (rc != 0) {
        ash__api_fail(c, &err);
    } else if (c->x->status == 0) {
        char *url = ash__sprintf(ASH_SHARE_URL "%s", token);
        note(c, share);
        ash__buffer_append_byte(&c->out, '{');
        add_share(c, c->mount, share, e);
        ash__json_add_text(&c->out, "url", url);
        ash__buffer_append_byte(&c->out, '}');
        ash__free(url);
    }
    ash_tree_entry_free(e);
}

static void run_share(ash_api_call *c)
{
    ash_share share = {0};
    const ash_principal *who = c->x->op != NULL ? c->x->op->principal : NULL;
    share.root = ash__strdup(ash_tree_root(c->mount->tree));
    if (who != NULL && who->user != NULL)
        share.by = ash__text_user(who->user, who->db);
    if (read_right(c, &share.upload) && read_end(c, &share.expires_ms) && read_bounds(c, &share))
        make(c, &share);
    ash__share_release(&share);
}

/* *e: what is shared, yours; NULL where it is gone.  ASH_ENOTFOUND: the user may not know of it. */
static int look_at(const ash_site_mount *m, const ash_op *op, const ash_share *share,
                   ash_tree_entry **e, ash_error *err)
{
    *e = NULL;
    int rc = ash__share_entry(share, m->tree, e, err);
    if (rc != 0 && (rc != ASH_ENOTFOUND || op != NULL))
        return rc;
    if (op == NULL || ash__dav_allows(m->dav, op, ash_tree_entry_path(*e), ASH_TREE_READ))
        return 0;
    ash_tree_entry_free(*e);
    *e = NULL;
    return ash__fail(err, ASH_ENOTFOUND, "there is no such share");
}

static int list_one(void *ctx, const ash_share *share, ash_error *err)
{
    ash_api_call *c = ctx;
    ash_tree_entry *e = NULL;
    if (strcmp(share->root, c->mount->root) != 0)
        return 0;
    int rc = look_at(c->mount, c->x->op, share, &e, err);
    if (rc != 0)
        return rc == ASH_ENOTFOUND ? 0 : rc;
    ash__json_comma(&c->out);
    ash__buffer_append_byte(&c->out, '{');
    add_share(c, c->mount, share, e);
    ash__buffer_append_byte(&c->out, '}');
    ash_tree_entry_free(e);
    return 0;
}

static void run_shares(ash_api_call *c)
{
    ash_error err = ASH_ERROR_INIT;
    ash__buffer_append_text(&c->out, "{\"shares\":[");
    if (ash__share_each(c->site->shares, list_one, c, &err) != 0)
        ash__api_fail(c, &err);
    else
        ash__buffer_append_text(&c->out, "]}");
}

typedef struct sought {
    const ash_api_call *c;
    const char *id;
    bool found;
} sought;

static int find_one(void *ctx, const ash_share *share, ash_error *err)
{
    sought *s = ctx;
    const ash_site *site = s->c->site;
    ash_tree_entry *e = NULL;
    char id[25];
    bson_oid_to_string(&share->id, id);
    for (size_t i = 0; strcmp(id, s->id) == 0 && i < site->mount_count; i++)
        if (strcmp(share->root, site->mounts[i].root) == 0 &&
            look_at(&site->mounts[i], s->c->x->op, share, &e, err) == 0)
            s->found = true;
    ash_tree_entry_free(e);
    return 0;
}

/* A link to what the user may not see is not there; who has the link itself knows of it. */
static int check_known(const ash_api_call *c, const char *id, ash_error *err)
{
    sought s = {c, id, false};
    if (c->x->op == NULL || ash__share_is_token(id))
        return 0;
    int rc = ash__share_each(c->site->shares, find_one, &s, err);
    return rc == 0 && !s.found ? ash__fail(err, ASH_ENOTFOUND, "there is no such share") : rc;
}

static void run_unshare(ash_api_call *c)
{
    ash_error err = ASH_ERROR_INIT;
    char *id = ash__api_text(c, "id");
    /* Who shows the link itself instead is not told with it. */
    if (id != NULL && bson_oid_is_valid(id, strlen(id)))
        ash__trace_text(c->x, "id", id);
    if (id == NULL)
        ash__api_refuse(c, 400, "EINVAL", "`id` is needed: of something that `shares` lists");
    else if (check_known(c, id, &err) != 0 || ash__share_remove(c->site->shares, id, &err) != 0)
        ash__api_fail(c, &err);
    else
        ash__buffer_append_text(&c->out, "{\"removed\":1}");
    ash__free(id);
}

const ash_api_verb ash__api_shares[] = {
    ASH_API_ROW("share", true, true, run_share, ASH_SITE_NEEDS_SHARE, true),
    ASH_API_ROW("shares", false, true, run_shares, ASH_SITE_NEEDS_SHARES, true),
    ASH_API_ROW("unshare", true, false, run_unshare, ASH_SITE_NEEDS_UNSHARE, true),
    {NULL, false, false, NULL, 0},
};
