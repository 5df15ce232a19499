/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting versions that no rule keeps.
 *
 * The history lies in the order of its ids, so that all versions of an entry stand together, oldest
 * first: they are judged together, by the entry's own rule or that of the folder in which it lies or
 * lay.  Folders that were deleted come last, the deepest first, and stay for what stays in them.
 * Contents are not touched: once no document names one, collection takes it. */
#include "tree/history.h"
#include "tree/keep.h"
#include "tree/places.h"

#include "base/mem.h"
#include "base/options.h"
#include "tree/acl.h"
#include "tree/change.h"

#include <stdlib.h>

enum { BATCH = 200 }; /* versions in a commit, so that others do not wait long */

/* A folder that was deleted: it leads to what lay in it. */
typedef struct gone_folder {
    const ash_tree_place *place; /* where it lay */
    ash_tree_entry *version;
    ash_tree_entry *deletion; /* NULL: stays for an earlier version that does */
} gone_folder;

typedef struct prune_call {
    ash_tree *tree;
    ash_tree_prune_options opts;
    ash_op op;
    int64_t now_ms;
    const bson_value_t *top;
    ash_tree_places *places;
    ash_tree_prune_report report;
    ash_tree_entries ruled; /* current entries that have rules of their own */
    ash_tree_entries going; /* decided, to go with the next commit */
    gone_folder *folders;   /* to be decided on when everything else is */
    size_t folder_count, folder_capacity;
} prune_call;

/* ---- a commit ---- */

static int remove_versions(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const ash_tree_entries *list = ctx;
    return ash__commit_forget_versions(c, list->items, list->count, NULL, err);
}

static int settle(prune_call *call, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    int rc = 0;
    if (call->going.count > 0 && !call->opts.dry_run)
        rc = ash__tree_change(call->tree, &o, &call->op, remove_versions, &call->going, err);
    ash__entries_release(&call->going);
    return rc;
}

/* ---- judging ---- */

static bool is_recent(const prune_call *call, const ash_tree_keep *keep, const ash_tree_entry *e)
{
    if (keep->within_s > INT64_MAX / 1000)
        return true;
    return keep->within_s > 0 && e->ended_ms > call->now_ms - keep->within_s * 1000;
}

static bool is_kept(const prune_call *call, const ash_tree_keep *keep, const ash_tree_entry *e,
                    int32_t newer)
{
    return keep->all || ash__entry_is_tagged(e) || newer < keep->last || is_recent(call, keep, e);
}

static bool is_deletion(const ash_tree_entry *e)
{
    return e->parent.value_type == BSON_TYPE_EOD;
}

/* The entry's own rule, or that of the folder it lies in. */
static ash_tree_keep rule_of(const prune_call *call, const ash_tree_entries *list,
                             const ash_tree_place *place)
{
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    const ash_tree_entry *last = list->items[list->count - 1];
    if (call->opts.keep != NULL)
        return *call->opts.keep;
    for (size_t i = 0; i < call->ruled.count; i++)
        if (ash__same_id(&call->ruled.items[i]->id, &last->id) &&
            ash__keep_read(call->ruled.items[i], &keep))
            return keep;
    if (is_deletion(last) && list->count > 1 && ash__keep_read(list->items[list->count - 2], &keep))
        return keep;
    return place->keep;
}

/* name: of the entry, as a deletion has none of its own. */
static int let_go(prune_call *call, const ash_tree_entry *e, const char *name,
                  const ash_tree_place *place, ash_error *err)
{
    ash_tree_entry *copy = ash_tree_entry_copy(e);
    const char *own = copy->name;
    copy->name = name;
    ash__place_set_path(place, copy);
    copy->name = own;
    if (call->opts.each != NULL && !call->opts.each(call->opts.each_ctx, copy)) {
        ash_tree_entry_free(copy);
        return ash__fail(err, ASH_EINTERRUPTED, "pruning was stopped");
    }
    if (!is_deletion(e)) {
        call->report.versions++;
        ash__add_length(&call->report.bytes, e->content.length);
    }
    ash__entries_add(&call->going, copy);
    return call->going.count >= BATCH ? settle(call, err) : 0;
}

