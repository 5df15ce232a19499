/* SPDX-License-Identifier: Apache-2.0 */
/* One entry, by path or id. */
#include "base/options.h"
#include "base/mem.h"
#include "tree/acl.h"
#include "tree/get.h"

#include <inttypes.h>

static int pick_version(ash_tree *tree, ash_tree_entry **e, int32_t version, const ash_op *op,
                        ash_error *err)
{
    ash_tree_entry *old = NULL;
    if (version == 0 || (*e)->version == version)
        return 0;
    int rc = ash__tree_version(tree, &(*e)->id, version, op, &old, err);
    if (rc == 0 && (old == NULL || old->is_deleted))
        rc = ash__fail(err, ASH_ENOREVISION, "%s has no version %" PRId32, (*e)->path, version);
    if (rc != 0) {
        ash_tree_entry_free(old);
        return rc;
    }
    old->path = ash__strdup((*e)->path);
    ash_tree_entry_free(*e);
    *e = old;
    return 0;
}

int ash__tree_get(ash_tree *tree, const char *path, const ash_tree_when *when, const ash_op *op,
                  ash_tree_entry **out, ash_error *err)
{
    ash_tree_when w;
    ash_op own = ash__op_of(op);
    ash_tree_path parts = {0};
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    *out = NULL;
    int rc = ash__options_copy(&w, sizeof w, when, err);
    if (rc == 0 && (w.at_ms < 0 || w.version < 0))
        rc = ash__fail(err, ASH_EINVAL, "times and versions are not negative");
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_walk_all(tree, &parts, w.at_ms, &own, &chain, err);
    if (rc == 0)
        rc = ash__tree_require_at(tree, &chain, w.at_ms, ASH_TREE_READ, &own, err);
    if (rc == 0) {
        *out = ash__chain_take(&chain);
        rc = pick_version(tree, out, w.version, &own, err);
    }
    if (rc != 0) {
        ash_tree_entry_free(*out);
        *out = NULL;
    }
    ash__chain_release(&chain);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_get(ash_tree *tree, const char *path, const ash_tree_when *when, const ash_op *op,
                 ash_tree_entry **out, ash_error *err)
{
    ash_assert(tree != NULL && path != NULL && out != NULL);
    return ash__tree_get(tree, path, when, op, out, err);
}

int ash_tree_get_by_id(ash_tree *tree, const bson_value_t *id, int32_t version, const ash_op *op,
                       ash_tree_entry **out, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    ash_assert(tree != NULL && id != NULL && out != NULL);
    *out = NULL;
    int rc = version != 0 ? ash__tree_version(tree, id, version, &own, out, err)
                          : ash__tree_newest(tree, id, &own, out, err);
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, version != 0 ? ASH_ENOREVISION : ASH_ENOTFOUND,
                       "there is no entry of that id%s", version != 0 ? " and version" : "");
    if (rc == 0)
        rc = ash__tree_climb(tree, *out, &own, &chain, &reached, err);
    if (rc == 0) {
        ash_tree_entry *guard = NULL;
        ash__entry_set_path(*out,
                            chain.count > 0 ? ash__chain_last(&chain)->path : ASH_TREE_NOWHERE);
        rc = ash__acl_guard(tree, *out, &own, &guard, err);
        if (rc == 0) {
            ash__chain_add(&chain, guard);
            rc = ash__tree_require(&chain, ASH_TREE_READ, &own, err);
        }
    }
    if (rc != 0) {
        ash_tree_entry_free(*out);
        *out = NULL;
    }
    ash__chain_release(&chain);
    return rc;
}
