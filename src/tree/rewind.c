/* SPDX-License-Identifier: Apache-2.0 */
/* A folder becomes what it was, in two walks side by side with what is there now.
 *
 * The first settles what was there, each folder before what lies in it.  The second deletes what was
 * not.  What is there now is listed while it changes: so a listing says only what need not be looked
 * at, and what is to be changed or deleted is looked up. */
#include "tree/rewind.h"

#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* Some of what is to be deleted: not while it is listed. */
enum { DOOMED_MAX = 1000 };

/* Both listings, and the entries that they have in hand. */
typedef struct sides {
    ash_tree_listing *then_list, *now_list; /* now_list NULL: there is nothing */
    const ash_tree_entry *then, *now;
    bool incomplete; /* not all of then could be read */
} sides;

static void fail_entry(ash_tree_rewind *w, const char *path, const ash_error *why)
{
    bson_t facts = BSON_INITIALIZER;
    char *text = path != NULL ? ash__sprintf("%s: %s", path, why->text) : ash__strdup(why->text);
    w->report.failed++;
    BSON_APPEND_UTF8(&facts, "text", text);
    BSON_APPEND_UTF8(&facts, "kind", "not restored");
    if (path != NULL)
        BSON_APPEND_UTF8(&facts, "path", path);
    if (w->opts->failed != NULL)
        w->opts->failed(w->opts->failed_ctx, text, &facts);
    ash__free(text);
    bson_destroy(&facts);
}

/* Others may do better: it is this entry's own fault. */
static bool is_own_fault(const ash_tree_rewind *w, int rc)
{
    switch (rc) {
    case ASH_EINVAL:
    case ASH_ENOTFOUND:
    case ASH_ENOREVISION:
    case ASH_EEXISTS:
    case ASH_ECONFLICT:
    case ASH_ECORRUPT:
    case ASH_EACCES:
    case ASH_ESTATE:
    case ASH_ETOOBIG:
        return !w->stopped;
    default:
        return false;
    }
}

/* ---- side by side ---- */

static int next_then(ash_tree_rewind *w, sides *s, ash_error *err)
{
    for (;;) {
        ash_error own = ASH_ERROR_INIT;
        int rc = ash_tree_listing_next(s->then_list, &s->then, &own);
        if (rc != ASH_ECORRUPT)
            return ash__unless(0, rc, &own, err);
        if (!s->incomplete)
            fail_entry(w, NULL, &own);
        s->incomplete = true;
    }
}

/* What is damaged now stays where it is. */
static int next_now(sides *s, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ASH_ECORRUPT;
    s->now = NULL;
    while (s->now_list != NULL && rc == ASH_ECORRUPT)
        rc = ash_tree_listing_next(s->now_list, &s->now, &own);
    return s->now_list == NULL ? 0 : ash__unless(0, rc, &own, err);
}

static int open_sides(ash_tree_rewind *w, sides *s, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    o.recursive = true;
    int rc = ash_tree_list(w->tree, w->path, &o, &w->op, &s->now_list, &own);
    if (rc == ASH_ENOTFOUND || rc == ASH_EINVAL)
        rc = 0; /* a dry run */
    if (rc != 0)
        return ash__unless(0, rc, &own, err);
    o.at_ms = w->opts->at_ms;
    rc = ash_tree_list(w->tree, w->path, &o, &w->op, &s->then_list, err);
    if (rc == 0)
        rc = next_now(s, err);
    return rc == 0 ? next_then(w, s, err) : rc;
}

static void close_sides(sides *s)
{
    ash_tree_listing_free(s->then_list);
    ash_tree_listing_free(s->now_list);
}

/* ---- what was there ---- */

static int settle_one(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *now,
                      char **failed, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    if (*failed != NULL && ash__rewind_is_below(then->path, *failed))
        return 0; /* has nowhere to be */
    int rc = ash__rewind_entry(w, then, now, &own);
    if (rc == 0 || !is_own_fault(w, rc))
        return ash__unless(0, rc, &own, err);
    fail_entry(w, then->path, &own);
    if (then->is_folder) {
        ash__free(*failed);
        *failed = ash__strdup(then->path);
    }
    return 0;
}

