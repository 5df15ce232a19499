/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting: one commit for a folder and all below it, in batches of few operations; where that would
 * be too long a commit, what lies in the folder goes before. */
#include "tree/remove.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"

#include <inttypes.h>

enum { BATCH = ASH_TREE_BATCH };

static int take_out(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                    ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    o.op = c->op;
    ash__filter_entries(&filter, "_id", entries, count);
    int rc = ash_collection_remove(c->tree->current, &filter, &o, &result, err);
    if (rc == 0 && result.deleted != (int64_t)count)
        rc = ash__fail(err, ASH_ECONFLICT, "what is to be deleted was changed meanwhile");
    ash_write_result_release(&result);
    bson_destroy(&filter);
    return rc;
}

int ash__commit_remove(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                       ash_error *err)
{
    int rc = ash__account_entries(c, entries, count, -1, err);
    for (size_t first = 0; rc == 0 && first < count; first += BATCH) {
        size_t n = count - first < BATCH ? count - first : BATCH, used;
        ash_content_use *uses = ash__content_uses(entries + first, n, &used);
        rc = ash__commit_bury(c, entries + first, n, err);
        if (rc == 0)
            rc = take_out(c, entries + first, n, err);
        if (rc == 0 && used > 0)
            rc = ash__contents_let_go(c->tree->contents, uses, used, &c->op, err);
        ash__free(uses);
    }
    return rc;
}

/* ---- ash_tree_remove ---- */

/* Somebody may be putting something into each of the folders. */
static int claim_folders(ash_tree_commit *c, const ash_tree_subtree *s, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++)
        if (s->items[i]->is_folder)
            rc = ash__commit_claim(c, &s->items[i]->id, err);
    return rc;
}

int ash__removal_top(ash_tree_commit *c, ash_tree_removal *r, ash_tree_chain *chain, ash_error *err)
{
    if (r->began_ms == 0)
        r->began_ms = c->now_ms;
    c->now_ms = r->began_ms;
    int rc = ash__commit_entry(c, r->path, chain, err);
    if (rc != 0)
        return rc;
    const ash_tree_entry *top = ash__chain_last(chain);
    if (r->top == NULL)
        r->top = ash_tree_entry_copy(top);
    if (!ash__same_id(&r->top->id, &top->id))
        return ash__fail(err, ASH_ECONFLICT, "%s is another one by now", top->path);
    return ash__commit_conditions(c, top, err);
}

static int remove_all(ash_tree_commit *c, const ash_tree_subtree *all, ash_error *err)
{
    if (all->count > 1 && !c->opts->recursive)
        return ash__fail(err, ASH_ESTATE, "%s is not empty: %s%zu entries lie in it",
                         all->items[0]->path, all->more ? "more than " : "", all->count - 1);
    int rc = claim_folders(c, all, err);
    return rc == 0 ? ash__commit_remove(c, all->items, all->count, err) : rc;
}

static int remove_entry(ash_tree_commit *c, void *ctx, ash_error *err)
{
    ash_tree_removal *r = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_subtree below = ASH_TREE_SUBTREE_INIT;
    bool bounded = !r->whole || !c->opts->recursive;
    below.max = bounded ? c->tree->whole_max : 0;
    below.finds_max = bounded ? c->tree->finds_max : 0;
    int rc = r->path->count == 0 ? ash__fail(err, ASH_EINVAL, "the root cannot be removed")
                                 : ash__removal_top(c, r, &chain, err);
    if (rc == 0)
        rc = ash__subtree_read(c->tree, ash_tree_entry_copy(ash__chain_last(&chain)), 0, &c->op,
                               &below, err);
    r->too_many = rc == 0 && below.more && c->opts->recursive;
    if (rc == 0 && !r->too_many)
        rc = ash__subtree_require(c->tree, &below, &chain, ASH_TREE_WRITE, &c->op, err);
    if (rc == 0 && !r->too_many)
        rc = remove_all(c, &below, err);
    ash__subtree_release(&below);
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_remove(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                    const ash_op *op, ash_error *err)
{
    enum { ROUNDS = 8 }; /* others would have to fill it faster than it is emptied */
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    ash_tree_removal r = {
        .path = &parts, .whole = ash__op_of(op).transaction != NULL, .too_many = true};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    for (int i = 0; rc == 0 && r.too_many && i < ROUNDS; i++) {
        rc = ash__tree_change(tree, &o, op, remove_entry, &r, err);
        if (rc == 0 && r.too_many)
            rc = ash__removal_empty(tree, &r, &o, op, err);
    }
    if (rc == 0 && r.too_many)
        rc = ash__fail(err, ASH_ECONFLICT, "%s is filled as fast as it is emptied", path);
    ash_tree_entry_free(r.top);
    ash__tree_path_release(&parts);
    return rc;
}
