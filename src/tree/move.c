/* SPDX-License-Identifier: Apache-2.0 */
/* Moving: one document gets another parent or name, and what lies below comes along by itself.
 *
 * A folder must not come to lie in itself.  Where transactions are not serial, two moves could do
 * that together, each by itself being right: so all moves of folders claim one thing. */
#include "tree/quota.h"
#include "tree/remove.h"

#include "base/mem.h"
#include "tree/acl.h"

typedef struct move_call {
    const ash_tree_path *from, *to;
    ash_tree_entry *entry;
    bool too_many; /* result of a failure: the folder has too much to be counted in the commit */
} move_call;

static int check_circle(const ash_tree_entry *moved, const ash_tree_chain *target, ash_error *err)
{
    for (size_t i = 0; i < target->count; i++)
        if (ash__same_id(&target->items[i]->id, &moved->id))
            return ash__fail(err, ASH_EINVAL, "%s cannot be moved into itself", moved->path);
    return 0;
}

/* What has the name gives way, if that is wanted and both are files. */
static int make_way(ash_tree_commit *c, const ash_tree_chain *folder, ash_tree_entry *there,
                    const ash_tree_entry *moved, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    if (there == NULL || ash__same_id(&there->id, &moved->id))
        return 0;
    if (!c->opts->replace)
        return ash__fail(err, ASH_EEXISTS, "%s is there already", there->path);
    if (there->is_folder || moved->is_folder)
        return ash__fail(err, ASH_EEXISTS, "%s is there already, and folders are not replaced",
                         there->path);
    for (size_t i = 0; i < folder->count; i++)
        ash__chain_add(&chain, folder->items[i]);
    ash__chain_add(&chain, there);
    int rc = ash__tree_require(&chain, ASH_TREE_WRITE, &c->op, err);
    ash__free(chain.items);
    return rc == 0 ? ash__commit_remove(c, &there, 1, err) : rc;
}

static int rename_to(ash_tree_commit *c, const ash_tree_entry *moved, const ash_tree_entry *folder,
                     const char *name, ash_tree_entry **out, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    bson_append_value(&set, "parent", 6, &folder->id);
    bson_append_utf8(&set, "filename", 8, name, -1);
    int rc = ash__commit_claim(c, &folder->id, err);
    if (rc == 0 && moved->is_folder)
        rc = ash__commit_claim_shape(c, err);
    if (rc == 0)
        rc = ash__commit_revise(c, moved, &set, out, err);
    if (rc == 0)
        ash__entry_set_path(*out, folder->path);
    bson_destroy(&set);
    return rc;
}

static int find_source(ash_tree_commit *c, const move_call *call, ash_tree_chain *source,
                       ash_error *err)
{
    if (call->from->count == 0)
        return ash__fail(err, ASH_EINVAL, "the root cannot be moved");
    int rc = ash__commit_entry(c, call->from, source, err);
    if (rc == 0)
        rc = ash__tree_require(source, ASH_TREE_READ | ASH_TREE_WRITE, &c->op, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, ash__chain_last(source), err);
    return rc;
}

static int move_entry(ash_tree_commit *c, void *ctx, ash_error *err)
{
    move_call *call = ctx;
    ash_tree_chain source = ASH_TREE_CHAIN_INIT, target = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *there = NULL;
    ash_tree_entry_free(call->entry);
    call->entry = NULL;
    const char *name = call->to->count > 0 ? call->to->names[call->to->count - 1] : "";
    int rc = find_source(c, call, &source, err);
    if (rc == 0)
        rc = ash__commit_folder(c, call->to, &target, err);
    if (rc == 0)
        rc = ash__tree_require(&target, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    if (rc == 0)
        rc = check_circle(ash__chain_last(&source), &target, err);
    if (rc == 0)
        rc = ash__tree_child(c->tree, ash__chain_last(&target), name, &c->op, &there, err);
    if (rc == 0 && there != NULL && ash__same_id(&there->id, &ash__chain_last(&source)->id)) {
        call->entry = ash_tree_entry_copy(there); /* it is there already */
    } else {
        if (rc == 0)
            rc = make_way(c, &target, there, ash__chain_last(&source), err);
        if (rc == 0)
            rc = rename_to(c, ash__chain_last(&source), ash__chain_last(&target), name,
                           &call->entry, err);
    }
    call->too_many = c->too_many;
    ash_tree_entry_free(there);
    ash__chain_release(&target);
    ash__chain_release(&source);
    return rc;
}

/* A large folder that crosses the bounds of a quota: it is counted first, and knows from then on how
 * much it has. */
static int move_counted(ash_tree *tree, const char *from, move_call *call,
                        const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    int rc = ash__quota_begin_move(tree, from, op, &id, err);
    if (rc == 0)
        rc = ash__tree_change(tree, opts, op, move_entry, call, err);
    if (id.value_type != BSON_TYPE_EOD) {
        (void)ash__quota_end_move(tree, &id, op, NULL); /* else a collection does it */
        bson_value_destroy(&id);
    }
    return rc;
}

int ash_tree_move(ash_tree *tree, const char *from, const char *to,
                  const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                  ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts[2] = {{0}, {0}};
    move_call call = {.from = &parts[0], .to = &parts[1]};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(from, &parts[0], err);
    if (rc == 0)
        rc = ash__tree_path_parse(to, &parts[1], err);
    if (rc == 0) {
        rc = ash__tree_change(tree, &o, op, move_entry, &call, err);
        if (rc == ASH_ETOOBIG && call.too_many && ash__op_of(op).transaction == NULL)
            rc = move_counted(tree, from, &call, &o, op, err);
    }
    ash__tree_give(rc, call.entry, entry);
    ash__tree_path_release(&parts[0]);
    ash__tree_path_release(&parts[1]);
    return rc;
}
