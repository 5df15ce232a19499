/* SPDX-License-Identifier: Apache-2.0 */
/* How much lies below a path, now and in the history, and what the contents of the whole collection
 * come to. */
#include "tree/history.h"
#include "tree/places.h"

#include "base/options.h"
#include "base/mem.h"
#include "tree/acl.h"

#include <inttypes.h>

/* What was counted, and what could not be read. */
typedef struct counting {
    ash_tree_usage u;
    int64_t damaged;
    ash_error first; /* of these */
} counting;

/* A document that cannot be read costs itself: 0 for it. */
static int pass_over(counting *k, int rc, const ash_error *what, ash_error *err)
{
    if (rc != ASH_ECORRUPT)
        return ash__unless(0, rc, what, err);
    if (k->damaged++ == 0)
        k->first = *what;
    return 0;
}

static void count_entry(counting *k, const ash_tree_entry *e)
{
    if (e->is_folder)
        k->u.folders++;
    else
        k->u.files++;
    ash__add_length(&k->u.bytes, e->content.length);
}

static int count_current(ash_tree *tree, const ash_tree_entry *top, const char *path,
                         const ash_op *op, counting *k, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = top;
    o.recursive = true;
    if (top->is_deleted)
        return 0;
    count_entry(k, top);
    int rc = top->is_folder ? ash_tree_list(tree, path, &o, op, &l, err) : 0;
    while (rc == 0 && l != NULL && e != NULL) {
        ash_error own = ASH_ERROR_INIT;
        int next = ash_tree_listing_next(l, &e, &own);
        if (next == 0 && e != NULL)
            count_entry(k, e);
        rc = pass_over(k, next, &own, err);
        if (next != 0)
            e = top;
    }
    ash_tree_listing_free(l);
    return rc;
}

static int count_version(counting *k, ash_tree_places *places, const ash_tree_entry *top,
                         ash_doc doc, ash_error *err)
{
    bson_t view;
    ash_tree_entry *e = NULL;
    const ash_tree_place *place = NULL;
    ash__doc_to_bson(doc, &view);
    int rc = ash__entry_new(bson_copy(&view), &e, err);
    if (rc == 0)
        rc = ash__places_find(places, e, &place, err);
    if (rc == 0 && ((place != NULL && place->reached && place->below) ||
                    (e->parent.value_type != BSON_TYPE_EOD && ash__same_id(&e->id, &top->id)))) {
        k->u.versions++;
        ash__add_length(&k->u.version_bytes, e->content.length);
    }
    ash_tree_entry_free(e);
    return rc;
}

static int count_past(ash_tree *tree, const ash_tree_entry *top, const ash_op *op, counting *k,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(op);
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_tree_places *places = ash__places_new(tree, &top->id, op);
    ash_cursor *cursor = NULL;
    bool ends = false;
    o.past_damage = true;
    int rc = ash_store_capabilities(tree->store, &can, err);
    if (rc == 0)
        rc = ash_collection_find(tree->past, &filter, &o, &cursor, err);
    while (rc == 0 && !ends) {
        ash_error own = ASH_ERROR_INIT;
        ash_doc doc;
        int next = ash_cursor_next(cursor, &doc, &own);
        ends = next == 0 ? doc.data == NULL : !can.past_damage;
        if (next == 0 && !ends)
            next = count_version(k, places, top, doc, &own);
        rc = pass_over(k, next, &own, err);
    }
    ash_cursor_free(cursor);
    ash__places_free(places);
    return rc;
}

static int say_damaged(const counting *k, ash_error *err)
{
    return ash__fail(err, ASH_EPARTIAL, "left out %" PRId64 " damaged document%s, first: %s",
                     k->damaged, k->damaged == 1 ? "" : "s", k->first.text);
}

int ash_tree_measure(ash_tree *tree, const char *path, const ash_op *op, ash_tree_usage *out,
                     ash_error *err)
{
    ash_op own = ash__op_of(op);
    counting k = {.u = ASH_TREE_USAGE_INIT, .first = ASH_ERROR_INIT};
    ash_tree_entry *top = NULL;
    ash_contents_sum sum = {0};
    int rc = ash__tree_find_ever(tree, path, ASH_TREE_READ, &own, &top, err);
    if (rc == 0)
        rc = count_current(tree, top, path, &own, &k, err);
    if (rc == 0)
        rc = count_past(tree, top, &own, &k, err);
    if (rc == 0)
        rc = ash__contents_measure(tree->contents, &own, &sum, err);
    k.u.contents = sum.contents;
    k.u.stored_bytes = sum.stored_bytes;
    ash_tree_entry_free(top);
    if (rc == 0)
        rc = ash__out_copy(out, &k.u, sizeof k.u, err);
    return rc == 0 && k.damaged > 0 ? say_damaged(&k, err) : rc;
}
