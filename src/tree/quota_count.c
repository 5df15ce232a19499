/* SPDX-License-Identifier: Apache-2.0 */
/* Adding up what lies below a folder, or is a user's: in the commit, if that is little; else beside the others, again
 * until nobody has changed anything meanwhile. */
#include "tree/quota.h"

#include "base/mem.h"
#include "tree/change.h"

#include <string.h>

enum { FOLDERS_AT_ONCE = 500, TRIES = 8 };

typedef struct count {
    ash_tree *tree;
    const ash_op *op;
    size_t max, finds_max; /* entries, finds; 0: any number */
    size_t entries, finds;
    ash_tree_entries folders; /* that are still to be looked into, and were */
    int64_t bytes;
} count;

static int say_too_many(ash_error *err)
{
    return ash__fail(err, ASH_ETOOBIG, "too much lies below for its bytes to be added up here");
}

/* Takes the entry over. */
static int take(count *k, ash_tree_entry *e, ash_error *err)
{
    ash__add_length(&k->bytes, e->content.length);
    if (e->is_folder)
        ash__entries_add(&k->folders, e);
    else
        ash_tree_entry_free(e);
    return k->max > 0 && ++k->entries > k->max ? say_too_many(err) : 0;
}

/* A document that cannot be read has no bytes. */
static int next_entry(ash_cursor *cursor, ash_tree_entry **out, bool *ends, ash_error *err)
{
    ash_doc doc = {NULL, 0};
    bson_t view;
    *out = NULL;
    int rc = ash_cursor_next(cursor, &doc, err);
    *ends = rc == 0 && doc.data == NULL;
    if (rc != 0 || *ends)
        return rc;
    ash__doc_to_bson(doc, &view);
    (void)ash__entry_new(bson_copy(&view), out, NULL);
    return 0;
}

static int find_inside(count *k, size_t first, size_t end, ash_cursor **out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *only = BCON_NEW("sha", BCON_INT32(1), "length", BCON_INT32(1), "in", BCON_INT32(1));
    ash_find_options o = ash__tree_find_options(k->op);
    o.projection = only;
    ash__filter_entries(&filter, "parent", k->folders.items + first, end - first);
    int rc = ash_collection_find(k->tree->current, &filter, &o, out, err);
    bson_destroy(only);
    bson_destroy(&filter);
    return rc;
}

