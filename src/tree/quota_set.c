/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas, as the public header has them. */
#include "tree/quota.h"

#include "base/mem.h"
#include "base/options.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/change.h"

#include <string.h>

typedef struct quota_call {
    const ash_tree_path *path;
    int64_t max;      /* < 0: none */
    bson_value_t id;  /* result: the folder's; own */
    bool too_many;    /* result: it has still to be counted */
    bool only_counts; /* for a move: no quota is set, one that is there stays */
} quota_call;

static void release_call(quota_call *call)
{
    if (call->id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&call->id);
    call->id.value_type = BSON_TYPE_EOD;
}

/* ---- setting ---- */

/* used < 0: somebody is going to count. */
static int write_quota(ash_tree_commit *c, const quota_call *call, int64_t used, ash_error *err)
{
    bson_t change = BSON_INITIALIZER, part;
    const char *who = c->changed_by;
    bson_append_document_begin(&change, "$set", 4, &part);
    if (!call->only_counts)
        bson_append_int64(&part, "max", 3, call->max);
    if (used >= 0)
        bson_append_int64(&part, "used", 4, used);
    else
        bson_append_bool(&part, "counting", 8, true);
    bson_append_date_time(&part, "set_at", 6, c->now_ms);
    if (who != NULL)
        bson_append_utf8(&part, "set_by", 6, who, -1);
    bson_append_document_end(&change, &part);
    if (used < 0)
        BCON_APPEND(&change, "$inc", "{", "changes", BCON_INT64(1), "}");
    else
        BCON_APPEND(&change, "$unset", "{", "counting", BCON_INT32(1), "}");
    int rc = ash__quota_update(c->tree, &call->id, &change, true, &c->op, err);
    bson_destroy(&change);
    return rc;
}

static int set_on(ash_tree_commit *c, quota_call *call, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int64_t used = 0;
    if (call->max < 0 && !call->only_counts)
        return ash__quota_remove(c->tree, &call->id, &c->op, err);
    int rc = ash__commit_claim(c, &call->id, err);
    if (rc != 0)
        return rc;
    rc = call->only_counts ? ASH_ETOOBIG
                           : ash__quota_count(c->tree, &call->id, true, &c->op, &used, &own);
    call->too_many = rc == ASH_ETOOBIG;
    rc = call->too_many ? 0 : ash__unless(0, rc, &own, err);
    return rc == 0 ? write_quota(c, call, call->too_many ? -1 : used, err) : rc;
}

static int set_quota(ash_tree_commit *c, void *ctx, ash_error *err)
{
    quota_call *call = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    release_call(call);
    call->too_many = false;
    int rc = ash__commit_entry(c, call->path, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE, &c->op, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, ash__chain_last(&chain), err);
    if (rc == 0 && !ash__chain_last(&chain)->is_folder)
        rc = ash__fail(err, ASH_EINVAL, "%s is a file: quotas are of folders",
                       ash__chain_last(&chain)->path);
    if (rc == 0) {
        bson_value_copy(&ash__chain_last(&chain)->id, &call->id);
        rc = set_on(c, call, err);
    }
    ash__chain_release(&chain);
    return rc;
}

static int prepare(ash_tree *tree, const ash_op *op, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    if (op->transaction != NULL)
        return ash__fail(err, ASH_ESTATE, "a quota is not set in a transaction");
    int rc = ash_tree_prepare(tree, op, err);
    if (rc != 0)
        return rc;
    /* A transaction may not make it. */
    rc = ash_collection_create(tree->quotas, NULL, op, &own);
    return ash__unless(ASH_EEXISTS, rc, &own, err);
}

