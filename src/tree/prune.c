/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting versions that no rule keeps.
 *
 * The history lies in the order of its ids, so that all versions of an entry stand together, oldest
 * first: they are judged together, by the rule of the folder in which the entry lies or lay.
 * Contents are not touched: once no document names one, collection takes it. */
#include "tree/history.h"
#include "tree/keep.h"
#include "tree/places.h"

#include "base/mem.h"
#include "base/options.h"
#include "tree/acl.h"
#include "tree/change.h"

enum { BATCH = 200 }; /* versions in a commit, so that others do not wait long */

typedef struct prune_call {
    ash_tree *tree;
    ash_tree_prune_options opts;
    ash_op op;
    int64_t now_ms;
    const bson_value_t *top;
    ash_tree_places *places;
    ash_tree_prune_report report;
    ash_tree_entries going; /* decided, to go with the next commit */
} prune_call;

/* ---- a commit ---- */

static int remove_versions(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const ash_tree_entries *list = ctx;
    bson_t filter = BSON_INITIALIZER, in, ids;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    o.op = c->op;
    bson_append_document_begin(&filter, "_id", 3, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < list->count; i++) {
        char buf[12];
        const char *key;
        (void)bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        ash__tree_append_version_id(&ids, key, &list->items[i]->id, list->items[i]->version);
    }
    bson_append_array_end(&in, &ids);
    bson_append_document_end(&filter, &in);
    /* Whoever tagged one meanwhile keeps it. */
    BCON_APPEND(&filter, "tags.0", "{", "$exists", BCON_BOOL(false), "}");
    int rc = ash_collection_remove(c->tree->past, &filter, &o, NULL, err);
    bson_destroy(&filter);
    return rc;
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

static bool is_tagged(const ash_tree_entry *e)
{
    bson_iter_t it, child;
    return ash__entry_field(e, "tags", &it) && bson_iter_recurse(&it, &child) &&
           bson_iter_next(&child);
}

static bool is_kept(const prune_call *call, const ash_tree_keep *keep, const ash_tree_entry *e,
                    int32_t newer)
{
    return keep->all || is_tagged(e) || newer < keep->last ||
           (keep->within_s > 0 && e->ended_ms > call->now_ms - keep->within_s * 1000);
}

/* name: of the version, or of the one that the deletion ended. */
static int let_go(prune_call *call, const ash_tree_entry *e, const char *folder, const char *name,
                  ash_error *err)
{
    ash_tree_entry *copy = ash__entry_copy(e);
    ash__free(copy->path);
    copy->path = ash__entry_join(folder, name);
    if (call->opts.each != NULL && !call->opts.each(call->opts.each_ctx, copy)) {
        ash_tree_entry_free(copy);
        return ash__fail(err, ASH_EINTERRUPTED, "pruning was stopped");
    }
    if (e->parent.value_type != BSON_TYPE_EOD) {
        call->report.versions++;
        call->report.bytes += e->content.length;
    }
    ash__entries_add(&call->going, copy);
    return call->going.count >= BATCH ? settle(call, err) : 0;
}

/* Versions of one entry, oldest first, deletions among them.  A deletion goes with the version that
 * it ended. */
static int judge(prune_call *call, ash_tree_entries *list, ash_error *err)
{
    const ash_tree_place *place = NULL;
    int32_t newer = 0;
    int rc = 0;
    for (size_t i = list->count; rc == 0 && place == NULL && i-- > 0;)
        rc = ash__places_find(call->places, list->items[i], &place, err);
    bool mine = list->count > 0 && ash__same_id(&list->items[0]->id, call->top);
    if (rc != 0 || place == NULL || !place->reached || !(place->below || mine))
        return rc;
    const ash_tree_keep *keep = call->opts.keep != NULL ? call->opts.keep : &place->keep;
    for (size_t i = list->count; rc == 0 && i-- > 0;) {
        ash_tree_entry *e = list->items[i];
        if (e->parent.value_type == BSON_TYPE_EOD)
            continue; /* a deletion: told with the one before it */
        if (e->ended_ms == 0 && i + 1 < list->count)
            e->ended_ms = list->items[i + 1]->changed_ms;
        if (!is_kept(call, keep, e, newer++)) {
            if (i + 1 < list->count && list->items[i + 1]->parent.value_type == BSON_TYPE_EOD)
                rc = let_go(call, list->items[i + 1], place->path, e->name, err);
            if (rc == 0)
                rc = let_go(call, e, place->path, e->name, err);
        }
    }
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
        ash_doc doc;
        bson_t view;
        ash_tree_entry *e = NULL;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        ash__doc_to_bson(doc, &view);
        rc = ash__entry_new(bson_copy(&view), &e, err);
        if (rc == 0 && group.count > 0 && !ash__same_id(&group.items[0]->id, &e->id)) {
            rc = judge(call, &group, err);
            ash__entries_release(&group);
        }
        if (e != NULL)
            ash__entries_add(&group, e);
    }
    if (rc == 0)
        rc = judge(call, &group, err);
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
    prune_call call = {.tree = tree, .op = ash__tree_op(op), .report = ASH_TREE_PRUNE_REPORT_INIT};
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
        rc = read_all(&call, err);
    }
    ash__entries_release(&call.going);
    ash__places_free(call.places);
    ash_tree_entry_free(top);
    if (report != NULL && (rc == 0 || rc == ASH_EINTERRUPTED)) {
        int out = ash__out_copy(report, &call.report, sizeof call.report, err);
        rc = rc != 0 ? rc : out;
    }
    return rc;
}
