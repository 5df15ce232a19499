/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that change nothing. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/date.h"
#include "http/dav/bytes.h"
#include "http/dav/holders.h"
#include "http/dav/slow.h"
#include "http/site/api.h"

#include <ctype.h>
#include <string.h>

enum { LIST_ROWS = 1000, MAX_ROWS = 1000000, MAX_FOUND = 1000, SEARCH_MS = 2000 };

static int64_t limit_of(const ash_api_call *c, int64_t most)
{
    int64_t n = ash__api_number(c, "limit", LIST_ROWS);
    return n < 1 ? 1 : n > most ? most : n;
}

/* `at`: 0 where it is not given; false: it is no time. */
static bool read_time(ash_api_call *c, int64_t *ms)
{
    char *text = ash__api_text(c, "at");
    *ms = 0;
    bool good = text == NULL || ash__date_parse_iso(text, ms);
    ash__free(text);
    if (!good)
        ash__api_refuse(c, 400, "EINVAL", "`at` is a time such as 2026-01-31T12:00:00Z");
    return good;
}

static void run_list(ash_api_call *c)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (!read_time(c, &o.at_ms))
        return;
    char *after = ash__api_text(c, "after");
    o.recursive = ash__api_flag(c, "recursive");
    o.after = after;
    /* Who went on by it would get the same rows for ever. */
    if (o.recursive && after != NULL)
        ash__api_refuse(
            c, 400, "EINVAL",
            "`after` goes on in one folder; with `recursive`, a larger `limit` has more");
    else if (ash_tree_list(c->mount->tree, c->path, &o, c->x->op, &l, &err) != 0)
        ash__api_fail(c, &err);
    else
        ash__api_send_list(c, l, limit_of(c, MAX_ROWS));
    ash__free(after);
}

static int get_entry(ash_api_call *c, ash_tree_entry **e)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_error err = ASH_ERROR_INIT;
    if (!read_time(c, &when.at_ms))
        return ASH_EINVAL;
    when.version = (int32_t)ash__api_number(c, "version", 0);
    int rc = ash_tree_get(c->mount->tree, c->path, &when, c->x->op, e, &err);
    if (rc != 0)
        ash__api_fail(c, &err);
    return rc;
}

static void run_stat(ash_api_call *c)
{
    ash_tree_entry *e = NULL;
    if (get_entry(c, &e) == 0)
        ash__api_entry(&c->out, c->mount, e);
    ash_tree_entry_free(e);
}

/* A version's bytes, as GET has those of the newest. */
static void run_content(ash_api_call *c)
{
    ash_tree_entry *e = NULL;
    if (get_entry(c, &e) != 0)
        return;
    if (ash_tree_entry_is_folder(e)) {
        ash__api_refuse(c, 400, "EINVAL", "%.300s is a folder", c->url_path);
        ash_tree_entry_free(e);
    } else {
        ash__dav_send_file(c->x, c->mount->dav, e);
    }
}

static void run_history(ash_api_call *c)
{
    ash_tree_listing *l = NULL;
    ash_error err = ASH_ERROR_INIT;
    int64_t limit = limit_of(c, MAX_ROWS);
    if (ash_tree_history(c->mount->tree, c->path, limit + 1, c->x->op, &l, &err) != 0)
        ash__api_fail(c, &err);
    else
        ash__api_send_list(c, l, limit);
}

static void run_trash(ash_api_call *c)
{
    ash_tree_listing *l = NULL;
    ash_error err = ASH_ERROR_INIT;
    int64_t limit = limit_of(c, MAX_ROWS);
    if (ash_tree_trash(c->mount->tree, c->path, limit + 1, c->x->op, &l, &err) != 0)
        ash__api_fail(c, &err);
    else
        ash__api_send_list(c, l, limit);
}

/* The tightest one that holds there, for those who may read it. */
static void add_quota(ash_api_call *c, const ash_op *op)
{
    ash_tree_quota q = ASH_TREE_QUOTA_INIT;
    if (ash_tree_get_quota(c->mount->tree, c->path, op, &q, NULL, NULL) != 0 || q.max_bytes < 0 ||
        q.used_bytes < 0)
        return;
    ash__json_add_int(&c->out, "quotaBytes", q.max_bytes);
    ash__json_add_int(&c->out, "quotaUsedBytes", q.used_bytes);
}

