/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/below.h"

/* Without a list of its own it is as the folder that it lies in, which was asked. */
static bool has_list(const ash_tree_entry *e)
{
    ash_doc doc = ash_tree_entry_document(e);
    bson_t view;
    bson_iter_t at;
    return bson_init_static(&view, doc.data, doc.len) && bson_iter_init_find(&at, &view, "acl");
}

int ash__dav_find_closed(ash_dav *dav, const ash_op *op, const char *path, unsigned rights,
                         ash_tree_entry **out, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    o.recursive = true;
    *out = NULL;
    if (op == NULL)
        return 0;
    int rc = ash_tree_list(dav->tree, path, &o, NULL, &l, err);
    while (rc == 0 && *out == NULL) {
        rc = ash_tree_listing_next(l, &e, err);
        if (rc != 0 || e == NULL)
            break;
        if (has_list(e) && !ash__dav_allows(dav, op, ash_tree_entry_path(e), rights))
            *out = ash_tree_entry_copy(e);
    }
    ash_tree_listing_free(l);
    return rc;
}

int ash__dav_has_closed_members(ash_dav *dav, const ash_op *op, const ash_tree_entry *moved,
                                bool *closed, ash_error *err)
{
    ash_tree_entry *first = NULL;
    *closed = false;
    if (moved == NULL || !ash_tree_entry_is_folder(moved))
        return 0;
    int rc = ash__dav_find_closed(dav, op, ash_tree_entry_path(moved),
                                  ASH_TREE_READ | ASH_TREE_WRITE, &first, err);
    *closed = rc == 0 && first != NULL;
    ash_tree_entry_free(first);
    return rc;
}
