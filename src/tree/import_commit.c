/* SPDX-License-Identifier: Apache-2.0 */
/* Several versions in one commit.  When it fails by the fault of one of them, each is committed by
 * itself, and only that one left out. */
#include "tree/import.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/change.h"

#include <string.h>

enum { TRIES = 8, NAMES_MAX = 1000 };

/* Steps from first to end - 1, which are one commit. */
typedef struct commit_call {
    ash_import *im;
    size_t first, end;
} commit_call;

static bool is_deletion(const ash_import_step *s)
{
    return s->version->is_deleted;
}

/* It takes the place of what the target has as current. */
static bool replaces(const ash_import_step *s)
{
    return s->item->there != NULL && (s->current || is_deletion(s));
}

/* ---- contents ---- */

static int store_contents(const commit_call *call, ash_tree_commit *c, ash_error *err)
{
    ash_import *im = call->im;
    ash_content_use held[ASH_IMPORT_STEPS];
    size_t n = 0;
    int rc = 0;
    for (size_t i = call->first; rc == 0 && i < call->end; i++) {
        const ash_import_step *s = &im->steps[i];
        const bson_value_t *owner = ash__import_id(im, &s->version->id);
        if (s->content != NULL)
            rc = ash__content_writer_store(s->content, owner, &c->op, err);
        else if (s->id.len != 0)
            held[n++] = (ash_content_use){s->id, owner};
    }
    return rc == 0 && n > 0 ? ash__commit_hold(c, held, n, err) : rc;
}

/* What only versions of the past have is remembered as theirs, no more. */
static int let_go(const commit_call *call, ash_tree_commit *c, ash_error *err)
{
    ash_import *im = call->im;
    ash_content_use uses[ASH_IMPORT_STEPS];
    size_t n = 0;
    for (size_t i = call->first; i < call->end; i++) {
        const ash_import_step *s = &im->steps[i];
        const ash_tree_entry *there = s->item->there;
        const bson_value_t *owner = ash__import_id(im, &s->version->id);
        if (replaces(s) && there->content.id.len != 0 &&
            !ash__content_id_equal(&there->content.id, &s->id))
            uses[n++] = (ash_content_use){there->content.id, owner};
        else if (!s->current && s->id.len != 0 &&
                 (there == NULL || !ash__content_id_equal(&there->content.id, &s->id)))
            uses[n++] = (ash_content_use){s->id, owner};
    }
    return n > 0 ? ash__contents_let_go(im->to->contents, uses, n, &c->op, err) : 0;
}

/* ---- documents ---- */

static int insert_all(const commit_call *call, ash_tree_commit *c, bool current, ash_error *err)
{
    ash_doc docs[ASH_IMPORT_STEPS];
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    size_t n = 0;
    o.op = c->op;
    for (size_t i = call->first; i < call->end; i++)
        if (call->im->steps[i].current == current)
            docs[n++] = ash__doc_from_bson(call->im->steps[i].doc);
    ash_collection *into = current ? c->tree->current : c->tree->past;
    return n > 0 ? ash_collection_insert(into, docs, n, &o, NULL, err) : 0;
}

/* Its past has come already, or comes with the same commit. */
static int remove_there(ash_tree_commit *c, const ash_tree_entry *there, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_iter_t it;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result result;
    o.op = c->op;
    ash_write_result_init(&result);
    ash__filter_id(&filter, "_id", &there->id);
    if (ash__entry_field(there, "_version", &it))
        bson_append_iter(&filter, "_version", 8, &it);
    int rc = ash_collection_remove(c->tree->current, &filter, &o, &result, err);
    if (rc == 0 && result.deleted != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "%s was changed meanwhile", there->name);
    ash_write_result_release(&result);
    bson_destroy(&filter);
    return rc;
}

/* A file may come before the folder that it lies in, so that nothing leads from it to a quota: all of
 * it counts as lying in the folder that is imported into, until the end, when quotas are counted. */
static int account(const commit_call *call, ash_tree_commit *c, ash_error *err)
{
    int64_t comes = 0, goes = 0;
    int rc = 0;
    for (size_t i = call->first; rc == 0 && i < call->end; i++) {
        const ash_import_step *s = &call->im->steps[i];
        int64_t length = s->version->content.length;
        if (s->current) {
            ash__add_length(&comes, length);
            rc = ash__account_user(c, s->version, length, err);
        }
        if (rc == 0 && replaces(s)) {
            ash__add_length(&goes, s->item->there->content.length);
            rc = ash__account_user(c, s->item->there, -s->item->there->content.length, err);
        }
    }
    if (rc != 0)
        return rc;
    return ash__account_add(c, &call->im->to_top->id, comes - goes, err);
}

static int write_steps(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const commit_call *call = ctx;
    int rc = account(call, c, err);
    if (rc == 0)
        rc = store_contents(call, c, err);
    if (rc == 0)
        rc = let_go(call, c, err);
    if (rc == 0)
        rc = insert_all(call, c, false, err);
    for (size_t i = call->first; rc == 0 && i < call->end; i++)
        if (replaces(&call->im->steps[i]))
            rc = remove_there(c, call->im->steps[i].item->there, err);
    return rc == 0 ? insert_all(call, c, true, err) : rc;
}

