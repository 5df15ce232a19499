/* SPDX-License-Identifier: Apache-2.0 */
/* Setting, showing and asking access lists; acl.c decides. */
#include "base/mem.h"
#include "tree/acl.h"
#include "tree/set.h"

#include <string.h>

static int check_list(bson_iter_t *list, ash_error *err)
{
    bson_iter_t it;
    const char *right = bson_iter_key(list);
    if (strcmp(right, "read") != 0 && strcmp(right, "write") != 0 && strcmp(right, "open") != 0)
        return ash__fail(err, ASH_EINVAL, "an access list knows read, write and open, not %s",
                         right);
    if (!BSON_ITER_HOLDS_ARRAY(list) || !bson_iter_recurse(list, &it))
        return ash__fail(err, ASH_EINVAL, "%s of an access list is an array of roles", right);
    while (bson_iter_next(&it))
        if (!BSON_ITER_HOLDS_UTF8(&it))
            return ash__fail(err, ASH_EINVAL, "a role in %s of an access list is no text", right);
    return 0;
}

int ash_tree_set_acl(ash_tree *tree, const char *path, const bson_t *acl,
                     const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    bson_iter_t it;
    int rc = 0;
    if (acl != NULL && !bson_iter_init(&it, acl))
        rc = ash__fail(err, ASH_EINVAL, "the access list is not a valid document");
    while (rc == 0 && acl != NULL && bson_iter_next(&it))
        rc = check_list(&it, err);
    if (acl != NULL)
        bson_append_document(&set, "acl", 3, acl);
    else
        bson_append_null(&set, "acl", 3);
    if (rc == 0)
        rc = ash__tree_set_fields(tree, path, &set, opts, op, err);
    bson_destroy(&set);
    return rc;
}

static int walk(ash_tree *tree, const char *path, const ash_op *op, ash_tree_chain *chain,
                ash_error *err)
{
    ash_tree_path parts = {0};
    int rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_walk_all(tree, &parts, 0, op, chain, err);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_get_acl(ash_tree *tree, const char *path, const ash_op *op, bson_t *acl, char **from,
                     ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bson_iter_t it;
    bson_t view;
    if (from != NULL)
        *from = NULL;
    int rc = walk(tree, path, &own, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_READ, &own, err);
    if (rc == 0) {
        const ash_tree_entry *source = ash__acl_source(&chain, chain.count - 1);
        const uint8_t *data;
        uint32_t len;
        if (source != NULL && ash__entry_field(source, "acl", &it)) {
            bson_iter_document(&it, &len, &data);
            bson_init_static(&view, data, len);
            bson_copy_to(&view, acl);
        } else {
            bson_init(acl);
        }
        if (source != NULL && from != NULL)
            *from = ash__strdup(source->path);
    }
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_allows(ash_tree *tree, const char *path, const ash_principal *who, unsigned rights,
                    const ash_op *op, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_op asked = own;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    asked.principal = who;
    if ((rights & ~(unsigned)(ASH_TREE_READ | ASH_TREE_WRITE | ASH_TREE_ENTER)) != 0)
        return ash__fail(err, ASH_EINVAL, "there is no such right");
    int rc = walk(tree, path, &own, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, rights, &asked, err);
    ash__chain_release(&chain);
    return rc;
}
