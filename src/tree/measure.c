/* SPDX-License-Identifier: Apache-2.0 */
/* How much lies below a path, now and in the history, and what the contents of the whole collection
 * come to. */
#include "tree/history.h"
#include "tree/places.h"

#include "base/options.h"
#include "base/mem.h"
#include "tree/acl.h"

static int count_current(ash_tree *tree, const ash_tree_entry *top, const char *path,
                         const ash_op *op, ash_tree_usage *u, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = top;
    int rc = 0;
    o.recursive = true;
    if (!top->is_deleted && top->is_folder)
        rc = ash_tree_list(tree, path, &o, op, &l, err);
    if (top->is_deleted)
        return rc;
    while (rc == 0 && e != NULL) {
        if (e->is_folder)
            u->folders++;
        else
            u->files++;
        ash__add_length(&u->bytes, e->content.length);
        e = NULL;
        if (l != NULL)
            rc = ash_tree_listing_next(l, &e, err);
    }
    ash_tree_listing_free(l);
    return rc;
}

static int count_past(ash_tree *tree, const ash_tree_entry *top, const ash_op *op,
                      ash_tree_usage *u, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(op);
    ash_tree_places *places = ash__places_new(tree, &top->id, op);
    ash_cursor *cursor = NULL;
    int rc = ash_collection_find(tree->past, &filter, &o, &cursor, err);
    while (rc == 0) {
        ash_doc doc;
        bson_t view;
        ash_tree_entry *e = NULL;
        const ash_tree_place *place = NULL;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        ash__doc_to_bson(doc, &view);
        rc = ash__entry_new(bson_copy(&view), &e, err);
        if (rc == 0)
            rc = ash__places_find(places, e, &place, err);
        if (rc == 0 &&
            ((place != NULL && place->reached && place->below) ||
             (e->parent.value_type != BSON_TYPE_EOD && ash__same_id(&e->id, &top->id)))) {
            u->versions++;
            ash__add_length(&u->version_bytes, e->content.length);
        }
        ash_tree_entry_free(e);
    }
    ash_cursor_free(cursor);
    ash__places_free(places);
    return rc;
}

int ash_tree_measure(ash_tree *tree, const char *path, const ash_op *op, ash_tree_usage *out,
                     ash_error *err)
{
    ash_op own = ash__tree_op(op);
    ash_tree_usage u = ASH_TREE_USAGE_INIT;
    ash_tree_entry *top = NULL;
    ash_contents_sum sum = {0};
    int rc = ash__tree_find_ever(tree, path, ASH_TREE_READ, &own, &top, err);
    if (rc == 0)
        rc = count_current(tree, top, path, &own, &u, err);
    if (rc == 0)
        rc = count_past(tree, top, &own, &u, err);
    if (rc == 0)
        rc = ash__contents_measure(tree->contents, &own, &sum, err);
    u.contents = sum.contents;
    u.stored_bytes = sum.stored_bytes;
    ash_tree_entry_free(top);
    return rc == 0 ? ash__out_copy(out, &u, sizeof u, err) : rc;
}
