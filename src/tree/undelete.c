/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that were deleted come back, a folder with all that was deleted with it. */
#include "tree/undelete.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/quota.h"
#include "tree/subtree.h"

typedef struct undelete_call {
    const bson_value_t *id;
    const ash_tree_path *to; /* or NULL */
    bool whole;              /* in a caller's transaction: all at once */
    bool alone;              /* without what was deleted with it, which comes later */
    bool too_many;           /* result of a run: nothing was done, as that was too much for it */
    bool is_back;            /* likewise: as it is there already */
    int32_t deletion;        /* the version that the entry's deletion is, and … */
    int64_t deleted_ms;      /* … its time */
    int64_t rest_bytes;      /* alone: what is to come after it */
    ash_tree_entry *entry;
} undelete_call;

bson_t *ash__undelete_document(const ash_tree_commit *c, const ash_tree_entry *e, int32_t deletion,
                               const bson_value_t *parent, const char *name)
{
    bson_t *doc = bson_new();
    bson_iter_t it;
    bson_append_value(doc, "_id", 3, &e->id);
    bson_append_int32(doc, "_version", 8, deletion + 1);
    bson_append_value(doc, "parent", 6, parent);
    bson_append_utf8(doc, "filename", 8, name, -1);
    if (bson_iter_init(&it, e->doc))
        while (bson_iter_next(&it))
            if (!bson_has_field(doc, bson_iter_key(&it)) &&
                !ash__field_is_of_version(bson_iter_key(&it)))
                bson_append_iter(doc, NULL, 0, &it);
    bson_append_date_time(doc, "updated_at", 10, c->now_ms);
    ash__document_changed_by(c, doc);
    return doc;
}

/* The folder that it comes back to, and its name there. */
static int find_place(ash_tree_commit *c, const undelete_call *call, const ash_tree_entry *e,
                      ash_tree_chain *chain, const char **name, ash_error *err)
{
    bool reached = false;
    *name = e->name;
    if (call->to != NULL) {
        *name = call->to->count > 0 ? call->to->names[call->to->count - 1] : "";
        return ash__commit_folder(c, call->to, chain, err);
    }
    int rc = ash__tree_climb(c->tree, e, &c->op, chain, &reached, err);
    for (size_t i = 0; rc == 0 && i < chain->count; i++)
        if (chain->items[i]->is_deleted || !reached)
            rc = ash__fail(err, ASH_ENOTFOUND,
                           "the folder of %s is not there any more: undelete it, or say where to",
                           e->name);
    if (rc == 0 && chain->count == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "nobody knows where %s lay: say where to", e->name);
    return rc;
}

/* Else the trash would be a way out of a closed folder. */
int ash__undelete_require(ash_tree_commit *c, const ash_tree_entries *list, unsigned rights,
                          ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && c->op.principal != NULL && i < list->count; i++) {
        ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
        bool reached;
        rc = ash__tree_climb(c->tree, list->items[i], &c->op, &chain, &reached, err);
        ash__chain_add(&chain, ash_tree_entry_copy(list->items[i]));
        if (rc == 0 && chain.count > 1)
            ash__entry_set_path(ash__chain_last(&chain), chain.items[chain.count - 2]->path);
        if (rc == 0)
            rc = ash__tree_require(&chain, rights, &c->op, err);
        ash__chain_release(&chain);
    }
    return rc;
}

static int insert_returned(ash_tree_commit *c, undelete_call *call, const ash_tree_entries *list,
                           const ash_tree_entry *folder, const char *name, ash_error *err)
{
    size_t used;
    ash_content_use *uses = ash__content_uses(list->items, list->count, &used);
    bson_t **made = ash__alloc_array(list->count, sizeof *made);
    for (size_t i = 0; i < list->count; i++) {
        const ash_tree_entry *e = list->items[i];
        made[i] = i == 0 ? ash__undelete_document(c, e, call->deletion, &folder->id, name)
                         : ash__undelete_document(c, e, e->version + 1, &e->parent, e->name);
    }
    int rc = ash__commit_hold(c, uses, used, err);
    if (rc == 0)
        rc = ash__commit_insert_all(c, made, list->count, err);
    if (rc == 0)
        rc = ash__entry_new(bson_copy(made[0]), &call->entry, err);
    if (rc == 0)
        ash__entry_set_path(call->entry, folder->path);
    for (size_t i = 0; i < list->count; i++)
        bson_destroy(made[i]);
    ash__free(made);
    ash__free(uses);
    return rc;
}

