/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/subtree.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/history.h"

enum { BATCH = 500 }; /* folders in one find */

void ash__subtree_release(ash_tree_subtree *s)
{
    for (size_t i = 0; i < s->count; i++)
        ash_tree_entry_free(s->items[i]);
    ash__free(s->items);
    ash__free(s->parents);
    *s = (ash_tree_subtree)ASH_TREE_SUBTREE_INIT;
}

static void add(ash_tree_subtree *s, ash_tree_entry *e, size_t parent)
{
    s->items = ash__grow_array(s->items, s->count, &s->capacity, sizeof *s->items);
    s->parents = ash__grow_array(s->parents, s->count, &s->parents_capacity, sizeof *s->parents);
    s->items[s->count] = e;
    s->parents[s->count++] = parent;
}

/* Among the folders of the batch, by its id. */
static size_t find_parent(const ash_tree_subtree *s, size_t first, size_t end,
                          const bson_value_t *id)
{
    for (size_t i = first; i < end; i++)
        if (s->items[i]->is_folder && ash__same_id(&s->items[i]->id, id))
            return i;
    return SIZE_MAX;
}

/* {parent: {$in: the batch's folders}}; false: there is none among them. */
static bool filter_children(const ash_tree_subtree *s, size_t first, size_t end, bson_t *filter)
{
    bson_t in, ids;
    uint32_t n = 0;
    bson_append_document_begin(filter, "parent", 6, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = first; i < end; i++) {
        char buf[12];
        const char *key;
        size_t len = bson_uint32_to_string(n, &key, buf, sizeof buf);
        if (s->items[i]->is_folder)
            bson_append_value(&ids, key, (int)len, &s->items[i]->id), n++;
    }
    bson_append_array_end(&in, &ids);
    bson_append_document_end(filter, &in);
    return n > 0;
}

/* Folders of the subtree, by their places in it: from first to before end. */
typedef struct batch {
    size_t first, end;
} batch;

static int was_there(ash_tree *tree, ash_tree_entry *e, int64_t at_ms, const ash_op *op,
                     bool *there, ash_error *err)
{
    int rc = 0;
    *there = at_ms == 0 || e->changed_ms <= at_ms;
    if (at_ms != 0 && *there) {
        rc = ash__tree_find_end(tree, e, op, err);
        *there = e->ended_ms == 0 || at_ms < e->ended_ms;
    }
    return rc;
}

static int add_children(ash_tree *tree, ash_tree_subtree *s, const batch *b,
                        ash_tree_entries *found, const ash_op *op, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < found->count; i++) {
        ash_tree_entry *e = found->items[i];
        size_t parent = find_parent(s, b->first, b->end, &e->parent);
        bool there = false;
        rc = was_there(tree, e, s->at_ms, op, &there, err);
        if (rc != 0 || !there || parent == SIZE_MAX)
            continue;
        add(s, e, parent);
        found->items[i] = NULL;
    }
    return rc;
}

static int read_batch(ash_tree *tree, ash_tree_subtree *s, const batch *b, const ash_op *op,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(op);
    ash_tree_entries found = ASH_TREE_ENTRIES_INIT;
    int rc = 0;
    if (filter_children(s, b->first, b->end, &filter)) {
        if (s->max > 0)
            o.limit = (int64_t)(s->max - s->count) + 1;
        rc = ash__tree_find_all(tree->current, &filter, &o, &found, err);
        if (rc == 0 && s->at_ms != 0) {
            /* Of v7files' own versions nobody knows yet when they ended. */
            BCON_APPEND(&filter, "$or", "[", "{", "until", "{", "$gt", BCON_DATE_TIME(s->at_ms),
                        "}", "}", "{", "until", BCON_NULL, "}", "]");
            rc = ash__tree_find_all(tree->past, &filter, &o, &found, err);
        }
        if (rc == 0)
            rc = add_children(tree, s, b, &found, op, err);
    }
    ash__entries_release(&found);
    bson_destroy(&filter);
    return rc;
}

int ash__subtree_read(ash_tree *tree, ash_tree_entry *top, int64_t at_ms, const ash_op *op,
                      ash_tree_subtree *out, ash_error *err)
{
    size_t finds = 0;
    int rc = 0;
    out->at_ms = at_ms;
    add(out, top, SIZE_MAX);
    for (size_t first = 0; rc == 0 && first < out->count;) {
        out->more = (out->max > 0 && out->count > out->max) ||
                    (out->finds_max > 0 && finds++ == out->finds_max);
        if (out->more)
            break;
        const batch b = {first, out->count - first > BATCH ? first + BATCH : out->count};
        rc = read_batch(tree, out, &b, op, err);
        first = b.end;
    }
    return rc;
}

/* Borrowed entries from the root to the item, the top as `above` has it. */
static void chain_to(const ash_tree_subtree *s, ash_tree_entry *const *guards, size_t item,
                     const ash_tree_chain *above, ash_tree_chain *out)
{
    size_t below = 0;
    for (size_t i = 0; i < above->count; i++)
        ash__chain_add(out, above->items[i]);
    for (size_t i = item; s->parents[i] != SIZE_MAX; i = s->parents[i], below++)
        ash__chain_add(out, guards[i]);
    for (size_t i = 0; i < below / 2; i++) { /* they came upwards */
        ash_tree_entry **first = &out->items[above->count + i];
        ash_tree_entry **last = &out->items[out->count - 1 - i], *e = *first;
        *first = *last;
        *last = e;
    }
}

static int require_all(const ash_tree_subtree *s, ash_tree_entry *const *guards,
                       const ash_tree_chain *above, unsigned rights, const ash_op *op,
                       ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
        chain_to(s, guards, i, above, &chain);
        rc = ash__tree_require(&chain, rights, op, err);
        ash__free(chain.items);
    }
    return rc;
}

int ash__subtree_require(ash_tree *tree, const ash_tree_subtree *s, const ash_tree_chain *above,
                         unsigned rights, const ash_op *op, ash_error *err)
{
    ash_tree_chain guards = ASH_TREE_CHAIN_INIT;
    int rc = 0;
    if (op->principal == NULL)
        return 0;
    if (s->at_ms == 0)
        return require_all(s, s->items, above, rights, op, err);
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        ash_tree_entry *guard = NULL;
        rc = ash__acl_guard(tree, s->items[i], op, &guard, err);
        if (rc == 0)
            ash__chain_add(&guards, guard);
    }
    if (rc == 0)
        rc = require_all(s, guards.items, above, rights, op, err);
    ash__chain_release(&guards);
    return rc;
}

ash_content_use *ash__content_uses(ash_tree_entry *const *entries, size_t count, size_t *uses)
{
    ash_content_use *list = ash__alloc_array(count > 0 ? count : 1, sizeof *list);
    *uses = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i]->content.id.len != 0)
            list[(*uses)++] = (ash_content_use){entries[i]->content.id, &entries[i]->id};
    return list;
}