static int set_call(ash_tree *tree, const char *path, quota_call *call,
                    const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    ash_op own = ash__op_of(op);
    call->path = &parts;
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = prepare(tree, &own, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, &own, set_quota, call, err);
    if (rc == 0 && call->too_many)
        rc = ash__quota_count_apart(tree, &call->id, &own, err);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_set_quota(ash_tree *tree, const char *path, int64_t max_bytes,
                       const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    quota_call call = {.max = max_bytes, .id = {.value_type = BSON_TYPE_EOD}};
    int rc = set_call(tree, path, &call, opts, op, err);
    release_call(&call);
    return rc;
}

/* ---- of a user ---- */

static int set_user_quota(ash_tree_commit *c, void *ctx, ash_error *err)
{
    quota_call *call = ctx;
    call->too_many = false;
    int rc = ash__commit_fence(c, err);
    return rc == 0 ? set_on(c, call, err) : rc;
}

static int check_user(const char *user, const ash_op *op, ash_error *err)
{
    if (!ash__quota_may_have(user) || !bson_utf8_validate(user, strlen(user), false))
        return ash__fail(err, ASH_EINVAL, "the name of a user is 1 to 1024 bytes of UTF-8");
    if (op->principal != NULL)
        return ash__fail(err, ASH_EACCES, "users do not say how much users may have");
    return 0;
}

int ash_tree_set_user_quota(ash_tree *tree, const char *user, int64_t max_bytes,
                            const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    ash_tree_change_options o;
    bson_t doc = BSON_INITIALIZER;
    ash_op own = ash__op_of(op);
    quota_call call = {.max = max_bytes};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = check_user(user, &own, err);
    if (rc == 0) {
        call.id = ash__quota_user_id(user, &doc);
        rc = prepare(tree, &own, err);
    }
    if (rc == 0)
        rc = ash__tree_change(tree, &o, &own, set_user_quota, &call, err);
    if (rc == 0 && call.too_many)
        rc = ash__quota_count_apart(tree, &call.id, &own, err);
    bson_destroy(&doc);
    return rc;
}

/* ---- for moves ---- */

int ash__quota_begin_move(ash_tree *tree, const char *path, const ash_op *op, bson_value_t *id,
                          ash_error *err)
{
    quota_call call = {.max = -1, .only_counts = true, .id = {.value_type = BSON_TYPE_EOD}};
    int rc = set_call(tree, path, &call, NULL, op, err);
    *id = call.id;
    return rc;
}

int ash__quota_end_move(ash_tree *tree, const bson_value_t *folder, const ash_op *op,
                        ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    o.op = ash__op_of(op);
    ash__filter_id(&filter, "_id", folder);
    BCON_APPEND(&filter, "max", "{", "$exists", BCON_BOOL(false), "}");
    int rc = ash_collection_remove(tree->quotas, &filter, &o, NULL, err);
    bson_destroy(&filter);
    return rc;
}

/* ---- asking ---- */

/* The figures of a quota are those of all that lies below its folder. */
static bool may_know(const ash_tree_chain *chain, size_t at, const ash_op *op)
{
    const ash_tree_chain above = {chain->items, at + 1, 0};
    return at == chain->count || ash__tree_require(&above, ASH_TREE_READ, op, NULL) == 0;
}

int ash_tree_get_quota(ash_tree *tree, const char *path, const ash_op *op, ash_tree_quota *quota,
                       char **from, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_path parts = {0};
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_quota found = ASH_TREE_QUOTA_INIT;
    ash_quota_room room = {.bytes = -1};
    char *user = ash__tree_user(&own);
    if (from != NULL)
        *from = NULL;
    found.max_bytes = found.used_bytes = -1;
    int rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_walk_all(tree, &parts, 0, &own, &chain, err);
    if (rc == 0 && ash__tree_require(&chain, ASH_TREE_WRITE, &own, NULL) != 0)
        rc = ash__tree_require(&chain, ASH_TREE_READ, &own, err);
    if (rc == 0)
        rc = ash__quota_room(tree, &chain, user, &own, &room, err);
    found.available_bytes = room.bytes == INT64_MAX ? -1 : room.bytes;
    bool told = rc == 0 && room.bytes >= 0 && may_know(&chain, room.at, &own);
    if (told) {
        found.max_bytes = room.quota.max;
        found.used_bytes = room.quota.used;
    }
    if (rc == 0)
        rc = ash__out_copy(quota, &found, sizeof found, err);
    if (rc == 0 && from != NULL && told && room.at < chain.count)
        *from = ash__strdup(chain.items[room.at]->path);
    ash__free(user);
    ash__chain_release(&chain);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_has_quotas(ash_tree *tree, const ash_op *op, bool *any, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    bson_t *doc = NULL;
    ash_op own = ash__op_of(op);
    int rc = ash__tree_find_one(tree->quotas, &all, NULL, &own, &doc, err);
    *any = rc == 0 && doc != NULL;
    bson_destroy(doc);
    bson_destroy(&all);
    return rc;
}

typedef struct listed {
    char *path;
    ash_quota_document quota;
} listed;

typedef struct listing {
    ash_tree *tree;
    const ash_op *op;
    const char *path; /* of the folder that is asked about; NULL: users are */
    const char *user; /* the only one; or NULL */
    listed *items;
    size_t count, capacity;
} listing;

/* The one is the other, or lies below it. */
static bool is_in(const char *path, const char *folder)
{
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static void add_listed(listing *l, const char *path, const ash_quota_document *q)
{
    l->items = ash__grow_array(l->items, l->count, &l->capacity, sizeof *l->items);
    l->items[l->count++] = (listed){ash__strdup(path), *q};
}

static int take_listed(listing *l, const bson_t *doc, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_quota_document q;
    bson_iter_t it;
    bool reached = false;
    ash__quota_read(doc, &q);
    if (q.max < 0 || !bson_iter_init_find(&it, doc, "_id"))
        return 0;
    const char *user = ash__quota_user(bson_iter_value(&it));
    if (user != NULL && l->path == NULL && (l->user == NULL || strcmp(user, l->user) == 0))
        add_listed(l, user, &q);
    if (user != NULL || l->path == NULL)
        return 0;
    int rc = ash__quota_folder(l->tree, bson_iter_value(&it), l->op, &chain, &reached, err);
    const char *path = chain.count > 0 ? ash__chain_last(&chain)->path : NULL;
    if (rc == 0 && reached && path != NULL && (is_in(path, l->path) || is_in(l->path, path)) &&
        ash__tree_require(&chain, ASH_TREE_READ, l->op, NULL) == 0)
        add_listed(l, path, &q);
    ash__chain_release(&chain);
    return rc;
}

static int read_listed(listing *l, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(l->op);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    int rc = ash_collection_find(l->tree->quotas, &all, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        rc = take_listed(l, &view, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const listed *)a)->path, ((const listed *)b)->path);
}

static int give_listed(listing *l, ash_tree_quota_fn fn, void *ctx, ash_error *err)
{
    bool go_on = true;
    if (l->count > 1)
        qsort(l->items, l->count, sizeof *l->items, compare_paths);
    for (size_t i = 0; go_on && i < l->count; i++) {
        ash_tree_quota q = ASH_TREE_QUOTA_INIT;
        q.max_bytes = l->items[i].quota.max;
        q.used_bytes = l->items[i].quota.used;
        q.available_bytes = ash__quota_left(&l->items[i].quota);
        if (q.available_bytes == INT64_MAX)
            q.available_bytes = -1;
        go_on = fn(ctx, l->items[i].path, &q);
    }
    return go_on ? 0 : ash__fail(err, ASH_EINTERRUPTED, "stopped by the caller");
}

static int list(listing *l, ash_tree_quota_fn fn, void *ctx, ash_error *err)
{
    int rc = read_listed(l, err);
    if (rc == 0)
        rc = give_listed(l, fn, ctx, err);
    for (size_t i = 0; i < l->count; i++)
        ash__free(l->items[i].path);
    ash__free(l->items);
    return rc;
}

int ash_tree_user_quotas(ash_tree *tree, const char *user, const ash_op *op, ash_tree_quota_fn fn,
                         void *ctx, ash_error *err)
{
    ash_op own = ash__op_of(op);
    char *asking = ash__tree_user(&own);
    listing l = {.tree = tree, .op = &own, .user = user};
    /* A principal without a name has none. */
    if (own.principal != NULL)
        l.user = asking != NULL && (user == NULL || strcmp(user, asking) == 0) ? asking : "";
    int rc = list(&l, fn, ctx, err);
    ash__free(asking);
    return rc;
}

int ash_tree_quotas(ash_tree *tree, const char *path, const ash_op *op, ash_tree_quota_fn fn,
                    void *ctx, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_entry *folder = NULL;
    listing l = {.tree = tree, .op = &own};
    int rc = ash_tree_get(tree, path, NULL, &own, &folder, err);
    if (rc == 0) {
        l.path = folder->path;
        rc = list(&l, fn, ctx, err);
    }
    ash_tree_entry_free(folder);
    return rc;
}
