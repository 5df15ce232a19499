/* SPDX-License-Identifier: Apache-2.0 */
/* Access lists, with v7files' inheritance: a document that has any list counts alone, a right that
 * it does not name belongs to nobody, and without a list the folder's above counts, up to the root.
 * Whoever reads or writes also needs `open` on the folder; where its list does not speak of it,
 * reading it is enough.  Where no list is at all, everybody may do everything: what a store without
 * users would let the owner of the process do anyway. */
#include "tree/acl.h"

#include "base/mem.h"
#include "tree/change.h"

#include <string.h>

static bool is_list(const ash_tree_entry *e, bson_iter_t *acl)
{
    return ash__entry_field(e, "acl", acl) && BSON_ITER_HOLDS_DOCUMENT(acl);
}

const ash_tree_entry *ash__acl_source(const ash_tree_chain *chain, size_t at)
{
    bson_iter_t it;
    for (size_t i = at + 1; i-- > 0;)
        if (is_list(chain->items[i], &it))
            return chain->items[i];
    return NULL;
}

static bool has_role(const ash_principal *who, const char *role)
{
    bson_iter_t it, child;
    if (who->roles == NULL || !bson_iter_init(&it, who->roles))
        return false;
    while (bson_iter_next(&it)) {
        if (BSON_ITER_HOLDS_UTF8(&it) && strcmp(bson_iter_utf8(&it, NULL), role) == 0)
            return true;
        if (BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &child) &&
            bson_iter_find(&child, "role") && BSON_ITER_HOLDS_UTF8(&child) &&
            strcmp(bson_iter_utf8(&child, NULL), role) == 0)
            return true;
    }
    return false;
}

/* "user:NAME" is a user of admin, "user:NAME@DATABASE" one of another; anything else is a role. */
static bool is_meant(const ash_principal *who, const char *text)
{
    if (strncmp(text, "user:", 5) != 0)
        return has_role(who, text);
    if (who->user == NULL)
        return false;
    const char *name = text + 5, *db = who->db != NULL ? who->db : "admin";
    size_t len = strlen(who->user);
    if (strncmp(name, who->user, len) != 0)
        return false;
    return name[len] == '\0' ? strcmp(db, "admin") == 0
                             : name[len] == '@' && strcmp(name + len + 1, db) == 0;
}

/* Does the list name the right at all, and the principal or one of its roles under it? */
static bool is_granted(const ash_tree_entry *source, const char *right, const ash_principal *who,
                       bool *named)
{
    bson_iter_t acl, list, item;
    *named = false;
    if (!is_list(source, &acl) || !bson_iter_recurse(&acl, &list) ||
        !bson_iter_find(&list, right) || !BSON_ITER_HOLDS_ARRAY(&list))
        return false;
    *named = true;
    if (!bson_iter_recurse(&list, &item))
        return false;
    while (bson_iter_next(&item))
        if (BSON_ITER_HOLDS_UTF8(&item) && is_meant(who, bson_iter_utf8(&item, NULL)))
            return true;
    return false;
}

static int refuse(const ash_tree_chain *chain, size_t at, const ash_tree_entry *source,
                  const char *right, ash_error *err)
{
    size_t by = 0;
    while (by < at && chain->items[by] != source)
        by++;
    char *path = ash__chain_path(chain, at), *list = ash__chain_path(chain, by);
    int rc = ash__fail(err, ASH_EACCES, "%s is not allowed to %s %s: by the list of %s",
                       "this user", strcmp(right, "open") == 0 ? "enter" : right, path, list);
    ash__free(list);
    ash__free(path);
    return rc;
}

/* Each folder above has to be open, the root first. */
static int require_open(const ash_tree_chain *chain, size_t count, const ash_principal *who,
                        ash_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const ash_tree_entry *source = ash__acl_source(chain, i);
        bool named = false;
        if (source == NULL || is_granted(source, "open", who, &named))
            continue;
        if (!named && is_granted(source, "read", who, &named))
            continue;
        return refuse(chain, i, source, "open", err);
    }
    return 0;
}

int ash__tree_require(const ash_tree_chain *chain, unsigned rights, const ash_op *op,
                      ash_error *err)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{ASH_TREE_READ, "read"}, {ASH_TREE_WRITE, "write"}};
    ash_op own = ash__op_of(op);
    size_t last = chain->count - 1;
    if (own.principal == NULL)
        return 0;
    bool enter = (rights & ASH_TREE_ENTER) != 0;
    int rc = require_open(chain, enter ? last + 1 : last, own.principal, err);
    const ash_tree_entry *source = ash__acl_source(chain, last);
    for (size_t i = 0; rc == 0 && source != NULL && i < ASH_ARRAY_LEN(names); i++) {
        bool named = false;
        if ((rights & names[i].bit) != 0 &&
            !is_granted(source, names[i].name, own.principal, &named))
            rc = refuse(chain, last, source, names[i].name, err);
    }
    return rc;
}

int ash__acl_guard(ash_tree *tree, const ash_tree_entry *e, const ash_op *op, ash_tree_entry **out,
                   ash_error *err)
{
    *out = NULL;
    int rc = e->parent.value_type == BSON_TYPE_EOD ? 0 /* a root is looked up as it is now */
                                                   : ash__tree_newest(tree, &e->id, op, out, err);
    if (rc != 0)
        return rc;
    if (*out == NULL) {
        *out = ash_tree_entry_copy(e);
        return 0;
    }
    ash__free((*out)->path);
    (*out)->path = e->path != NULL ? ash__strdup(e->path) : NULL;
    return 0;
}

int ash__tree_require_at(ash_tree *tree, const ash_tree_chain *chain, int64_t at_ms,
                         unsigned rights, const ash_op *op, ash_error *err)
{
    ash_tree_chain guards = ASH_TREE_CHAIN_INIT;
    ash_op own = ash__op_of(op);
    int rc = 0;
    if (at_ms == 0 || own.principal == NULL)
        return ash__tree_require(chain, rights, op, err);
    for (size_t i = 0; rc == 0 && i < chain->count; i++) {
        ash_tree_entry *guard = NULL;
        rc = ash__acl_guard(tree, chain->items[i], &own, &guard, err);
        if (rc == 0)
            ash__chain_add(&guards, guard);
    }
    if (rc == 0)
        rc = ash__tree_require(&guards, rights, &own, err);
    ash__chain_release(&guards);
    return rc;
}

int ash__tree_require_care(ash_tree *tree, const ash_op *op, ash_error *err)
{
    const ash_tree_path root = {0};
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    if (op->principal == NULL)
        return 0;
    int rc = ash__tree_walk_all(tree, &root, 0, op, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_READ | ASH_TREE_WRITE | ASH_TREE_ENTER, op, err);
    ash__chain_release(&chain);
    return rc;
}
