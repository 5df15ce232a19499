/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that change something.  Locks stand in their way as they do in WebDAV's. */
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/below.h"
#include "http/dav/guard.h"
#include "http/dav/holders.h"
#include "http/dav/slow.h"
#include "http/gate/trace.h"
#include "http/site/api.h"

#include <string.h>

/* Asks the guard; answers in its own way when that refuses.  The guard is released in any case by
 * the caller. */
static bool guard(ash_api_call *c, const char *path, unsigned changes, ash_dav_guard *g,
                  ash_tree_change_options *o)
{
    *o = (ash_tree_change_options)ASH_TREE_CHANGE_OPTIONS_INIT;
    if (!ash__dav_guard(c->mount->dav, c->x, path, changes, g)) {
        int status = c->x->status;
        if (status == 423) {
            c->x->status = 0;
            ash__buffer_clear(&c->x->body);
            ash__buffer_clear(&c->x->fields);
            ash__api_refuse(c, 423, "ELOCKED", "%.300s, its folder, or something in it is locked",
                            path);
        }
        return false;
    }
    o->fence = g->fence;
    o->if_version = (int32_t)ash__api_number(c, "if_version", g->if_version);
    return true;
}

static void answer_entry(ash_api_call *c, int rc, ash_tree_entry *e, const ash_error *err)
{
    if (rc != 0)
        ash__api_fail(c, err);
    else
        ash__api_entry(&c->out, c->mount, e);
    ash_tree_entry_free(e);
}

static void run_mkdir(ash_api_call *c)
{
    ash_dav_guard g = {0};
    ash_tree_change_options o;
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (guard(c, c->path, ASH_GUARD_NAME, &g, &o)) {
        o.make_folders = ash__api_flag(c, "make_folders");
        o.if_absent = true;
        int rc = ash_tree_make_folder(c->mount->tree, c->path, &o, c->x->op, &e, &err);
        answer_entry(c, rc, e, &err);
    }
    ash__dav_guard_release(&g);
}

/* As MOVE has it. */
static bool check_members(ash_api_call *c, const ash_tree_entry *moved)
{
    ash_error err = ASH_ERROR_INIT;
    bool closed = false;
    if (ash__dav_has_closed_members(c->mount->dav, c->x->op, moved, &closed, &err) != 0)
        ash__api_fail(c, &err);
    else if (closed)
        ash__api_refuse(c, 403, "EACCES", "something in %.300s is not yours to move", c->url_path);
    return c->x->status == 0;
}

static void do_transfer(ash_api_call *c, bool move, const char *to,
                        const ash_tree_change_options *o, ash_dav_guard *from)
{
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (move && !check_members(c, from->entry))
        return;
    int rc = move ? ash_tree_move(c->mount->tree, c->path, to, o, c->x->op, &e, &err)
                  : ash_tree_copy(c->mount->tree, c->path, NULL, to, o, c->x->op, &e, &err);
    if (rc == 0 && move)
        ash__dav_locks_gone(from);
    answer_entry(c, rc, e, &err);
}

/* Of what may be a folder; false: put off. */
static bool begin_slow(ash_api_call *c, const ash_tree_entry *e, bool *slow)
{
    *slow = e != NULL && ash_tree_entry_is_folder(e) && ash__dav_slow_begin(c->x);
    return !c->x->is_put_off;
}

static void transfer(ash_api_call *c, bool move, const char *to)
{
    unsigned all = ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW;
    ash_dav_guard from = {0}, there = {0};
    ash_tree_change_options o, other;
    bool slow = false;
    if (guard(c, c->path, move ? all : ASH_GUARD_READ, &from, &o) &&
        guard(c, to, all | ASH_GUARD_OTHER, &there, &other) && begin_slow(c, from.entry, &slow)) {
        o.replace = ash__api_flag(c, "replace");
        o.make_folders = ash__api_flag(c, "make_folders");
        o.recursive = true;
        o.fence = move ? ash__dav_guard_fences(&from, &there) : other.fence;
        do_transfer(c, move, to, &o, &from);
    }
    if (slow)
        ash__dav_slow_end();
    ash__dav_guard_release(&from);
    ash__dav_guard_release(&there);
}

static void run_move(ash_api_call *c)
{
    char *to = ash__api_other_path(c, "to");
    if (to != NULL)
        transfer(c, true, to);
    ash__free(to);
}

