/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with more in it than one commit takes.
 *
 * A listing of all below gives each folder before what lies in it; a folder is done with when the
 * first entry comes that lies elsewhere, and goes then.  So at each moment what is there lies in
 * folders that are there, and whoever is killed between two commits leaves a folder with less in it.
 * The listing is of a moment, and only says what to look at: each commit looks again. */
#include "tree/history.h"
#include "tree/places.h"
#include "tree/remove.h"

#include "base/mem.h"
#include "bson/compare.h"
#include "bucket/bucket.h"
#include "tree/acl.h"

#include <stdlib.h>

enum { BATCH = ASH_TREE_BATCH };

typedef struct emptying {
    ash_tree *tree;
    ash_tree_removal *removal;
    const ash_tree_change_options *opts;
    ash_op op;
    bool only_rights;       /* nothing goes yet */
    ash_tree_chain open;    /* down to the folder that the listing is in */
    size_t outside;         /* of them, down to the one that is emptied, itself included */
    ash_tree_entries batch; /* to go with the next commit */
} emptying;

/* ---- a commit ---- */

typedef struct candidate {
    ash_tree_entry *entry;
    bool goes;
} candidate;

typedef struct candidates {
    candidate *items; /* in the order of their ids */
    size_t count;
} candidates;

static int compare_ids(const void *a, const void *b)
{
    const bson_value_t *x = &((const candidate *)a)->entry->id;
    const bson_value_t *y = &((const candidate *)b)->entry->id;
    if (x->value_type == BSON_TYPE_OID && y->value_type == BSON_TYPE_OID)
        return bson_oid_compare(&x->value.v_oid, &y->value.v_oid);
    bson_t left = BSON_INITIALIZER, right = BSON_INITIALIZER;
    bson_append_value(&left, "", 0, x);
    bson_append_value(&right, "", 0, y);
    int order = ash__doc_compare(ash__doc_from_bson(&left), ash__doc_from_bson(&right), NULL);
    bson_destroy(&left);
    bson_destroy(&right);
    return order;
}

/* By its id; NULL: it is not among them. */
static candidate *find_candidate(const candidates *all, const bson_value_t *id)
{
    ash_tree_entry wanted = {.id = *id};
    const candidate key = {.entry = &wanted};
    return all->count > 0 ? bsearch(&key, all->items, all->count, sizeof *all->items, compare_ids)
                          : NULL;
}

static void append_nth(bson_t *array, size_t i, const bson_value_t *id)
{
    char buf[12];
    const char *key;
    size_t len = bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
    bson_append_value(array, key, (int)len, id);
}

/* As they are now; what went meanwhile is not among them. */
static int read_again(ash_tree_commit *c, const ash_tree_entries *batch, ash_tree_entries *out,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(&c->op);
    ash__filter_entries(&filter, "_id", batch->items, batch->count);
    int rc = ash__tree_find_all(c->tree->current, &filter, &o, out, err);
    bson_destroy(&filter);
    return rc;
}

/* The chain to the entry's folder, which is the one before's as a rule. */
static int require_write(ash_tree_commit *c, const ash_tree_entry *e, ash_tree_chain *chain,
                         ash_error *err)
{
    bool reached;
    int rc = 0;
    if (c->op.principal == NULL)
        return 0;
    if (chain->count == 0 || !ash__same_id(&ash__chain_last(chain)->id, &e->parent)) {
        ash__chain_release(chain);
        rc = ash__tree_climb(c->tree, e, &c->op, chain, &reached, err);
    }
    if (rc == 0) {
        ash__chain_add(chain, ash_tree_entry_copy(e));
        if (chain->count > 1)
            ash__entry_set_path(ash__chain_last(chain), chain->items[chain->count - 2]->path);
        rc = ash__tree_require(chain, ASH_TREE_WRITE, &c->op, err);
        ash_tree_entry_free(ash__chain_take(chain));
    }
    return rc;
}

/* What was moved elsewhere meanwhile stays. */
static int choose(ash_tree_commit *c, const ash_tree_removal *r, candidates *all, ash_error *err)
{
    ash_tree_places *places = ash__places_new(c->tree, &r->top->id, &c->op);
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        const ash_tree_place *place = NULL;
        ash_tree_entry *e = all->items[i].entry;
        rc = ash__places_find(places, e, &place, err);
        all->items[i].goes = rc == 0 && place != NULL && place->reached && place->below;
        if (all->items[i].goes)
            rc = require_write(c, e, &chain, err);
        if (rc == 0 && all->items[i].goes)
            ash__place_set_path(place, e);
    }
    ash__chain_release(&chain);
    ash__places_free(places);
    return rc;
}

/* What lies in those of them that are folders. */
static int find_inside(ash_tree_commit *c, const candidates *all, ash_tree_entries *out,
                       ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, in, ids;
    bson_t *only = BCON_NEW("parent", BCON_INT32(1));
    ash_find_options o = ash__tree_find_options(&c->op);
    size_t n = 0;
    o.projection = only;
    o.limit = 2 * BATCH;
    bson_append_document_begin(&filter, "parent", 6, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].goes && all->items[i].entry->is_folder)
            append_nth(&ids, n++, &all->items[i].entry->id);
    bson_append_array_end(&in, &ids);
    bson_append_document_end(&filter, &in);
    int rc = n > 0 ? ash__tree_find_all(c->tree->current, &filter, &o, out, err) : 0;
    bson_destroy(only);
    bson_destroy(&filter);
    return rc;
}