static int settle_all(ash_tree_rewind *w, bool *incomplete, ash_error *err)
{
    sides s = {.incomplete = false};
    char *failed = NULL;
    int rc = open_sides(w, &s, err);
    while (rc == 0 && s.then != NULL) {
        int order = s.now != NULL ? ash__text_compare_paths(s.now->path, s.then->path) : 1;
        if (order < 0) {
            rc = next_now(&s, err);
            continue;
        }
        rc = settle_one(w, s.then, order == 0 ? s.now : NULL, &failed, err);
        if (rc == 0)
            rc = next_then(w, &s, err);
    }
    *incomplete = s.incomplete;
    close_sides(&s);
    ash__free(failed);
    return rc;
}

/* ---- what was not ---- */

/* What lies below a folder of now would be below another by now; to NULL: goes with it. */
typedef struct detour {
    char *from;
    const char *to;
} detour;

/* Where the walk of what is there now is. */
typedef struct sweep {
    detour *detours; /* each below the one before it */
    size_t depth, capacity;
    ash_tree_entry *doomed[DOOMED_MAX];
    size_t count;
} sweep;

/* The innermost that the path is below; NULL: none. */
static const detour *find_detour(sweep *d, const char *path)
{
    while (d->depth > 0 && !ash__rewind_is_below(path, d->detours[d->depth - 1].from))
        ash__free(d->detours[--d->depth].from);
    return d->depth > 0 ? &d->detours[d->depth - 1] : NULL;
}

static void add_detour(sweep *d, const ash_tree_entry *now, const char *to)
{
    if (!now->is_folder)
        return;
    d->detours = ash__grow_array(d->detours, d->depth, &d->capacity, sizeof *d->detours);
    d->detours[d->depth++] = (detour){ash__strdup(now->path), to};
}

static int delete_doomed(ash_tree_rewind *w, sweep *d, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < d->count; i++) {
        ash_error own = ASH_ERROR_INIT;
        int removed = rc == 0 ? ash__rewind_remove(w, d->doomed[i], &own) : 0;
        if (removed != 0 && removed != ASH_ENOTFOUND && is_own_fault(w, removed))
            fail_entry(w, d->doomed[i]->path, &own);
        else if (removed != 0 && removed != ASH_ENOTFOUND)
            rc = ash__unless(0, removed, &own, err);
        ash_tree_entry_free(d->doomed[i]);
    }
    d->count = 0;
    return rc;
}

/* Asked by its path, as a listing beside which others work may leave something out. */
static int was_there(ash_tree_rewind *w, const char *path, bool *there, ash_error *err)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *entry = NULL;
    ash_error own = ASH_ERROR_INIT;
    when.at_ms = w->opts->at_ms;
    int rc = ash_tree_get(w->tree, path, &when, &w->op, &entry, &own);
    *there = rc == 0;
    ash_tree_entry_free(entry);
    return rc == ASH_ENOTFOUND || rc == ASH_EINVAL ? 0 : ash__unless(0, rc, &own, err);
}

/* paired: something had its name then. */
static int sweep_one(ash_tree_rewind *w, sweep *d, const ash_tree_entry *now, bool paired,
                     ash_error *err)
{
    const detour *at = find_detour(d, now->path);
    const ash_tree_moved *moved = ash__rewind_moved(w, &now->id);
    bool there = paired;
    int rc = 0;
    if (at != NULL && at->to == NULL)
        return 0;
    if (moved != NULL) {
        add_detour(d, now, moved->to);
        return 0;
    }
    if (at != NULL) {
        char *path = ash__sprintf("%s%s", at->to, now->path + strlen(at->from));
        rc = was_there(w, path, &there, err);
        ash__free(path);
    } else if (!paired) {
        rc = was_there(w, now->path, &there, err);
    }
    if (rc != 0 || there)
        return rc;
    if (d->count == DOOMED_MAX)
        rc = delete_doomed(w, d, err);
    d->doomed[d->count++] = ash_tree_entry_copy(now);
    add_detour(d, now, NULL);
    return rc;
}

