/* SPDX-License-Identifier: Apache-2.0 */
/* One index lookup for each name.  A moment in the past is looked up in both collections: what was
 * current then is current still, or ended later. */
#include "tree/lookup.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "bucket/bucket.h"

#include <string.h>

void ash__chain_release(ash_tree_chain *c)
{
    for (size_t i = 0; i < c->count; i++)
        ash_tree_entry_free(c->items[i]);
    ash__free(c->items);
    *c = (ash_tree_chain)ASH_TREE_CHAIN_INIT;
}

ash_tree_entry *ash__chain_take(ash_tree_chain *c)
{
    return c->items[--c->count];
}

void ash__chain_add(ash_tree_chain *c, ash_tree_entry *e)
{
    c->items = ash__grow_array(c->items, c->count, &c->capacity, sizeof *c->items);
    c->items[c->count++] = e;
}

/* Downwards from one that has its path, if there is any. */
static size_t nearest_path(const ash_tree_chain *c, size_t at)
{
    while (at > 0 && c->items[at]->path == NULL)
        at--;
    return at;
}

char *ash__chain_path(const ash_tree_chain *c, size_t at)
{
    size_t from = nearest_path(c, at);
    const char *base = c->items[from]->path != NULL ? c->items[from]->path : ASH_TREE_NOWHERE;
    size_t len = strlen(base);
    ash_buffer text = ASH_BUFFER_INIT;
    for (size_t i = from + 1; i <= at && len <= ASH_TREE_PATH_MAX; i++)
        len += 1 + strlen(c->items[i]->name);
    if (len > ASH_TREE_PATH_MAX)
        return ash__entry_join(ASH_TREE_NOWHERE, c->items[at]->name);
    ash__buffer_append_text(&text, from < at && strcmp(base, "/") == 0 ? "" : base);
    for (size_t i = from + 1; i <= at; i++)
        ash__buffer_printf(&text, "/%s", c->items[i]->name);
    (void)ash__buffer_text(&text);
    return (char *)ash__buffer_detach(&text);
}

/* ---- single documents ---- */

static int find_entry(ash_collection *c, bson_t *filter, const ash_op *op, ash_tree_entry **out,
                      ash_error *err)
{
    bson_t *doc = NULL;
    int rc = ash__tree_find_one(c, filter, NULL, op, &doc, err);
    *out = NULL;
    if (rc == 0 && doc != NULL)
        rc = ash__entry_new(doc, out, err);
    return rc;
}

int ash__tree_current(ash_tree *tree, const bson_value_t *id, const ash_op *op,
                      ash_tree_entry **out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash__filter_id(&filter, "_id", id);
    int rc = find_entry(tree->current, &filter, op, out, err);
    bson_destroy(&filter);
    return rc;
}

void ash__tree_append_version_id(bson_t *doc, const char *name, const bson_value_t *id,
                                 int32_t version)
{
    bson_t child;
    bson_append_document_begin(doc, name, -1, &child);
    bson_append_value(&child, "_id", 3, id);
    bson_append_int32(&child, "_version", 8, version);
    bson_append_document_end(doc, &child);
}

void ash__tree_append_gone_with(bson_t *doc, const char *name, const bson_value_t *top,
                                const bson_value_t *folder)
{
    bson_t child;
    bson_append_document_begin(doc, name, -1, &child);
    bson_append_value(&child, "_id", 3, top);
    bson_append_value(&child, "parent", 6, folder);
    bson_append_document_end(doc, &child);
}

void ash__tree_filter_versions(bson_t *filter, const bson_value_t *id)
{
    bson_t range;
    bson_append_document_begin(filter, "_id", 3, &range);
    ash__tree_append_version_id(&range, "$gte", id, 0);
    ash__tree_append_version_id(&range, "$lte", id, INT32_MAX);
    bson_append_document_end(filter, &range);
}

int ash__tree_version(ash_tree *tree, const bson_value_t *id, int32_t version, const ash_op *op,
                      ash_tree_entry **out, ash_error *err)
{
    int rc = ash__tree_current(tree, id, op, out, err);
    if (rc != 0 || (*out != NULL && (*out)->version == version))
        return rc;
    ash_tree_entry_free(*out);
    bson_t filter = BSON_INITIALIZER, eq;
    bson_append_document_begin(&filter, "_id", 3, &eq);
    ash__tree_append_version_id(&eq, "$eq", id, version);
    bson_append_document_end(&filter, &eq);
    rc = find_entry(tree->past, &filter, op, out, err);
    bson_destroy(&filter);
    if (rc == 0 && *out != NULL)
        rc = ash__tree_find_end(tree, *out, op, err);
    if (rc != 0) {
        ash_tree_entry_free(*out);
        *out = NULL;
    }
    return rc;
}