static void put_off(prune_call *call, const ash_tree_entry *version, const ash_tree_place *place,
                    const ash_tree_entry *deletion)
{
    gone_folder folder = {place, ash_tree_entry_copy(version),
                          deletion != NULL ? ash_tree_entry_copy(deletion) : NULL};
    call->folders = ash__grow_array(call->folders, call->folder_count, &call->folder_capacity,
                                    sizeof *call->folders);
    call->folders[call->folder_count++] = folder;
}

/* A version that no rule keeps.  A deletion goes with the version that it ended; but the last one
 * stays while any version does (any_stays), or nothing would say that it is gone, and since when. */
static int dismiss(prune_call *call, const ash_tree_entries *list, size_t i,
                   const ash_tree_place *place, bool any_stays, ash_error *err)
{
    const ash_tree_entry *e = list->items[i];
    const ash_tree_place *own = NULL; /* it may have lain elsewhere than the last one */
    ash_tree_entry *next = i + 1 < list->count ? list->items[i + 1] : NULL;
    bool is_last = next != NULL && is_deletion(next) && i + 2 == list->count;
    int rc = ash__places_find(call->places, e, &own, err);
    if (rc != 0)
        return rc;
    place = own != NULL && own->reached ? own : place;
    if (next != NULL && (!is_deletion(next) || (is_last && any_stays)))
        next = NULL;
    else if (next != NULL)
        next->created_ms = e->created_ms;
    if (is_last && e->is_folder) {
        put_off(call, e, place, next);
    } else {
        if (next != NULL)
            rc = let_go(call, next, e->name, place, err);
        if (rc == 0)
            rc = let_go(call, e, e->name, place, err);
    }
    return rc;
}

static int find_end(prune_call *call, const ash_tree_entries *list, size_t i, ash_error *err)
{
    ash_tree_entry *e = list->items[i];
    if (e->ended_ms == 0 && i + 1 < list->count)
        e->ended_ms = list->items[i + 1]->changed_ms;
    return ash__tree_find_end(call->tree, e, &call->op, err);
}

static int hold_all(prune_call *call, const ash_tree_entries *list, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < list->count; i++)
        rc = ash__places_hold(call->places, list->items[i], err);
    return rc;
}

/* Whoever may write to the folder above need not be let into all below. */
static int may_forget(prune_call *call, const ash_tree_entry *e, bool *may, ash_error *err)
{
    ash_error refused = ASH_ERROR_INIT;
    int rc = ash__tree_require_gone(call->tree, e, ASH_TREE_WRITE, &call->op, &refused);
    *may = rc == 0;
    if (rc == 0 || rc == ASH_EACCES)
        return 0;
    return ash__fail(err, rc, "%s", refused.text);
}

/* Those that no rule keeps go. */
static int apply_rule(prune_call *call, ash_tree_entries *list, const ash_tree_place *place,
                      ash_error *err)
{
    const ash_tree_keep keep = rule_of(call, list, place);
    bool *kept = ash__alloc_array(list->count, sizeof *kept);
    bool any = false;
    int32_t newer = 0;
    int rc = 0;
    for (size_t i = list->count; rc == 0 && i-- > 0;) {
        if (is_deletion(list->items[i]))
            continue; /* told with the one before it */
        rc = find_end(call, list, i, err);
        kept[i] = rc == 0 && is_kept(call, &keep, list->items[i], newer++);
        any = any || kept[i];
    }
    for (size_t i = list->count; rc == 0 && i-- > 0;)
        if (kept[i])
            rc = ash__places_hold(call->places, list->items[i], err);
        else if (!is_deletion(list->items[i]))
            rc = dismiss(call, list, i, place, any, err);
    ash__free(kept);
    return rc;
}

/* Versions of one entry, oldest first, deletions among them. */
static int judge(prune_call *call, ash_tree_entries *list, ash_error *err)
{
    const ash_tree_place *place = NULL;
    int rc = 0;
    for (size_t i = list->count; rc == 0 && place == NULL && i-- > 0;)
        rc = ash__places_find(call->places, list->items[i], &place, err);
    bool mine = list->count > 0 && ash__same_id(&list->items[0]->id, call->top);
    bool may = place != NULL && place->reached && (place->below || mine);
    if (rc == 0 && may)
        rc = may_forget(call, list->items[0], &may, err);
    if (rc != 0 || !may)
        return rc == 0 ? hold_all(call, list, err) : rc;
    return apply_rule(call, list, place, err);
}

/* ---- folders that were deleted ---- */