static int sweep_all(ash_tree_rewind *w, ash_error *err)
{
    sides s = {.incomplete = false};
    sweep *d = ash__new(sweep);
    int rc = open_sides(w, &s, err);
    while (rc == 0 && s.now != NULL && !s.incomplete) {
        int order = s.then != NULL ? ash__text_compare_paths(s.then->path, s.now->path) : 1;
        if (order < 0) {
            rc = next_then(w, &s, err);
            continue;
        }
        rc = sweep_one(w, d, s.now, order == 0, err);
        if (rc == 0)
            rc = next_now(&s, err);
    }
    if (rc == 0 && !s.incomplete)
        rc = delete_doomed(w, d, err);
    for (size_t i = 0; i < d->count; i++)
        ash_tree_entry_free(d->doomed[i]);
    close_sides(&s);
    while (d->depth > 0)
        ash__free(d->detours[--d->depth].from);
    ash__free(d->detours);
    ash__free(d);
    return rc;
}

/* ---- all ---- */

/* Of the folder at the path, or which would be there; none, if that would be a copy. */
static int find_top(ash_tree_rewind *w, const ash_tree_entry *then, ash_error *err)
{
    ash_tree_entry *now = NULL;
    ash_error own = ASH_ERROR_INIT;
    bool is_back = w->arrival_count > 0 && w->arrivals[0].is_back;
    int rc = ash_tree_get(w->tree, then->path, NULL, &w->op, &now, &own);
    if (rc != 0 && (rc != ASH_ENOTFOUND || !w->opts->dry_run))
        return ash__unless(0, rc, &own, err);
    if (is_back)
        bson_value_copy(&then->id, &w->top);
    else if (now != NULL)
        bson_value_copy(&now->id, &w->top);
    ash_tree_entry_free(now);
    return 0;
}

/* The folder itself, before what lies in it. */
static int settle_top(ash_tree_rewind *w, const char *path, char **own_path, ash_error *err)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *then = NULL;
    when.at_ms = w->opts->at_ms;
    int rc = ash_tree_get(w->tree, path, &when, &w->op, &then, err);
    if (rc == 0 && !then->is_folder)
        rc = ash__fail(err, ASH_EINVAL, "%s was a file, not a folder", then->path);
    if (rc == 0)
        rc = ash__rewind_entry(w, then, NULL, err);
    if (rc == 0)
        rc = find_top(w, then, err);
    if (rc == 0)
        *own_path = ash__strdup(then->path);
    ash_tree_entry_free(then);
    return rc;
}

static int rewind_folder(ash_tree_rewind *w, const char *path, ash_error *err)
{
    char *own_path = NULL;
    bool incomplete = false;
    int rc = settle_top(w, path, &own_path, err);
    w->path = own_path;
    if (rc == 0)
        rc = settle_all(w, &incomplete, err);
    if (rc == 0 && !incomplete)
        rc = sweep_all(w, err);
    ash__free(own_path);
    if (rc == 0 && w->report.failed > 0)
        rc = ash__fail(err, ASH_EPARTIAL,
                       "%" PRId64 " of the folder's entries could not be restored%s",
                       w->report.failed,
                       incomplete ? ", and as not all could be read, nothing was deleted" : "");
    return rc;
}

static void release(ash_tree_rewind *w)
{
    while (w->arrival_count > 0)
        ash__free(w->arrivals[--w->arrival_count].path);
    ash__rewind_forget(w);
    if (w->top.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&w->top);
    ash__free(w->arrivals);
}

int ash_tree_restore_folder(ash_tree *tree, const char *path, const ash_tree_restore_options *opts,
                            const ash_op *op, ash_tree_restore_report *report, ash_error *err)
{
    ash_tree_restore_options o;
    ash_tree_rewind w = {.tree = tree, .op = ash__op_of(op), .opts = &o};
    ash_assert(tree != NULL && path != NULL);
    w.change = (ash_tree_change_options)ASH_TREE_CHANGE_OPTIONS_INIT;
    w.report = (ash_tree_restore_report)ASH_TREE_RESTORE_REPORT_INIT;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0 && o.at_ms <= 0)
        rc = ash__fail(err, ASH_EINVAL, "at_ms: say as of when");
    if (rc == 0 && w.op.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE,
                       "restoring a folder is many commits, and cannot be part of another");
    w.change.changed_by = o.changed_by;
    w.change.fence = o.fence;
    if (rc == 0)
        rc = rewind_folder(&w, path, err);
    release(&w);
    if (report != NULL) {
        int out = ash__out_copy(report, &w.report, sizeof w.report, err);
        rc = rc != 0 ? rc : out;
    }
    return rc;
}