/* The version before the deletion may have been pruned away, where an earlier one was kept. */
static int find_deletion(ash_tree_commit *c, undelete_call *call, ash_tree_entry *e, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("_id", BCON_INT32(-1)), *doc = NULL;
    ash_tree_entry *deletion = NULL;
    call->deletion = e->is_deleted ? e->version + 1 : 0;
    ash__tree_filter_versions(&filter, call->id);
    BCON_APPEND(&filter, "deleted_at", "{", "$exists", BCON_BOOL(true), "}");
    int rc = ash__tree_find_one(c->tree->past, &filter, sort, &c->op, &doc, err);
    if (rc == 0 && doc != NULL)
        rc = ash__entry_new(doc, &deletion, err);
    if (rc == 0 && deletion != NULL && deletion->version > call->deletion) {
        call->deletion = deletion->version;
        e->ended_ms = deletion->changed_ms;
    }
    call->deleted_ms = e->ended_ms;
    ash_tree_entry_free(deletion);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

static int say_it_is_back(const char *name, ash_error *err)
{
    return ash__fail(err, ASH_EEXISTS, "%s is not deleted", name);
}

static int find_deleted(ash_tree_commit *c, undelete_call *call, ash_tree_entries *list,
                        ash_error *err)
{
    ash_tree_entry *e = NULL;
    int rc = ash__tree_newest(c->tree, call->id, &c->op, &e, err);
    if (rc == 0 && e == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no entry of that id, or it was pruned");
    call->is_back = rc == 0 && !e->is_deleted && e->is_folder && !call->whole && call->to == NULL;
    if (rc == 0 && !e->is_deleted && !call->is_back)
        rc = say_it_is_back(e->name, err);
    if (rc == 0)
        rc = find_deletion(c, call, e, err);
    if (rc != 0) {
        ash_tree_entry_free(e);
        return rc;
    }
    ash__entries_add(list, e);
    if (!e->is_folder || call->is_back || call->alone)
        return 0;
    return ash__tree_deleted_below(c->tree, list, call->whole ? 0 : c->tree->whole_max,
                                   &call->too_many, &c->op, err);
}

static unsigned rights_of(const undelete_call *call)
{
    return ASH_TREE_WRITE | (call->to != NULL ? ASH_TREE_READ : 0);
}

static int bring_back(ash_tree_commit *c, undelete_call *call, const ash_tree_entries *list,
                      ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *there = NULL;
    const char *name = "";
    int rc = ash__undelete_require(c, list, rights_of(call), err);
    if (rc == 0)
        rc = find_place(c, call, list->items[0], &chain, &name, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    if (rc == 0)
        rc = ash__tree_child(c->tree, ash__chain_last(&chain), name, &c->op, &there, err);
    if (rc == 0 && there != NULL)
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already", there->path);
    /* What comes in many commits is not begun where a quota would end it half-way. */
    if (rc == 0 && call->rest_bytes > 0)
        rc = ash__quota_require(c->tree, &chain, c->author, call->rest_bytes, &c->op, err);
    if (rc == 0)
        rc = ash__commit_claim(c, &ash__chain_last(&chain)->id, err);
    if (rc == 0)
        rc = insert_returned(c, call, list, ash__chain_last(&chain), name, err);
    ash_tree_entry_free(there);
    ash__chain_release(&chain);
    return rc;
}

static int undelete(ash_tree_commit *c, void *ctx, ash_error *err)
{
    undelete_call *call = ctx;
    ash_tree_entries list = ASH_TREE_ENTRIES_INIT;
    ash_tree_entry_free(call->entry);
    call->entry = NULL;
    call->too_many = false;
    int rc = find_deleted(c, call, &list, err);
    if (rc == 0)
        rc = ash__commit_fence(c, err);
    if (rc == 0 && call->is_back)
        call->entry = ash_tree_entry_copy(list.items[0]);
    else if (rc == 0 && !call->too_many)
        rc = bring_back(c, call, &list, err);
    ash__entries_release(&list);
    return rc;
}

/* The folder by itself, when all of it may come back, and then the rest. */
static int undelete_many(ash_tree *tree, undelete_call *call, const ash_tree_change_options *opts,
                         const ash_op *op, ash_error *err)
{
    ash_tree_rest rest = {.id = call->id,
                          .deleted_ms = call->deleted_ms,
                          .rights = rights_of(call),
                          .was_left = call->is_back};
    bool has_quotas = false;
    int rc = ash_tree_has_quotas(tree, op, &has_quotas, err);
    if (rc == 0 && (has_quotas || ash__op_of(op).principal != NULL)) {
        rest.only_rights = true;
        rc = ash__undelete_rest(tree, &rest, opts, op, err);
        rest.only_rights = false;
    }
    call->rest_bytes = has_quotas ? rest.bytes : 0;
    call->alone = true;
    if (rc == 0 && !call->is_back)
        rc = ash__tree_change(tree, opts, op, undelete, call, err);
    if (rc == 0)
        rc = ash__undelete_rest(tree, &rest, opts, op, err);
    if (rc == 0 && call->is_back && rest.came_back == 0)
        rc = say_it_is_back(call->entry->name, err);
    return rc;
}

/* Two of one name may have been deleted with the folder, which only those who go through it in
 * many commits take for what they are. */
static int undelete_at_once(ash_tree *tree, undelete_call *call,
                            const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__tree_change(tree, opts, op, undelete, call, &own);
    call->too_many = call->too_many || (rc == ASH_EEXISTS && !call->whole);
    return call->too_many ? 0 : ash__unless(0, rc, &own, err);
}

int ash_tree_undelete(ash_tree *tree, const bson_value_t *id, const char *to,
                      const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                      ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    undelete_call call = {.id = id, .to = to != NULL ? &parts : NULL};
    call.whole = ash__op_of(op).transaction != NULL;
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0 && to != NULL)
        rc = ash__tree_path_parse(to, &parts, err);
    if (rc == 0)
        rc = undelete_at_once(tree, &call, &o, op, err);
    if (rc == 0 && (call.too_many || call.is_back))
        rc = undelete_many(tree, &call, &o, op, err);
    if (rc == 0 && call.is_back) {
        ash_tree_entry_free(call.entry);
        rc = ash_tree_get_by_id(tree, id, 0, op, &call.entry, err); /* with its path */
    }
    ash__tree_give(rc, call.entry, entry);
    ash__tree_path_release(&parts);
    return rc;
}