static int compare_depth(const void *a, const void *b)
{
    size_t left = ((const gone_folder *)a)->place->depth;
    size_t right = ((const gone_folder *)b)->place->depth;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* What lies in a folder is found by way of it: so it goes after that, and stays while any of it
 * does. */
static int judge_folders(prune_call *call, ash_error *err)
{
    int rc = 0;
    if (call->folder_count > 1)
        qsort(call->folders, call->folder_count, sizeof *call->folders, compare_depth);
    for (size_t i = 0; rc == 0 && i < call->folder_count; i++) {
        const gone_folder *f = &call->folders[i];
        if (ash__places_is_held(call->places, &f->version->id)) {
            rc = ash__places_hold(call->places, f->version, err);
            continue;
        }
        if (f->deletion != NULL)
            rc = let_go(call, f->deletion, f->version->name, f->place, err);
        if (rc == 0)
            rc = let_go(call, f->version, f->version->name, f->place, err);
    }
    return rc;
}

static void release(prune_call *call)
{
    for (size_t i = 0; i < call->folder_count; i++) {
        ash_tree_entry_free(call->folders[i].version);
        ash_tree_entry_free(call->folders[i].deletion);
    }
    ash__free(call->folders);
    ash__entries_release(&call->ruled);
    ash__entries_release(&call->going);
    ash__places_free(call->places);
}

static int read_rules(prune_call *call, ash_error *err)
{
    bson_t *filter = BCON_NEW("keep", "{", "$exists", BCON_BOOL(true), "}");
    ash_find_options o = ash__tree_find_options(&call->op);
    int rc = ash__tree_find_all(call->tree->current, filter, &o, &call->ruled, err);
    bson_destroy(filter);
    return rc;
}

static int read_all(prune_call *call, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("_id", BCON_INT32(1));
    ash_find_options o = ash__tree_find_options(&call->op);
    ash_tree_entries group = ASH_TREE_ENTRIES_INIT;
    ash_cursor *cursor = NULL;
    o.sort = sort;
    int rc = ash_collection_find(call->tree->past, &filter, &o, &cursor, err);
    while (rc == 0) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_next(cursor, &e, err);
        if (rc != 0 || e == NULL)
            break;
        if (group.count > 0 && !ash__same_id(&group.items[0]->id, &e->id)) {
            rc = judge(call, &group, err);
            ash__entries_release(&group);
        }
        ash__entries_add(&group, e);
    }
    if (rc == 0)
        rc = judge(call, &group, err);
    if (rc == 0)
        rc = judge_folders(call, err);
    if (rc == 0)
        rc = settle(call, err);
    ash__entries_release(&group);
    ash_cursor_free(cursor);
    bson_destroy(sort);
    return rc;
}

int ash_tree_prune(ash_tree *tree, const char *path, const ash_tree_prune_options *opts,
                   const ash_op *op, ash_tree_prune_report *report, ash_error *err)
{
    prune_call call = {.tree = tree, .op = ash__op_of(op), .report = ASH_TREE_PRUNE_REPORT_INIT};
    ash_tree_keep keep;
    ash_tree_entry *top = NULL;
    int rc = ash__options_copy(&call.opts, sizeof call.opts, opts, err);
    if (rc == 0 && call.opts.keep != NULL) {
        rc = ash__options_copy(&keep, sizeof keep, call.opts.keep, err);
        call.opts.keep = &keep;
    }
    if (rc == 0 && call.op.transaction != NULL)
        rc = ash__fail(err, ASH_ESTATE, "pruning is many commits, and cannot be part of another");
    if (rc == 0 && tree->read_only)
        rc = ash_tree_prepare(tree, &call.op, err);
    if (rc == 0)
        rc = ash__tree_find_ever(tree, path, ASH_TREE_WRITE, &call.op, &top, err);
    if (rc == 0)
        rc = ash_store_time(tree->store, &call.now_ms, NULL, err);
    if (rc == 0) {
        call.top = &top->id;
        call.places = ash__places_new(tree, &top->id, &call.op);
        rc = read_rules(&call, err);
    }
    if (rc == 0)
        rc = read_all(&call, err);
    release(&call);
    ash_tree_entry_free(top);
    if (report != NULL && (rc == 0 || rc == ASH_EINTERRUPTED)) {
        int out = ash__out_copy(report, &call.report, sizeof call.report, err);
        rc = rc != 0 ? rc : out;
    }
    return rc;
}
