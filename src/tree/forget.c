/* SPDX-License-Identifier: Apache-2.0 */
/* Versions that go out of the history for good: one that is named, and those that pruning chose.
 * Contents are not touched: once no document names one, collection takes it. */
#include "tree/history.h"

#include "base/mem.h"
#include "tree/acl.h"
#include "tree/change.h"

#include <inttypes.h>

bool ash__entry_is_tagged(const ash_tree_entry *e)
{
    bson_iter_t it, child;
    return ash__entry_field(e, "tags", &it) && bson_iter_recurse(&it, &child) &&
           bson_iter_next(&child);
}

int ash__commit_forget_versions(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                                int64_t *gone, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, in, ids;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    o.op = c->op;
    bson_append_document_begin(&filter, "_id", 3, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < count; i++) {
        char buf[12];
        const char *key;
        (void)bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        ash__tree_append_version_id(&ids, key, &entries[i]->id, entries[i]->version);
    }
    bson_append_array_end(&in, &ids);
    bson_append_document_end(&filter, &in);
    /* Whoever tagged one meanwhile keeps it. */
    BCON_APPEND(&filter, "tags.0", "{", "$exists", BCON_BOOL(false), "}");
    int rc = ash_collection_remove(c->tree->past, &filter, &o, &result, err);
    if (gone != NULL)
        *gone = result.deleted;
    ash_write_result_release(&result);
    bson_destroy(&filter);
    return rc;
}

/* ---- ash_tree_forget ---- */

typedef struct forget_call {
    const char *path;
    int32_t version;
} forget_call;

/* The current version, or, of what was deleted, the one that comes back. */
static int find_newest(ash_tree_commit *c, const ash_tree_entry *e, ash_tree_entry **out,
                       ash_error *err)
{
    ash_tree_entries list = ASH_TREE_ENTRIES_INIT;
    int rc = ash__tree_current(c->tree, &e->id, &c->op, out, err);
    if (rc == 0 && *out != NULL && (*out)->version != e->version)
        rc = ash__fail(err, ASH_ENOTFOUND, "%s lies elsewhere by now", e->path);
    if (rc != 0 || *out != NULL)
        return rc;
    rc = ash__tree_past(c->tree, &e->id, 2, &c->op, &list, err);
    for (size_t i = 0; rc == 0 && *out == NULL && i < list.count; i++)
        if (!list.items[i]->is_deleted)
            *out = ash_tree_entry_copy(list.items[i]);
    ash__entries_release(&list);
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND, "nothing is left of %s", e->path);
    return rc;
}

static int check_version(const forget_call *call, const ash_tree_entry *newest, const char *path,
                         const ash_tree_entry *old, ash_error *err)
{
    if (call->version == newest->version)
        return ash__fail(err, ASH_ESTATE, "version %" PRId32 " of %s is the newest, which stays",
                         call->version, path);
    if (old == NULL || old->is_deleted)
        return ash__fail(err, ASH_ENOREVISION, "%s has no version %" PRId32, path, call->version);
    if (ash__entry_is_tagged(old))
        return ash__fail(err, ASH_ESTATE, "version %" PRId32 " of %s is tagged, and stays so long",
                         call->version, path);
    return 0;
}

/* A deletion goes with the version that it ended. */
static int take_out(ash_tree_commit *c, ash_tree_entry *old, ash_error *err)
{
    ash_tree_entries list = ASH_TREE_ENTRIES_INIT;
    ash_tree_entry *next = NULL;
    int64_t gone = 0;
    int rc = ash__tree_version(c->tree, &old->id, old->version + 1, &c->op, &next, err);
    ash__entries_add(&list, old);
    if (next != NULL && next->is_deleted)
        ash__entries_add(&list, next);
    else
        ash_tree_entry_free(next);
    if (rc == 0)
        rc = ash__commit_forget_versions(c, list.items, list.count, &gone, err);
    if (rc == 0 && gone != (int64_t)list.count)
        rc = ash__fail(err, ASH_ECONFLICT, "it was tagged meanwhile, or is gone");
    ash__entries_release(&list);
    return rc;
}

static int forget(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const forget_call *call = ctx;
    ash_tree_entry *e = NULL, *newest = NULL, *old = NULL;
    int rc = ash__tree_find_ever(c->tree, call->path, ASH_TREE_WRITE, &c->op, &e, err);
    if (rc == 0 && e->is_folder)
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder, whose versions say where files lay",
                       e->path);
    if (rc == 0)
        rc = find_newest(c, e, &newest, err);
    if (rc == 0 && newest->path == NULL) /* for what is said of it */
        newest->path = ash__strdup(e->path);
    if (rc == 0)
        rc = ash__commit_conditions(c, newest, err);
    if (rc == 0)
        rc = ash__tree_version(c->tree, &e->id, call->version, &c->op, &old, err);
    if (rc == 0)
        rc = check_version(call, newest, e->path, old, err);
    if (rc == 0) {
        rc = take_out(c, old, err);
        old = NULL;
    }
    ash_tree_entry_free(old);
    ash_tree_entry_free(newest);
    ash_tree_entry_free(e);
    return rc;
}

int ash_tree_forget(ash_tree *tree, const char *path, int32_t version,
                    const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o;
    forget_call call = {path, version};
    int rc = ash__tree_change_options(&o, opts, err);
    return rc == 0 ? ash__tree_change(tree, &o, op, forget, &call, err) : rc;
}