int ash__tree_newest(ash_tree *tree, const bson_value_t *id, const ash_op *op, ash_tree_entry **out,
                     ash_error *err)
{
    int rc = ash__tree_current(tree, id, op, out, err);
    if (rc != 0 || *out != NULL)
        return rc;
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("_id", BCON_INT32(-1));
    bson_t *doc = NULL;
    ash__tree_filter_versions(&filter, id);
    BCON_APPEND(&filter, "_version", "{", "$type", BCON_UTF8("number"), "}");
    rc = ash__tree_find_one(tree->past, &filter, sort, op, &doc, err);
    if (rc == 0 && doc != NULL)
        rc = ash__entry_new(doc, out, err);
    if (rc == 0 && *out != NULL)
        (*out)->is_deleted = true;
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

int ash__tree_find_end(ash_tree *tree, ash_tree_entry *e, const ash_op *op, ash_error *err)
{
    ash_tree_entry *next = NULL;
    bson_iter_t it;
    if (e->ended_ms != 0 || e->is_deleted || !ash__entry_field(e, "_id", &it) ||
        !BSON_ITER_HOLDS_DOCUMENT(&it))
        return 0; /* it is said, or the document is the current one */
    int rc = ash__tree_version(tree, &e->id, e->version + 1, op, &next, err);
    if (rc == 0 && next != NULL)
        e->ended_ms = next->changed_ms;
    /* Its successor was pruned away: nobody knows, so it ended as it began. */
    if (rc == 0 && next == NULL)
        e->ended_ms = e->changed_ms;
    ash_tree_entry_free(next);
    return rc;
}

/* ---- in a folder ---- */

static void filter_child(bson_t *filter, const ash_tree_entry *folder, const char *name)
{
    ash__filter_id(filter, "parent", &folder->id);
    bson_append_utf8(filter, "filename", 8, name, -1);
}

/* Of the versions that once had the name there, the one that had it then. */
static int find_past_child(ash_tree *tree, const bson_t *filter, int64_t at_ms, const ash_op *op,
                           ash_tree_entry **out, ash_error *err)
{
    ash_find_options o = ash__tree_find_options(op);
    ash_cursor *cursor = NULL;
    int rc = ash_collection_find(tree->past, filter, &o, &cursor, err);
    while (rc == 0 && *out == NULL) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_next(cursor, &e, err);
        if (rc != 0 || e == NULL)
            break;
        if (e->changed_ms <= at_ms)
            rc = ash__tree_find_end(tree, e, op, err);
        if (rc == 0 && e->changed_ms <= at_ms && at_ms < e->ended_ms)
            *out = e;
        else
            ash_tree_entry_free(e);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* Those that say when they ended, and ended later; and those of v7files, which do not say. */
static int find_child_at(ash_tree *tree, bson_t *filter, int64_t at_ms, const ash_op *op,
                         ash_tree_entry **out, ash_error *err)
{
    bson_t *ended = bson_copy(filter);
    bson_t *silent = bson_copy(filter);
    BCON_APPEND(ended, "until", "{", "$gt", BCON_DATE_TIME(at_ms), "}");
    BCON_APPEND(silent, "until", BCON_NULL);
    int rc = find_past_child(tree, ended, at_ms, op, out, err);
    if (rc == 0 && *out == NULL)
        rc = find_past_child(tree, silent, at_ms, op, out, err);
    bson_destroy(ended);
    bson_destroy(silent);
    return rc;
}

/* A name in a folder, at a moment or (at_ms 0) now. */
typedef struct child {
    const ash_tree_entry *folder;
    const char *name;
    int64_t at_ms;
} child;

static int find_child(ash_tree *tree, const child *c, const ash_op *op, ash_tree_entry **out,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    filter_child(&filter, c->folder, c->name);
    int rc = find_entry(tree->current, &filter, op, out, err);
    if (rc == 0 && c->at_ms != 0 && (*out == NULL || (*out)->changed_ms > c->at_ms)) {
        ash_tree_entry_free(*out);
        *out = NULL;
        rc = find_child_at(tree, &filter, c->at_ms, op, out, err);
    }
    if (rc == 0 && *out != NULL)
        ash__entry_set_path(*out, c->folder->path);
    bson_destroy(&filter);
    return rc;
}

int ash__tree_child(ash_tree *tree, const ash_tree_entry *folder, const char *name,
                    const ash_op *op, ash_tree_entry **out, ash_error *err)
{
    const child now = {folder, name, 0};
    return find_child(tree, &now, op, out, err);
}

/* ---- along a path ---- */

static int find_root(ash_tree *tree, const ash_op *op, ash_tree_chain *chain, ash_error *err)
{
    ash_tree_entry *root = NULL;
    bson_value_t id = {.value_type = BSON_TYPE_UTF8};
    id.value.v_utf8.str = tree->root;
    id.value.v_utf8.len = (uint32_t)strlen(tree->root);
    int rc = ash__tree_current(tree, &id, op, &root, err);
    if (rc != 0)
        return rc;
    if (root == NULL)
        root = ash__entry_new_root(tree->root);
    else
        root->path = ash__strdup("/");
    ash__chain_add(chain, root);
    return 0;
}

int ash__tree_walk(ash_tree *tree, const ash_tree_path *path, int64_t at_ms, const ash_op *op,
                   ash_tree_chain *chain, ash_error *err)
{
    int rc = find_root(tree, op, chain, err);
    for (size_t i = 0; rc == 0 && i < path->count; i++) {
        ash_tree_entry *next = NULL;
        ash_tree_entry *folder = ash__chain_last(chain);
        if (!folder->is_folder)
            return ash__fail(err, ASH_EINVAL, "%s is a file, not a folder", folder->path);
        const child c = {folder, path->names[i], at_ms};
        rc = find_child(tree, &c, op, &next, err);
        if (rc == 0 && next == NULL)
            break;
        if (rc == 0)
            ash__chain_add(chain, next);
    }
    return rc;
}

int ash__tree_say_missing(const ash_tree_path *path, size_t found, int64_t at_ms, ash_error *err)
{
    char *whole = ash__tree_path_join(path, path->count);
    char *missing = ash__tree_path_join(path, found);
    int rc = found == path->count ? ash__fail(err, ASH_ENOTFOUND, "there is no %s%s", whole,
                                              at_ms != 0 ? " at that time" : "")
                                  : ash__fail(err, ASH_ENOTFOUND, "there is no %s: no folder %s%s",
                                              whole, missing, at_ms != 0 ? " at that time" : "");
    ash__free(missing);
    ash__free(whole);
    return rc;
}

int ash__tree_walk_all(ash_tree *tree, const ash_tree_path *path, int64_t at_ms, const ash_op *op,
                       ash_tree_chain *chain, ash_error *err)
{
    int rc = ash__tree_walk(tree, path, at_ms, op, chain, err);
    if (rc == 0 && chain->count <= path->count)
        rc = ash__tree_say_missing(path, chain->count, at_ms, err);
    return rc;
}

/* ---- upwards ---- */

/* Damage; more than paths and moves come to, and little enough to be held in memory. */
enum { CLIMB_MAX = 65536 };

static void turn_round(ash_tree_chain *chain)
{
    for (size_t i = 0; i < chain->count / 2; i++) {
        ash_tree_entry *e = chain->items[i];
        chain->items[i] = chain->items[chain->count - 1 - i];
        chain->items[chain->count - 1 - i] = e;
    }
}

static bool is_root(const ash_tree *tree, const bson_value_t *id)
{
    return id->value_type == BSON_TYPE_UTF8 && id->value.v_utf8.len == strlen(tree->root) &&
           memcmp(id->value.v_utf8.str, tree->root, id->value.v_utf8.len) == 0;
}

int ash__tree_folder(ash_tree *tree, const bson_value_t *id, const ash_op *op, ash_tree_entry **out,
                     bool *is_this_root, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    *out = NULL;
    *is_this_root = is_root(tree, id);
    if (!*is_this_root)
        return ash__tree_newest(tree, id, op, out, err);
    int rc = find_root(tree, op, &chain, err);
    if (rc == 0)
        *out = ash__chain_take(&chain);
    ash__chain_release(&chain);
    return rc;
}

/* A circle of parents is damage, and must end: one that stands still is met again by one that goes
 * on, if he moves up to him at each power of two (Brent). */
static bool is_met_again(const ash_tree_chain *chain, size_t *stands)
{
    size_t last = chain->count - 1;
    if (last > *stands && ash__same_id(&chain->items[last]->id, &chain->items[*stands]->id))
        return true;
    if ((chain->count & last) == 0)
        *stands = last;
    return false;
}

int ash__tree_climb(ash_tree *tree, const ash_tree_entry *e, const ash_op *op,
                    ash_tree_chain *chain, bool *reached, ash_error *err)
{
    const ash_tree_entry *at = e;
    size_t stands = 0;
    int rc = 0;
    *reached = false;
    while (rc == 0 && !*reached && at->parent.value_type != BSON_TYPE_EOD &&
           chain->count < CLIMB_MAX) {
        ash_tree_entry *folder = NULL;
        rc = ash__tree_folder(tree, &at->parent, op, &folder, reached, err);
        if (rc != 0 || folder == NULL)
            break;
        ash__chain_add(chain, folder);
        if (is_met_again(chain, &stands))
            break;
        at = folder;
    }
    turn_round(chain);
    if (chain->count > 0 && ash__chain_last(chain)->path == NULL)
        ash__chain_last(chain)->path = ash__chain_path(chain, chain->count - 1);
    return rc;
}