static int look_into(count *k, size_t first, size_t end, ash_error *err)
{
    ash_cursor *cursor = NULL;
    bool ends = false;
    int rc = k->finds_max > 0 && k->finds++ == k->finds_max
                 ? say_too_many(err)
                 : find_inside(k, first, end, &cursor, err);
    while (rc == 0 && !ends) {
        ash_tree_entry *e = NULL;
        rc = next_entry(cursor, &e, &ends, err);
        if (rc == 0 && e != NULL)
            rc = take(k, e, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* ---- of a user ---- */

/* Nothing leads from him to his files: all are looked at.  NULL: those of everybody. */
static bson_t *build_written(const char *user)
{
    if (user == NULL)
        return bson_new();
    return BCON_NEW("$or", "[", "{", "written_by", BCON_UTF8(user), "}", "{", "changed_by",
                    BCON_UTF8(user), "written_by", "{", "$exists", BCON_BOOL(false), "}", "}", "]");
}

static int find_written(ash_tree *tree, const char *user, const ash_op *op, ash_cursor **out,
                        ash_error *err)
{
    bson_t *filter = build_written(user);
    bson_t *only = BCON_NEW("sha", BCON_INT32(1), "length", BCON_INT32(1), "in", BCON_INT32(1),
                            "changed_by", BCON_INT32(1), "written_by", BCON_INT32(1));
    ash_find_options o = ash__tree_find_options(op);
    o.projection = only;
    o.past_damage = true;
    int rc = ash_collection_find(tree->current, filter, &o, out, err);
    bson_destroy(only);
    bson_destroy(filter);
    return rc;
}

int ash__quota_each_written(ash_tree *tree, const char *user, const ash_op *op,
                            ash_quota_written_fn fn, void *ctx, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    ash_cursor *cursor = NULL;
    bool ends = false;
    int rc = ash_store_capabilities(tree->store, &can, err);
    if (rc == 0)
        rc = find_written(tree, user, op, &cursor, err);
    while (rc == 0 && !ends) {
        ash_error own = ASH_ERROR_INIT;
        ash_tree_entry *e = NULL;
        rc = next_entry(cursor, &e, &ends, &own);
        rc = ash__unless(can.past_damage ? ASH_ECORRUPT : 0, rc, &own, err);
        if (rc == 0 && !ends)
            rc = fn(ctx, e != NULL ? ash_tree_entry_written_by(e) : NULL,
                    e != NULL ? e->content.length : 0, err);
        ash_tree_entry_free(e);
    }
    ash_cursor_free(cursor);
    return rc;
}

typedef struct written {
    count *k;
    const char *user;
} written;

static int take_written(void *ctx, const char *who, int64_t bytes, ash_error *err)
{
    const written *w = ctx;
    if (who != NULL && strcmp(who, w->user) == 0)
        ash__add_length(&w->k->bytes, bytes);
    return w->k->max > 0 && ++w->k->entries > w->k->max ? say_too_many(err) : 0;
}

/* A commit is bounded by how many documents there are, whosever they may be. */
static int count_written(count *k, const char *user, ash_error *err)
{
    written w = {k, user};
    return ash__quota_each_written(k->tree, k->max > 0 ? NULL : user, k->op, take_written, &w, err);
}

/* ---- of either ---- */

int ash__quota_count(ash_tree *tree, const bson_value_t *folder, bool bounded, const ash_op *op,
                     int64_t *bytes, ash_error *err)
{
    const char *user = ash__quota_user(folder);
    count k = {.tree = tree, .op = op};
    ash_tree_entry *top = ash__new(ash_tree_entry);
    int rc = 0;
    if (bounded) {
        k.max = tree->whole_max;
        k.finds_max = tree->finds_max;
    }
    bson_value_copy(folder, &top->id);
    ash__entries_add(&k.folders, top);
    if (user != NULL)
        rc = count_written(&k, user, err);
    for (size_t first = 0; user == NULL && rc == 0 && first < k.folders.count;) {
        size_t left = k.folders.count - first;
        size_t end = first + (left < FOLDERS_AT_ONCE ? left : FOLDERS_AT_ONCE);
        rc = look_into(&k, first, end, err);
        first = end;
    }
    *bytes = k.bytes;
    ash__entries_release(&k.folders);
    return rc;
}

/* ---- beside the others ---- */

typedef struct counting {
    const bson_value_t *folder;
    int64_t bytes, changes;
    bool here;  /* count in the commit itself */
    bool moved; /* result: somebody changed something meanwhile */
} counting;

static int write_sum(ash_tree_commit *c, void *ctx, ash_error *err)
{
    counting *k = ctx;
    ash_quota_document q;
    bool there = false;
    int rc = ash__quota_find(c->tree, k->folder, &c->op, &q, &there, err);
    if (rc == 0 && !there)
        rc = ash__fail(err, ASH_ECONFLICT, "the quota was taken away while it was counted");
    if (rc == 0 && k->here)
        rc = ash__quota_count(c->tree, k->folder, false, &c->op, &k->bytes, err);
    k->moved = rc == 0 && q.counting && !k->here && q.changes != k->changes;
    if (rc != 0 || k->moved || !q.counting) /* somebody else has finished it */
        return rc;
    bson_t *change = BCON_NEW("$set", "{", "used", BCON_INT64(k->bytes), "}", "$unset", "{",
                              "counting", BCON_INT32(1), "}");
    rc = ash__quota_update(c->tree, k->folder, change, false, &c->op, err);
    bson_destroy(change);
    return rc;
}

static int count_once(ash_tree *tree, counting *k, const ash_op *op, ash_error *err)
{
    static const ash_tree_change_options plain = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_quota_document q;
    bool there = false;
    int rc = ash__quota_find(tree, k->folder, op, &q, &there, err);
    k->changes = q.changes;
    if (rc == 0 && !k->here)
        rc = ash__quota_count(tree, k->folder, false, op, &k->bytes, err);
    return rc == 0 ? ash__tree_change(tree, &plain, op, write_sum, k, err) : rc;
}

int ash__quota_count_apart(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                           ash_error *err)
{
    counting k = {.folder = folder, .moved = true};
    ash_op own = *op;
    int rc = 0;
    own.principal = NULL;
    for (int i = 0; rc == 0 && k.moved && i < TRIES; i++)
        rc = count_once(tree, &k, &own, err);
    /* The others wait then; through a server they cannot be made to. */
    k.here = rc == 0 && k.moved && tree->serial && tree->finds_max == 0;
    if (k.here)
        rc = count_once(tree, &k, &own, err);
    if (rc == 0 && k.moved)
        rc = ash__fail(err, ASH_ECONFLICT,
                       "what lies there changes faster than it can be counted: try again later");
    return rc;
}