static void run_copy(ash_api_call *c)
{
    char *to = ash__api_other_path(c, "to");
    if (to != NULL)
        transfer(c, false, to);
    ash__free(to);
}

static void run_delete(ash_api_call *c)
{
    ash_dav_guard g = {0};
    ash_tree_change_options o;
    ash_error err = ASH_ERROR_INIT;
    bool slow = false;
    if (guard(c, c->path, ASH_GUARD_BYTES | ASH_GUARD_NAME | ASH_GUARD_BELOW, &g, &o) &&
        begin_slow(c, g.entry, &slow)) {
        o.recursive = ash__api_flag(c, "recursive");
        if (ash_tree_remove(c->mount->tree, c->path, &o, c->x->op, &err) != 0) {
            ash__api_fail(c, &err);
        } else {
            ash__dav_locks_gone(&g);
            ash__api_entry(&c->out, c->mount, g.entry);
        }
    }
    if (slow)
        ash__dav_slow_end();
    ash__dav_guard_release(&g);
}

/* An id is found wherever it lies; what is in another tree is that one's to give. */
static void undelete(ash_api_call *c, const bson_value_t *id, const char *to)
{
    ash_dav_guard g = {0};
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *gone = NULL, *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    bool slow = false;
    if (ash_tree_get_by_id(c->mount->tree, id, 0, NULL, &gone, &err) != 0)
        ash__api_fail(c, &err);
    else if (!ash_tree_entry_has_path(gone))
        ash__api_refuse(c, 404, "ENOTFOUND", "this tree has no entry of that id");
    else if (guard(c, to != NULL ? to : ash_tree_entry_path(gone), ASH_GUARD_NAME, &g, &o) &&
             begin_slow(c, gone, &slow)) {
        int rc = ash_tree_undelete(c->mount->tree, id, to, &o, c->x->op, &e, &err);
        answer_entry(c, rc, e, &err);
    }
    if (slow)
        ash__dav_slow_end();
    ash__dav_guard_release(&g);
    ash_tree_entry_free(gone);
}

static void run_undelete(ash_api_call *c)
{
    char *text = ash__api_text(c, "id"), *to = NULL;
    bson_value_t id = {.value_type = BSON_TYPE_OID};
    bson_iter_t at;
    ash__trace_text(c->x, "id", text);
    bool has_to = c->body != NULL && bson_iter_init_find(&at, c->body, "to");
    if (text == NULL || !bson_oid_is_valid(text, strlen(text)))
        ash__api_refuse(c, 400, "EINVAL",
                        "`id` is needed: of something that /.ashlar/tree/trash lists");
    else if (!has_to || (to = ash__api_other_path(c, "to")) != NULL) {
        bson_oid_init_from_string(&id.value.v_oid, text);
        undelete(c, &id, to);
    }
    ash__free(text);
    ash__free(to);
}

/* A whole folder, as it was. */
static void restore_folder(ash_api_call *c, int64_t at_ms)
{
    ash_tree_restore_options o = ASH_TREE_RESTORE_OPTIONS_INIT;
    ash_tree_restore_report r = ASH_TREE_RESTORE_REPORT_INIT;
    ash_error err = ASH_ERROR_INIT;
    o.at_ms = at_ms;
    o.dry_run = ash__api_flag(c, "dry_run");
    if (!ash__dav_slow_begin(c->x))
        return;
    int rc = ash_tree_restore_folder(c->mount->tree, c->path, &o, c->x->op, &r, &err);
    ash__dav_slow_end();
    if (rc != 0 && rc != ASH_EPARTIAL) {
        ash__api_fail(c, &err);
        return;
    }
    ash__buffer_append_byte(&c->out, '{');
    ash__json_add_int(&c->out, "created", r.created);
    ash__json_add_int(&c->out, "changed", r.changed);
    ash__json_add_int(&c->out, "moved", r.moved);
    ash__json_add_int(&c->out, "deleted", r.deleted);
    ash__json_add_int(&c->out, "unchanged", r.unchanged);
    ash__json_add_int(&c->out, "failed", r.failed);
    ash__buffer_append_byte(&c->out, '}');
}