static void run_usage(ash_api_call *c)
{
    ash_tree_usage u = ASH_TREE_USAGE_INIT;
    ash_error err = ASH_ERROR_INIT;
    if (!ash__dav_slow_begin(c->x))
        return;
    ash_op op = ash__dav_op(c->x);
    op.deadline_ms = ash_deadline(20000);
    int rc = ash_tree_measure(c->mount->tree, c->path, &op, &u, &err);
    ash__dav_slow_end();
    if (rc != 0 && rc != ASH_EPARTIAL) {
        ash__api_fail(c, &err);
        return;
    }
    ash__buffer_append_byte(&c->out, '{');
    ash__json_add_int(&c->out, "folders", u.folders);
    ash__json_add_int(&c->out, "files", u.files);
    ash__json_add_int(&c->out, "bytes", u.bytes);
    ash__json_add_int(&c->out, "versions", u.versions);
    ash__json_add_int(&c->out, "versionBytes", u.version_bytes);
    ash__json_add_int(&c->out, "contents", u.contents);
    ash__json_add_int(&c->out, "storedBytes", u.stored_bytes);
    add_quota(c, &op);
    ash__json_add_bool(&c->out, "partial", rc != 0);
    ash__buffer_append_byte(&c->out, '}');
}

/* ---- search ---- */

/* ASCII letters of either case are the same; others are told apart. */
static bool has(const char *name, const char *wanted)
{
    size_t len = strlen(wanted);
    for (; *name != '\0'; name++) {
        size_t n = 0;
        while (n < len && tolower((unsigned char)name[n]) == tolower((unsigned char)wanted[n]))
            n++;
        if (n == len)
            return true;
    }
    return len == 0;
}

static void search(ash_api_call *c, ash_tree_listing *l, const char *wanted)
{
    const ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    int64_t n = 0, limit = limit_of(c, MAX_FOUND), until = ash__clock_ms() + SEARCH_MS;
    ash__buffer_append_text(&c->out, "{\"entries\":[");
    for (;;) {
        int rc = ash_tree_listing_next(l, &e, &err);
        if (rc == ASH_ECORRUPT)
            continue;
        if (rc != 0) {
            ash__api_fail(c, &err);
            return;
        }
        if (e == NULL || n == limit || ash__clock_ms() > until)
            break;
        if (has(ash_tree_entry_name(e), wanted)) {
            ash__api_entry(&c->out, c->mount, e);
            n++;
        }
    }
    ash__buffer_append_byte(&c->out, ']');
    ash__json_add_bool(&c->out, "more", e != NULL);
    ash__buffer_append_byte(&c->out, '}');
}

static void run_search(ash_api_call *c)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    ash_error err = ASH_ERROR_INIT;
    char *wanted = ash__api_text(c, "q");
    o.recursive = true;
    if (wanted == NULL || wanted[0] == '\0')
        ash__api_refuse(c, 400, "EINVAL", "`q` is needed: a part of a name");
    else if (ash_tree_list(c->mount->tree, c->path, &o, c->x->op, &l, &err) != 0)
        ash__api_fail(c, &err);
    else
        search(c, l, wanted);
    ash_tree_listing_free(l);
    ash__free(wanted);
}

/* ---- locks ---- */

static void add_lock(void *ctx, const ash_dav_holder *h)
{
    ash_api_call *c = ctx;
    if (!ash__dav_allows(c->mount->dav, c->x->op, h->path, ASH_TREE_READ))
        return;
    char *path = ash__sprintf("%s%s", c->mount->prefix, h->path);
    ash__json_comma(&c->out);
    ash__buffer_append_byte(&c->out, '{');
    ash__json_add_text(&c->out, "path", path);
    ash__json_add_text(&c->out, "kind", h->exclusive ? "exclusive" : "shared");
    ash__json_add_text(&c->out, "owner", h->owner);
    ash__json_add_bool(&c->out, "webdav", h->webdav);
    ash__json_add_time(&c->out, "since", h->since_ms);
    ash__json_add_time(&c->out, "expires", h->expires_ms);
    ash__buffer_append_byte(&c->out, '}');
    ash__free(path);
}

static void run_locks(ash_api_call *c)
{
    ash_error err = ASH_ERROR_INIT;
    ash__buffer_append_text(&c->out, "{\"locks\":[");
    if (ash__dav_locks_each(c->mount->dav->locks, c->path, add_lock, c, &err) != 0)
        ash__api_fail(c, &err);
    else
        ash__buffer_append_text(&c->out, "]}");
}

const ash_api_verb ash__api_reads[] = {
    ASH_API_ROW("list", false, true, run_list, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("stat", false, true, run_stat, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("content", false, true, run_content, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("history", false, true, run_history, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("diff", false, true, ash__api_diff, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("trash", false, true, run_trash, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("usage", false, true, run_usage, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("search", false, true, run_search, ASH_SITE_NEEDS_LOOK, false),
    ASH_API_ROW("locks", false, true, run_locks, ASH_SITE_NEEDS_LOOK, false),
    {NULL, false, false, NULL, 0},
};