/* A folder stays for what stays in it, and so does the one that it lies in. */
static int leave_filled(ash_tree_commit *c, candidates *all, ash_error *err)
{
    ash_tree_entries inside = ASH_TREE_ENTRIES_INIT;
    int rc = find_inside(c, all, &inside, err);
    for (size_t i = 0; inside.count == 2 * BATCH && i < all->count; i++) /* and maybe more */
        all->items[i].goes = all->items[i].goes && !all->items[i].entry->is_folder;
    for (bool again = true; rc == 0 && again;) {
        again = false;
        for (size_t i = 0; i < inside.count; i++) {
            const candidate *child = find_candidate(all, &inside.items[i]->id);
            candidate *folder = find_candidate(all, &inside.items[i]->parent);
            if (folder != NULL && folder->goes && (child == NULL || !child->goes)) {
                folder->goes = false;
                again = true;
            }
        }
    }
    ash__entries_release(&inside);
    return rc;
}

static int remove_chosen(ash_tree_commit *c, const candidates *all, ash_error *err)
{
    ash_tree_entry **list = ash__alloc_array(all->count, sizeof(ash_tree_entry *));
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        ash_tree_entry *e = all->items[i].entry;
        if (!all->items[i].goes)
            continue;
        list[n++] = e;
        if (e->is_folder)
            rc = ash__commit_claim(c, &e->id, err);
    }
    if (rc == 0)
        rc = ash__commit_remove(c, list, n, err);
    ash__free(list);
    return rc;
}

static int remove_batch(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const emptying *m = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entries found = ASH_TREE_ENTRIES_INIT;
    candidates all = {.items = ash__alloc_array(m->batch.count, sizeof *all.items)};
    int rc = ash__removal_top(c, m->removal, &chain, err);
    c->gone_with = rc == 0 ? &m->removal->top->id : NULL;
    if (rc == 0) /* one of them may be moving elsewhere, by a folder above it */
        rc = ash__commit_claim_shape(c, err);
    if (rc == 0)
        rc = read_again(c, &m->batch, &found, err);
    for (size_t i = 0; rc == 0 && i < found.count; i++)
        all.items[all.count++].entry = found.items[i];
    if (all.count > 1)
        qsort(all.items, all.count, sizeof *all.items, compare_ids);
    if (rc == 0)
        rc = choose(c, m->removal, &all, err);
    if (rc == 0)
        rc = leave_filled(c, &all, err);
    if (rc == 0 && all.count > 0)
        rc = remove_chosen(c, &all, err);
    ash__free(all.items);
    ash__entries_release(&found);
    ash__chain_release(&chain);
    return rc;
}

/* ---- going through the folder ---- */

static int commit_batch(emptying *m, ash_error *err)
{
    int rc =
        m->batch.count > 0 ? ash__tree_change(m->tree, m->opts, &m->op, remove_batch, m, err) : 0;
    ash__entries_release(&m->batch);
    return rc;
}

/* Takes the entry over. */
static int let_go(emptying *m, ash_tree_entry *e, ash_error *err)
{
    if (m->only_rights) {
        ash_tree_entry_free(e);
        return 0;
    }
    ash__entries_add(&m->batch, e);
    /* Each folder that one of them lies in is a find. */
    size_t most = m->tree->finds_max != 0 ? m->tree->finds_max : BATCH;
    return m->batch.count >= most ? commit_batch(m, err) : 0;
}

static int leave_folders(emptying *m, const bson_value_t *until, ash_error *err)
{
    int rc = 0;
    while (rc == 0 && m->open.count > m->outside &&
           (until == NULL || !ash__same_id(&ash__chain_last(&m->open)->id, until)))
        rc = let_go(m, ash__chain_take(&m->open), err);
    return rc;
}

static int visit(emptying *m, const ash_tree_entry *e, ash_error *err)
{
    int rc = leave_folders(m, &e->parent, err);
    if (rc != 0)
        return rc;
    ash_tree_entry *copy = ash_tree_entry_copy(e);
    ash__free(copy->path); /* those of a long chain come to too much */
    copy->path = NULL;
    ash__chain_add(&m->open, copy);
    if (m->only_rights)
        rc = ash__tree_require(&m->open, ASH_TREE_WRITE, &m->op, err);
    return rc != 0 || e->is_folder ? rc : let_go(m, ash__chain_take(&m->open), err);
}

static int go_through(emptying *m, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_op everybody = m->op; /* what he may not see may not stay behind unnoticed */
    everybody.principal = NULL;
    o.recursive = true;
    int rc = ash__tree_walk_all(m->tree, m->removal->path, 0, &m->op, &m->open, err);
    m->outside = m->open.count;
    if (rc == 0)
        rc = ash_tree_list(m->tree, ash__chain_last(&m->open)->path, &o, &everybody, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        rc = visit(m, e, err);
    if (rc == 0)
        rc = leave_folders(m, NULL, err);
    if (rc == 0)
        rc = commit_batch(m, err);
    ash_tree_listing_free(l);
    ash__chain_release(&m->open);
    return rc;
}

int ash__removal_empty(ash_tree *tree, ash_tree_removal *r, const ash_tree_change_options *opts,
                       const ash_op *op, ash_error *err)
{
    emptying m = {.tree = tree, .removal = r, .opts = opts, .op = ash__op_of(op)};
    int rc = 0;
    if (m.op.principal != NULL) { /* all of them first, as in one commit */
        m.only_rights = true;
        rc = go_through(&m, err);
        m.only_rights = false;
    }
    /* The last commit waits for the disk, and for all before it. */
    m.op.durability = ASH_DURABILITY_INTERVAL;
    if (rc == 0)
        rc = go_through(&m, err);
    ash__entries_release(&m.batch);
    return rc;
}