static void run_restore(ash_api_call *c)
{
    ash_dav_guard g = {0};
    ash_tree_change_options o;
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    int64_t at_ms = 0;
    char *at = ash__api_text(c, "at");
    int64_t version = ash__api_number(c, "version", 0);
    ash__trace_text(c->x, "at", at);
    if ((at == NULL) == (version == 0) || (at != NULL && !ash__date_parse_iso(at, &at_ms)))
        ash__api_refuse(c, 400, "EINVAL",
                        "either `version` is needed, or `at`, a time such as 2026-01-31T12:00:00Z");
    else if (guard(c, c->path, ASH_GUARD_BYTES | (at != NULL ? ASH_GUARD_BELOW : 0), &g, &o)) {
        if (at != NULL)
            restore_folder(c, at_ms);
        else {
            int rc =
                ash_tree_restore(c->mount->tree, c->path, (int32_t)version, &o, c->x->op, &e, &err);
            answer_entry(c, rc, e, &err);
        }
    }
    ash__dav_guard_release(&g);
    ash__free(at);
}

/* The audit log has which one: nothing brings it back. */
static void run_forget(ash_api_call *c)
{
    ash_dav_guard g = {0};
    ash_tree_change_options o;
    ash_error err = ASH_ERROR_INIT;
    int32_t version = (int32_t)ash__api_number(c, "version", 0);
    char *text = ash__sprintf("%d", version);
    ash__trace_text(c->x, "version", text);
    if (version == 0)
        ash__api_refuse(c, 400, "EINVAL", "`version` is needed: of one that is not the newest");
    else if (guard(c, c->path, ASH_GUARD_BYTES, &g, &o)) {
        if (ash_tree_forget(c->mount->tree, c->path, version, &o, c->x->op, &err) != 0)
            ash__api_fail(c, &err);
        else
            ash__buffer_append_text(&c->out, "{\"removed\": 1}");
    }
    ash__dav_guard_release(&g);
    ash__free(text);
}

static void run_tag(ash_api_call *c)
{
    char *tag = ash__api_text(c, "tag");
    ash_tree_entry *e = NULL;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_error err = ASH_ERROR_INIT;
    when.version = (int32_t)ash__api_number(c, "version", 0);
    ash__trace_text(c->x, "tag", tag);
    if (tag == NULL) {
        ash__api_refuse(c, 400, "EINVAL", "`tag` is needed");
        return;
    }
    int rc = ash_tree_tag(c->mount->tree, c->path, when.version, tag, ash__api_flag(c, "remove"),
                          c->x->op, &err);
    if (rc == 0)
        rc = ash_tree_get(c->mount->tree, c->path, &when, c->x->op, &e, &err);
    answer_entry(c, rc, e, &err);
    ash__free(tag);
}

static void run_break(ash_api_call *c)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t broken = 0;
    if (!ash__dav_allows(c->mount->dav, c->x->op, c->path, ASH_TREE_WRITE)) {
        (void)ash__fail(&err, ASH_EACCES, "not allowed");
        ash__api_fail(c, &err);
        return;
    }
    if (ash__dav_locks_break(c->mount->dav->locks, c->path, &broken, &err) != 0) {
        ash__api_fail(c, &err);
        return;
    }
    ash__buffer_append_byte(&c->out, '{');
    ash__json_add_int(&c->out, "broken", broken);
    ash__buffer_append_byte(&c->out, '}');
}

const ash_api_verb ash__api_changes[] = {
    ASH_API_ROW("mkdir", true, true, run_mkdir, ASH_SITE_NEEDS_CHANGE, false),
    ASH_API_ROW("move", true, true, run_move, ASH_SITE_NEEDS_CHANGE, false),
    ASH_API_ROW("copy", true, true, run_copy, ASH_SITE_NEEDS_CHANGE, false),
    ASH_API_ROW("delete", true, true, run_delete, ASH_SITE_NEEDS_CHANGE, false),
    ASH_API_ROW("undelete", true, true, run_undelete, ASH_SITE_NEEDS_CHANGE, true),
    ASH_API_ROW("restore", true, true, run_restore, ASH_SITE_NEEDS_CHANGE, true),
    ASH_API_ROW("forget", true, true, run_forget, ASH_SITE_NEEDS_CHANGE, true),
    ASH_API_ROW("tag", true, true, run_tag, ASH_SITE_NEEDS_CHANGE, false),
    ASH_API_ROW("unlock", true, true, run_break, ASH_SITE_NEEDS_CHANGE, false),
    {NULL, false, false, NULL, 0},
};
