/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the source.
 *
 * Documents are taken as the collection gives them, and asked where they lie: what is current below
 * the folder, also below folders that v7files deleted without what lay in them, then what was deleted
 * there.  A document that cannot be read costs that entry or version alone. */
#include "tree/import.h"

#include "base/mem.h"
#include "base/options.h"
#include "store/ops.h"
#include "tree/quota.h"

#include <inttypes.h>
#include <string.h>

bool ash__import_is_own_fault(int rc)
{
    return rc == ASH_ECORRUPT || rc == ASH_EEXISTS || rc == ASH_ETOOBIG || rc == ASH_EINVAL ||
           rc == ASH_ECONFLICT;
}

void ash__import_fail(ash_import *im, const ash_tree_entry *e, const ash_error *why)
{
    im->report.failed++;
    if (im->opts.failed == NULL)
        return;
    bson_t facts = BSON_INITIALIZER;
    char *text = e == NULL ? ash__strdup(why->text)
                           : ash__sprintf("%s, version %" PRId32 ": %s", ash_tree_entry_path(e),
                                          e->version, why->text);
    BSON_APPEND_UTF8(&facts, "text", text);
    BSON_APPEND_UTF8(&facts, "kind", "not brought");
    if (e != NULL) {
        BSON_APPEND_VALUE(&facts, "id", &e->id);
        BSON_APPEND_INT32(&facts, "version", e->version);
        BSON_APPEND_UTF8(&facts, "path", ash_tree_entry_path(e));
    }
    im->opts.failed(im->opts.failed_ctx, text, &facts);
    ash__free(text);
    bson_destroy(&facts);
}

const bson_value_t *ash__import_id(const ash_import *im, const bson_value_t *id)
{
    return im->to_top != NULL && ash__same_id(id, &im->from_top->id) ? &im->to_top->id : id;
}

/* ---- documents ---- */

static int take(ash_import *im, const ash_import_scan *scan, const bson_t *doc, ash_error *err)
{
    ash_tree_entry *e = NULL;
    ash_error own = ASH_ERROR_INIT;
    if (ash__entry_new(bson_copy(doc), &e, &own) != 0) {
        ash__import_fail(im, NULL, &own);
        return 0;
    }
    int rc = scan->fn(im, e, scan->ctx, &own);
    if (rc == ASH_ECORRUPT) {
        ash__import_fail(im, NULL, &own);
        return 0;
    }
    return ash__unless(0, rc, &own, err);
}

/* A damaged document costs itself, where the store goes on behind it; others would give the same
 * error for ever. */
static int next(ash_import *im, ash_cursor *cursor, ash_doc *doc, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_cursor_next(cursor, doc, &own);
    while (rc == ASH_ECORRUPT && im->past_damage) {
        ash__import_fail(im, NULL, &own);
        rc = ash_cursor_next(cursor, doc, &own);
    }
    return ash__unless(0, rc, &own, err);
}