/* ---- the commit ---- */

static int note(const commit_call *call, ash_error *err)
{
    ash_import *im = call->im;
    int rc = 0;
    for (size_t i = call->first; i < call->end; i++) {
        const ash_import_step *s = &im->steps[i];
        im->report.versions++;
        ash__add_length(&im->report.bytes, s->version->content.length);
        if (s->id.len != 0) {
            s->item->before = s->id;
            if (s->version->content.id.len != 0)
                ash__import_know(im, &s->version->content.id, &s->id);
        }
        if (s->item->told)
            continue;
        s->item->told = true;
        im->report.entries++;
        if (rc == 0 && im->opts.each != NULL && !im->opts.each(im->opts.each_ctx, s->item->shown))
            rc = ash__fail(err, ASH_EINTERRUPTED, "the import was stopped");
    }
    return rc;
}

/* A conflict: what was to be held, or built on, went meanwhile; so everything is looked at again. */
static int commit(const commit_call *call, ash_error *err)
{
    static const ash_tree_change_options plain = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_import *im = call->im;
    int rc = ASH_ECONFLICT;
    for (int turn = 0; rc == ASH_ECONFLICT && turn < TRIES; turn++) {
        rc = 0;
        if (turn > 0)
            ash__import_forget(im);
        for (size_t i = call->first; turn > 0 && rc == 0 && i < call->end; i++)
            rc = ash__import_prepare(im, i, call->first, err);
        if (rc == 0)
            rc = ash__tree_change(im->to, &plain, &im->op, write_steps, (void *)(uintptr_t)call,
                                  err);
    }
    return rc;
}

/* ---- one by itself ---- */

/* "report (2).txt"; the ending stays where there is one. */
static char *other_name(const char *name, int n)
{
    const char *dot = strrchr(name, '.');
    int stem = dot != NULL && dot != name ? (int)(dot - name) : (int)strlen(name);
    return ash__sprintf("%.*s (%d)%s", stem, name, n, name + stem);
}

static int is_taken(ash_import *im, const ash_import_step *s, const char *name, bool *taken,
                    ash_error *err)
{
    ash_tree_entry folder = {.id = *ash__import_id(im, &s->version->parent), .path = (char[]){"/"}};
    ash_tree_entry *other = NULL;
    int rc = ash__tree_child(im->to, &folder, name, &im->op, &other, err);
    *taken = other != NULL && !ash__same_id(&other->id, ash__import_id(im, &s->version->id));
    ash_tree_entry_free(other);
    return rc;
}

/* The first name of its kind that nobody has; false: the name was not what failed. */
static int find_name(ash_import *im, ash_import_step *s, bool *found, ash_error *err)
{
    bool taken = false;
    *found = false;
    int rc = is_taken(im, s, s->version->name, &taken, err);
    for (int n = 2; rc == 0 && taken && !*found && n < NAMES_MAX; n++) {
        char *name = other_name(s->version->name, n);
        bool also = false;
        rc = is_taken(im, s, name, &also, err);
        if (rc == 0 && !also) {
            ash__import_rename(s, name);
            *found = true;
        }
        ash__free(name);
    }
    return rc;
}

static int commit_alone(ash_import *im, size_t i, ash_error *err)
{
    const commit_call call = {im, i, i + 1};
    ash_import_step *s = &im->steps[i];
    ash_error own = ASH_ERROR_INIT;
    int rc = commit(&call, &own);
    if (rc == ASH_EEXISTS && s->current) {
        bool found = false;
        int looked = find_name(im, s, &found, &own);
        rc = looked != 0 ? looked : found ? commit(&call, &own) : rc;
        im->report.renamed += rc == 0 && found ? 1 : 0;
    }
    if (rc == 0)
        return note(&call, err);
    if (!ash__import_is_own_fault(rc))
        return ash__unless(0, rc, &own, err);
    ash__import_fail(im, s->version, &own);
    return 0;
}

int ash__import_flush(ash_import *im, ash_error *err)
{
    const commit_call call = {im, 0, im->step_count};
    ash_error own = ASH_ERROR_INIT;
    int rc = im->step_count > 1 ? commit(&call, &own) : ASH_EEXISTS;
    if (im->step_count > 1 && rc == 0)
        rc = note(&call, err);
    else if (im->step_count > 1 && !ash__import_is_own_fault(rc))
        (void)ash__unless(0, rc, &own, err);
    else
        for (size_t i = rc = 0; rc == 0 && i < im->step_count; i++)
            rc = commit_alone(im, i, err);
    for (size_t i = 0; i < im->step_count; i++)
        ash__import_release_step(&im->steps[i]);
    im->step_count = 0;
    im->pending_bytes = 0;
    return rc;
}
