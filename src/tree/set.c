/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry says besides its bytes and its place. */
#include "tree/change.h"

#include "base/mem.h"
#include "tree/acl.h"
#include "tree/set.h"

/* Is every field of `set` in the document already, and nothing in it that is to go? */
bool ash__entry_says(const ash_tree_entry *e, const bson_t *set)
{
    bson_iter_t it, has;
    if (!bson_iter_init(&it, set))
        return true;
    while (bson_iter_next(&it)) {
        bool there = ash__entry_field(e, bson_iter_key(&it), &has);
        if (BSON_ITER_HOLDS_NULL(&it) ? there
                                      : !there || !ash__value_identical(ash__value_of_iter(&it),
                                                                        ash__value_of_iter(&has)))
            return false;
    }
    return true;
}

typedef struct set_call {
    const ash_tree_path *path;
    const bson_t *fields; /* given ones; NULL: what the options say */
    ash_tree_entry *entry;
} set_call;

static int set(ash_tree_commit *c, void *ctx, ash_error *err)
{
    set_call *call = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bson_t fields = BSON_INITIALIZER;
    ash_tree_entry_free(call->entry);
    call->entry = NULL;
    int rc = ash__commit_entry(c, call->path, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE, &c->op, err);
    ash_tree_entry *old = rc == 0 ? ash__chain_last(&chain) : NULL;
    if (rc == 0)
        rc = ash__commit_conditions(c, old, err);
    if (rc == 0 && call->fields != NULL)
        bson_concat(&fields, call->fields);
    else if (rc == 0)
        rc = ash__document_set(c->opts, old, &fields, err);
    if (rc == 0 && ash__entry_says(old, &fields))
        call->entry = ash_tree_entry_copy(old);
    else if (rc == 0)
        rc = ash__commit_revise(c, old, &fields, &call->entry, err);
    bson_destroy(&fields);
    ash__chain_release(&chain);
    return rc;
}

int ash__tree_set_fields(ash_tree *tree, const char *path, const bson_t *fields,
                         const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    set_call call = {.path = &parts, .fields = fields};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, set, &call, err);
    ash_tree_entry_free(call.entry);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_set(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                 const ash_op *op, ash_tree_entry **entry, ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    set_call call = {.path = &parts};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, set, &call, err);
    ash__tree_give(rc, call.entry, entry);
    ash__tree_path_release(&parts);
    return rc;
}
