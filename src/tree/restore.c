/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of an earlier version come back as a new one.  They are there as long as the history is,
 * so that nothing is copied. */
#include "tree/restore.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/history.h"
#include "tree/set.h"
#include "tree/subtree.h"

#include <inttypes.h>

typedef struct restore_call {
    const ash_tree_path *path;
    int32_t version;
    ash_tree_entry *entry;
} restore_call;

void ash__restored_fields(const ash_tree_entry *old, bson_t *set)
{
    static const char *const kinds[] = {"length",      "sha",         "in",
                                        "contentType", "modified_at", "props"};
    bson_iter_t it;
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++)
        if (ash__entry_field(old, kinds[i], &it))
            bson_append_iter(set, NULL, 0, &it);
        else
            bson_append_null(set, kinds[i], -1);
}

static int bring_back(ash_tree_commit *c, restore_call *call, const ash_tree_entry *now,
                      const ash_tree_entry *old, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    ash_content_use holds = {old->content.id, &now->id}, goes = {now->content.id, &now->id};
    bool same = ash__content_id_equal(&holds.id, &goes.id);
    ash__restored_fields(old, &set);
    int rc = 0;
    if (ash__entry_says(now, &set)) {
        call->entry = ash_tree_entry_copy(now);
    } else {
        if (!same && holds.id.len != 0)
            rc = ash__contents_hold(c->tree->contents, &holds, 1, &c->op, err);
        if (rc == 0 && !same && goes.id.len != 0)
            rc = ash__contents_let_go(c->tree->contents, &goes, 1, &c->op, err);
        bson_append_int32(&set, "restored", 8, old->version);
        if (rc == 0)
            rc = ash__commit_revise(c, now, &set, &call->entry, err);
    }
    bson_destroy(&set);
    return rc;
}

static int restore(ash_tree_commit *c, void *ctx, ash_error *err)
{
    restore_call *call = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *old = NULL;
    ash_tree_entry_free(call->entry);
    call->entry = NULL;
    int rc = ash__commit_entry(c, call->path, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_READ | ASH_TREE_WRITE, &c->op, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, ash__chain_last(&chain), err);
    if (rc == 0)
        rc = ash__tree_version(c->tree, &ash__chain_last(&chain)->id, call->version, &c->op, &old,
                               err);
    if (rc == 0 && (old == NULL || old->is_deleted))
        rc = ash__fail(err, ASH_ENOREVISION, "%s has no version %" PRId32,
                       ash__chain_last(&chain)->path, call->version);
    /* It may have lain where the list was another one. */
    if (rc == 0)
        rc = ash__tree_require_read(c->tree, old, &c->op, err);
    if (rc == 0)
        rc = bring_back(c, call, ash__chain_last(&chain), old, err);
    ash_tree_entry_free(old);
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_restore(ash_tree *tree, const char *path, int32_t version,
                     const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                     ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    restore_call call = {.path = &parts, .version = version};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, restore, &call, err);
    ash__tree_give(rc, call.entry, entry);
    ash__tree_path_release(&parts);
    return rc;
}
