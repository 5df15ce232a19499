/* SPDX-License-Identifier: Apache-2.0 */
/* Making folders, and finding the one that something goes into. */
#include "tree/change.h"

#include "base/mem.h"
#include "tree/acl.h"

static int make_one(ash_tree_commit *c, ash_tree_chain *chain, const char *name, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER;
    bson_oid_t id;
    ash_tree_entry *made = NULL;
    const ash_tree_entry *above = ash__chain_last(chain);
    bson_oid_init(&id, NULL);
    ash__document_begin(&doc, &id, &above->id, name, 1);
    bson_append_date_time(&doc, "created_at", 10, c->now_ms);
    int rc = ash__commit_claim(c, &above->id, err);
    if (rc == 0)
        rc = ash__commit_insert(c, &doc, above->path, &made, err);
    if (rc == 0)
        ash__chain_add(chain, made);
    bson_destroy(&doc);
    return rc;
}

/* The path's names above the last. */
static int walk_folders(ash_tree_commit *c, const ash_tree_path *path, ash_tree_chain *chain,
                        ash_error *err)
{
    ash_tree_path above = *path;
    above.count--;
    int rc = ash__tree_walk(c->tree, &above, 0, &c->op, chain, err);
    if (rc == 0 && chain->count <= above.count && !c->opts->make_folders)
        rc = ash__tree_say_missing(path, chain->count, 0, err);
    if (rc == 0 && !ash__chain_last(chain)->is_folder)
        rc = ash__fail(err, ASH_EINVAL, "%s is a file, not a folder", ash__chain_last(chain)->path);
    return rc;
}

int ash__commit_folder(ash_tree_commit *c, const ash_tree_path *path, ash_tree_chain *chain,
                       ash_error *err)
{
    if (path->count == 0)
        return ash__fail(err, ASH_EINVAL, "the root itself cannot be made, moved or removed");
    int rc = walk_folders(c, path, chain, err);
    if (rc == 0 && chain->count < path->count)
        rc = ash__tree_require(chain, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    while (rc == 0 && chain->count < path->count)
        rc = make_one(c, chain, path->names[chain->count - 1], err);
    return rc;
}

/* ---- ash_tree_make_folder ---- */

typedef struct folder_call {
    const ash_tree_path *path;
    bson_oid_t id;
    ash_tree_entry *made;
} folder_call;

static int say_taken(const ash_tree_entry *e, ash_error *err)
{
    return ash__fail(err, ASH_EEXISTS, "%s is there already%s", e->path,
                     e->is_folder ? "" : ", and is a file");
}

static int make_folder(ash_tree_commit *c, void *ctx, ash_error *err)
{
    folder_call *call = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *there = NULL;
    bson_t doc = BSON_INITIALIZER;
    ash_tree_entry_free(call->made);
    call->made = NULL;
    const char *name = call->path->count > 0 ? call->path->names[call->path->count - 1] : "";
    int rc = ash__commit_folder(c, call->path, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    if (rc == 0)
        rc = ash__tree_child(c->tree, ash__chain_last(&chain), name, &c->op, &there, err);
    if (rc == 0 && there != NULL)
        rc = say_taken(there, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, NULL, err);
    if (rc == 0) {
        ash__document_begin(&doc, &call->id, &ash__chain_last(&chain)->id, name, 1);
        rc = ash__document_end(c, &doc, err);
    }
    if (rc == 0)
        rc = ash__commit_claim(c, &ash__chain_last(&chain)->id, err);
    if (rc == 0)
        rc = ash__commit_insert(c, &doc, ash__chain_last(&chain)->path, &call->made, err);
    bson_destroy(&doc);
    ash_tree_entry_free(there);
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_make_folder(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                         const ash_op *op, ash_tree_entry **entry, ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    folder_call call = {.path = &parts};
    bson_oid_init(&call.id, NULL);
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, make_folder, &call, err);
    ash__tree_give(rc, call.made, entry);
    ash__tree_path_release(&parts);
    return rc;
}
