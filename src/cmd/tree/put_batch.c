/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/put_batch.h"

#include "base/error.h"
#include "base/mem.h"

enum { ITEMS_MAX = 32, BYTES_MAX = 4 * 1024 * 1024 };

/* Some of a batch. */
typedef struct part {
    ash_sync *s;
    ash_put_item *items;
    size_t count;
} part;

int ash__put_batch_init(ash_put_batch *b, ash_sync *s, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    int rc = s->r->store != NULL ? ash_store_capabilities(s->r->store, &can, err) : 0;
    *b = (ash_put_batch){.s = s, .most = can.replayed_transactions ? 1 : ITEMS_MAX};
    b->items = ash__alloc_array(ITEMS_MAX, sizeof *b->items);
    return rc;
}

static void free_item(ash_put_item *item)
{
    ash_tree_writer_free(item->writer);
    ash_tree_entry_free(item->entry);
    ash__free(item->name);
    ash__free(item->local);
}

static int commit_item(ash_sync *s, ash_put_item *item, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(s->r);
    ash_tree_entry_free(item->entry);
    item->entry = NULL;
    if (item->writer != NULL)
        return ash_tree_writer_finish(item->writer, op, &item->entry, err);
    char *path = ash__sync_path(s, item->name);
    o.make_folders = true;
    int rc = ash_tree_make_folder(s->r->tree, path, &o, op, NULL, err);
    ash__free(path);
    return rc;
}

static int commit_part(ash_transaction *t, void *ctx, ash_error *err)
{
    part *p = ctx;
    ash_op op = p->s->op;
    int rc = 0;
    op.transaction = t;
    for (size_t i = 0; rc == 0 && i < p->count; i++)
        rc = commit_item(p->s, &p->items[i], &op, err);
    return rc;
}

/* Files of another commit may have made the folder meanwhile. */
static bool is_folder_by_now(ash_sync *s, const ash_put_item *item)
{
    ash_tree_entry *entry = NULL;
    char *path = ash__sync_path(s, item->name);
    bool there = item->writer == NULL && ash__cmd_tree_peek(s->r, path, &entry, NULL) == 0 &&
                 entry != NULL && ash_tree_entry_is_folder(entry);
    ash_tree_entry_free(entry);
    ash__free(path);
    return there;
}

static void commit_alone(ash_sync *s, ash_put_item *item)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = commit_item(s, item, &s->op, &err);
    if (rc == ASH_EEXISTS && is_folder_by_now(s, item))
        rc = 0;
    if (rc != 0) {
        ash__sync_failed(s, item->local, &err);
    } else if (item->writer != NULL) {
        ash__sync_count(s, item->change, 1, item->length);
        ash__sync_did(s, item->change, item->name, item->entry);
    }
}

/* What one of them has against it, as contents that two have in common, is found by halves, and is
 * settled alone. */
static void commit(ash_sync *s, ash_put_item *items, size_t count)
{
    part whole = {s, items, count};
    if (count == 0 || ash__sync_must_stop(s))
        return;
    if (count == 1) {
        commit_alone(s, items);
        return;
    }
    ash_error err = ASH_ERROR_INIT;
    int rc = ash_store_transact(s->r->store, commit_part, &whole, &s->op, &err);
    if (rc != 0 && ash__cmd_tree_is_hopeless(rc)) {
        ash__sync_failed(s, items[0].local, &err);
    } else if (rc != 0) {
        commit(s, items, count / 2);
        commit(s, items + count / 2, count - count / 2);
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (items[i].writer == NULL)
            continue;
        ash__sync_count(s, items[i].change, 1, items[i].length);
        ash__sync_did(s, items[i].change, items[i].name, items[i].entry);
    }
}

static void commit_and_free(ash_sync *s, ash_put_item *items, size_t count)
{
    commit(s, items, count);
    for (size_t i = 0; i < count; i++)
        free_item(&items[i]);
    ash__free(items);
}

void ash__put_batch_add(ash_put_batch *b, const ash_put_item *item)
{
    ash_put_item *full = NULL;
    ash__mutex_lock(&b->s->lock);
    b->items[b->count++] = *item;
    b->bytes += item->length;
    size_t count = b->count;
    if (count == b->most || b->bytes >= BYTES_MAX || item->urgent) {
        full = b->items;
        b->items = ash__alloc_array(ITEMS_MAX, sizeof *b->items);
        b->count = 0;
        b->bytes = 0;
    }
    ash__mutex_unlock(&b->s->lock);
    if (full != NULL)
        commit_and_free(b->s, full, count);
}

void ash__put_batch_end(ash_put_batch *b)
{
    commit_and_free(b->s, b->items, b->count);
    b->items = NULL;
}
