/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that nobody will finish. */
#include "tree/copy.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/history.h"
#include "tree/subtree.h"

enum { BATCH = ASH_TREE_BATCH };
static const int64_t HOUR_S = 3600;

/* ---- giving up ---- */

typedef struct giving_up {
    const bson_oid_t *id; /* NULL: all that nobody has worked on … */
    int64_t min_age_s;    /* … for so long; < 0: any */
} giving_up;

static int give_up(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const giving_up *g = ctx;
    bson_t *filter = BCON_NEW("parent", BCON_UTF8(ASH_TREE_COPIES));
    bson_t *set = BCON_NEW("$set", "{", "parent", BCON_UTF8(ASH_TREE_LEFT), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    if (g->id != NULL)
        BSON_APPEND_OID(filter, "_id", g->id);
    else if (g->min_age_s >= 0)
        BCON_APPEND(filter, "copying_at", "{", "$lt",
                    BCON_DATE_TIME(c->now_ms - g->min_age_s * 1000), "}");
    o.op = c->op;
    o.multi = true;
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    value.value.v_doc.data_len = set->len;
    int rc = ash_collection_update(c->tree->current, filter, &value, &o, NULL, err);
    bson_destroy(set);
    bson_destroy(filter);
    return rc;
}

/* ---- deleting ---- */

typedef struct emptying {
    ash_tree left; /* this tree, with LEFT as its root */
    ash_op op;
    ash_tree_chain open; /* down to the folder that the listing is in */
    ash_tree_entries batch;
} emptying;

/* Those whose files they are had them.  Somebody else may have deleted some meanwhile, and they were told
 * of those. */
static int account(ash_tree_commit *c, const bson_t *filter, ash_error *err)
{
    ash_find_options o = ash__tree_find_options(&c->op);
    ash_tree_entries there = ASH_TREE_ENTRIES_INIT;
    ash_tree_entry *e = NULL;
    ash_cursor *cursor = NULL;
    bool any = false;
    int rc = ash_tree_has_quotas(c->tree, &c->op, &any, err);
    if (rc == 0 && any)
        rc = ash_collection_find(c->tree->current, filter, &o, &cursor, err);
    while (rc == 0 && any && (rc = ash__entry_next(cursor, &e, err)) == 0 && e != NULL)
        ash__entries_add(&there, e);
    if (rc == 0)
        rc = ash__account_users(c, there.items, there.count, -1, err);
    ash_cursor_free(cursor);
    ash__entries_release(&there);
    return rc;
}

static int delete_batch(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const emptying *m = ctx;
    bson_t filter = BSON_INITIALIZER;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    size_t used;
    ash_content_use *uses = ash__content_uses(m->batch.items, m->batch.count, &used);
    o.op = c->op;
    ash__filter_entries(&filter, "_id", m->batch.items, m->batch.count);
    int rc = account(c, &filter, err);
    if (rc == 0)
        rc = ash_collection_remove(c->tree->current, &filter, &o, NULL, err);
    if (rc == 0 && used > 0)
        rc = ash__contents_let_go(c->tree->contents, uses, used, &c->op, err);
    ash__free(uses);
    bson_destroy(&filter);
    return rc;
}

static int commit_batch(emptying *m, ash_error *err)
{
    const ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    int rc = m->batch.count > 0 ? ash__tree_change(&m->left, &o, &m->op, delete_batch, m, err) : 0;
    ash__entries_release(&m->batch);
    return rc;
}

/* Takes the entry over. */
static int let_go(emptying *m, ash_tree_entry *e, ash_error *err)
{
    ash__entries_add(&m->batch, e);
    return m->batch.count == BATCH ? commit_batch(m, err) : 0;
}

/* A folder goes after what lies in it: until then that is found by it. */
static int leave_folders(emptying *m, const bson_value_t *until, ash_error *err)
{
    int rc = 0;
    while (rc == 0 && m->open.count > 0 &&
           (until == NULL || !ash__same_id(&ash__chain_last(&m->open)->id, until)))
        rc = let_go(m, ash__chain_take(&m->open), err);
    return rc;
}

static int visit(emptying *m, const ash_tree_entry *e, ash_error *err)
{
    int rc = leave_folders(m, &e->parent, err);
    if (rc != 0)
        return rc;
    ash_tree_entry *own = ash_tree_entry_copy(e);
    ash__free(own->path);
    own->path = NULL;
    if (!own->is_folder)
        return let_go(m, own, err);
    ash__chain_add(&m->open, own);
    return 0;
}

static int delete_left(ash_tree *tree, const ash_op *op, ash_error *err)
{
    emptying m = {.op = ash__op_of(op)};
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    m.left = (ash_tree){.store = tree->store,
                        .root = (char *)(uintptr_t)ASH_TREE_LEFT,
                        .db = tree->db,
                        .current = tree->current,
                        .past = tree->past,
                        .quotas = tree->quotas,
                        .contents = tree->contents,
                        .serial = tree->serial};
    m.op.durability = ASH_DURABILITY_INTERVAL;
    o.recursive = true;
    int rc = ash_tree_list(&m.left, "/", &o, &m.op, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        rc = visit(&m, e, err);
    if (rc == 0)
        rc = leave_folders(&m, NULL, err);
    if (rc == 0)
        rc = commit_batch(&m, err);
    ash_tree_listing_free(l);
    ash__entries_release(&m.batch);
    ash__chain_release(&m.open);
    return rc;
}

static int give_up_and_delete(ash_tree *tree, giving_up *g, const ash_op *op, ash_error *err)
{
    const ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_op own = ash__op_of(op);
    own.principal = NULL;
    int rc = ash__tree_change(tree, &o, &own, give_up, g, err);
    return rc == 0 ? delete_left(tree, &own, err) : rc;
}

int ash__copy_give_up(ash_tree *tree, const bson_oid_t *id, const ash_op *op, ash_error *err)
{
    return give_up_and_delete(tree, &(giving_up){.id = id}, op, err);
}

int ash__copies_collect(ash_tree *tree, int64_t min_age_s, const ash_op *op, ash_error *err)
{
    giving_up all = {.min_age_s = min_age_s != 0 ? min_age_s : HOUR_S};
    return give_up_and_delete(tree, &all, op, err);
}