int ash__import_each(ash_import *im, const ash_import_scan *scan, ash_error *err)
{
    ash_find_options o = ash__tree_find_options(&im->op);
    ash_cursor *cursor = NULL;
    o.sort = scan->sort;
    o.no_cursor_timeout = true; /* between two documents a large file may be brought */
    o.past_damage = true;
    int rc = ash_collection_find(scan->collection, scan->filter, &o, &cursor, err);
    while (rc == 0) {
        ash_doc doc;
        bson_t view;
        rc = ash__op_check(&im->op, err);
        if (rc == 0)
            rc = next(im, cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        ash__doc_to_bson(doc, &view);
        rc = take(im, scan, &view, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* ---- which of them ---- */

static bool is_whole_tree(const ash_import *im)
{
    return strcmp(im->from_top->path, "/") == 0;
}

/* The root's own document goes with the whole of a tree into the whole of another. */
static bool is_wanted_root(const ash_import *im, const ash_tree_entry *e)
{
    return is_whole_tree(im) && ash__same_id(&e->id, &im->from_top->id) &&
           (im->to_top == NULL || strcmp(im->to_top->path, "/") == 0);
}

/* e: taken over. */
static int take_place(ash_import *im, ash_tree_entry *e, ash_error *err)
{
    const ash_tree_place *place = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__places_find(im->places, e, &place, err);
    if (rc == 0 && place == NULL && is_wanted_root(im, e)) {
        e->path = ash__strdup("/");
        return ash__import_add(im, e, err);
    }
    if (rc == 0 && place != NULL && place->below) {
        ash__place_set_path(place, e);
        return ash__import_add(im, e, err);
    }
    /* It may be of another root's tree; what hangs from none is of nobody's. */
    if (rc == 0 && place != NULL && !place->anchored && is_whole_tree(im)) {
        (void)ash__fail(&own, ASH_ECORRUPT, "a folder above it is missing");
        ash__import_fail(im, e, &own);
    }
    ash_tree_entry_free(e);
    return rc;
}

static int take_current(ash_import *im, ash_tree_entry *e, void *ctx, ash_error *err)
{
    (void)ctx;
    return take_place(im, e, err);
}

/* Of the deletions of an entry the last one counts, and none when it is there again. */
static int take_deletion(ash_import *im, ash_tree_entry *e, void *ctx, ash_error *err)
{
    ash_tree_entry *newest = NULL;
    (void)ctx;
    int rc = e->is_deleted ? ash__tree_newest(im->from, &e->id, &im->op, &newest, err) : 0;
    bool counts =
        rc == 0 && newest != NULL && newest->is_deleted && newest->version + 1 == e->version;
    ash_tree_entry_free(e);
    if (counts)
        return take_place(im, newest, err);
    ash_tree_entry_free(newest);
    return rc;
}

static int walk(ash_import *im, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    bson_t *deletions = BCON_NEW("deleted_at", "{", "$exists", BCON_BOOL(true), "}");
    const ash_import_scan current = {im->from->current, &all, NULL, take_current, NULL};
    const ash_import_scan deleted = {im->from->past, deletions, NULL, take_deletion, NULL};
    int rc = ash__import_each(im, &current, err);
    if (rc == 0 && !im->opts.without_history)
        rc = ash__import_each(im, &deleted, err);
    if (rc == 0)
        rc = ash__import_group(im, err);
    bson_destroy(deletions);
    bson_destroy(&all);
    return rc;
}

/* ---- from where, to where ---- */

static int check_pair(const ash_import *im, ash_error *err)
{
    const ash_tree *from = im->from, *to = im->to;
    if (im->op.transaction != NULL)
        return ash__fail(err, ASH_ESTATE,
                         "an import is many commits, and cannot be part of another");
    if (im->op.principal != NULL)
        return ash__fail(err, ASH_EACCES,
                         "access lists are brought along: only who is held to none imports");
    if (to == NULL)
        return im->opts.dry_run ? 0 : ash__fail(err, ASH_EINVAL, "only a dry run has no target");
    if (from->store == to->store && strcmp(from->db, to->db) == 0 &&
        (strcmp(ash_collection_name(from->current), ash_collection_name(to->current)) == 0 ||
         strcmp(ash__contents_collection(from->contents), ash__contents_collection(to->contents)) ==
             0))
        return ash__fail(err, ASH_EINVAL,
                         "both trees are in the same collection or bucket: within one, copy");
    return 0;
}

static int find_folder(ash_tree *tree, const char *path, const ash_op *op, ash_tree_entry **out,
                       ash_error *err)
{
    int rc = ash_tree_get(tree, path, NULL, op, out, err);
    if (rc == 0 && !(*out)->is_folder)
        rc = ash__fail(err, ASH_EINVAL, "%s is a file, not a folder", (*out)->path);
    return rc;
}

static int find_target(ash_import *im, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    const char *path = im->opts.to != NULL ? im->opts.to : "/";
    o.make_folders = true;
    int rc = im->opts.dry_run ? 0 : ash_tree_prepare(im->to, &im->op, err);
    if (rc != 0)
        return rc;
    rc = find_folder(im->to, path, &im->op, &im->to_top, &own);
    if (rc == ASH_ENOTFOUND && im->opts.dry_run)
        return 0;
    if (rc == ASH_ENOTFOUND)
        return ash_tree_make_folder(im->to, path, &o, &im->op, &im->to_top, err);
    return ash__unless(0, rc, &own, err);
}

static int has_any(ash_import *im, ash_collection *c, bool *any, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    bson_t *doc = NULL;
    int rc = ash__tree_find_one(c, &all, NULL, &im->op, &doc, err);
    *any = *any || doc != NULL;
    bson_destroy(doc);
    return rc;
}

static int begin(ash_import *im, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    bool any = false;
    int rc = check_pair(im, err);
    if (rc == 0)
        rc = find_folder(im->from, im->opts.from != NULL ? im->opts.from : "/", &im->op,
                         &im->from_top, err);
    if (rc == 0)
        rc = ash_store_capabilities(im->from->store, &can, err);
    im->past_damage = can.past_damage;
    im->fresh = true;
    if (rc != 0 || im->to == NULL)
        return rc;
    rc = has_any(im, im->to->current, &any, err);
    if (rc == 0)
        rc = has_any(im, im->to->past, &any, err);
    if (rc == 0)
        rc = find_target(im, err);
    if (rc == 0)
        rc = ash_store_capabilities(im->to->store, &can, err);
    im->fresh = !any;
    im->step_max = can.replayed_transactions ? 16 : ASH_IMPORT_STEPS;
    return rc;
}

/* Also after a failure, which err tells of: what came is there. */
static int count_quotas(ash_import *im, int rc, ash_error *err)
{
    bool any = false;
    if (im->to == NULL || im->opts.dry_run || im->op.transaction != NULL)
        return rc;
    int counted = ash_tree_has_quotas(im->to, &im->op, &any, rc == 0 ? err : NULL);
    if (counted == 0 && any)
        counted = ash__quotas_recount(im->to, &im->op, rc == 0 ? err : NULL);
    return rc != 0 ? rc : counted;
}

int ash_tree_import(ash_tree *to, ash_tree *from, const ash_tree_import_options *opts,
                    const ash_op *op, ash_tree_import_report *report, ash_error *err)
{
    ash_assert(from != NULL);
    ash_import *im = ash__new(ash_import);
    im->to = to;
    im->from = from;
    im->op = ash__op_of(op);
    im->report = (ash_tree_import_report)ASH_TREE_IMPORT_REPORT_INIT;
    int rc = ash__options_copy(&im->opts, sizeof im->opts, opts, err);
    if (rc == 0)
        rc = begin(im, err);
    if (rc == 0) {
        im->places = ash__places_new(from, &im->from_top->id, &im->op);
        rc = count_quotas(im, walk(im, err), err);
    }
    if (report != NULL) {
        int out = ash__out_copy(report, &im->report, sizeof im->report, err);
        rc = rc != 0 ? rc : out;
    }
    if (rc == 0 && im->report.failed > 0)
        rc = ash__fail(err, ASH_EPARTIAL, "%" PRId64 " versions could not be brought",
                       im->report.failed);
    ash__import_release_items(im);
    ash__places_free(im->places);
    ash_tree_entry_free(im->from_top);
    ash_tree_entry_free(im->to_top);
    ash__free(im);
    return rc;
}
