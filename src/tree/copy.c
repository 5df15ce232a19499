/* SPDX-License-Identifier: Apache-2.0 */
/* Copying: new documents that name the same contents, all of a folder in one commit. */
#include "tree/subtree.h"

#include "base/mem.h"
#include "base/options.h"
#include "tree/acl.h"
#include "tree/get.h"
#include "tree/restore.h"
#include "tree/set.h"

#include <string.h>

typedef struct copy_call {
    const char *from;
    ash_tree_when when;
    const ash_tree_path *to;
    ash_tree_entry *entry;
    bson_oid_t *ids; /* of the new entries: the same in each run */
    size_t id_count, id_capacity;
} copy_call;

/* Runs see the same source, mostly; where they do not, more ids are made. */
static const bson_oid_t *new_id(copy_call *call, size_t i)
{
    while (call->id_count <= i) {
        call->ids =
            ash__grow_array(call->ids, call->id_count, &call->id_capacity, sizeof *call->ids);
        bson_oid_init(&call->ids[call->id_count++], NULL);
    }
    return &call->ids[i];
}

/* Everything but what belongs to the old entry alone: its id, place, access list, marks. */
static bool is_of_entry(const char *field)
{
    static const char *const own[] = {"_id",        "_version",   "parent",   "filename",
                                      "created_at", "updated_at", "acl",      "changed_by",
                                      "tags",       "until",      "keep",     "deleted_at",
                                      "restored",   "tagged",     "gone_with"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(own); i++)
        if (strcmp(field, own[i]) == 0)
            return true;
    return false;
}

static bson_t *build_copy(ash_tree_commit *c, const bson_oid_t *id, const bson_value_t *parent,
                          const char *name, const ash_tree_entry *e)
{
    bson_t *doc = bson_new();
    bson_iter_t it;
    ash__document_begin(doc, id, parent, name, 1);
    if (bson_iter_init(&it, e->doc))
        while (bson_iter_next(&it))
            if (!is_of_entry(bson_iter_key(&it)))
                bson_append_iter(doc, NULL, 0, &it);
    bson_append_date_time(doc, "created_at", 10, c->now_ms);
    ash__document_changed_by(c, doc);
    return doc;
}

/* The contents are there, and get the new entries as owners. */
static int hold(ash_tree_commit *c, copy_call *call, const ash_tree_subtree *s, ash_error *err)
{
    ash_content_use *uses = ash__alloc_array(s->count, sizeof *uses);
    bson_value_t *owners = ash__alloc_array(s->count, sizeof *owners);
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i]->content.id.len == 0)
            continue;
        owners[n] = (bson_value_t){.value_type = BSON_TYPE_OID, .value.v_oid = *new_id(call, i)};
        uses[n] = (ash_content_use){s->items[i]->content.id, &owners[n]};
        n++;
    }
    int rc = ash__commit_hold(c, uses, n, err);
    ash__free(owners);
    ash__free(uses);
    return rc;
}

static int insert_copies(ash_tree_commit *c, copy_call *call, const ash_tree_subtree *s,
                         const ash_tree_entry *folder, ash_error *err)
{
    bson_t **made = ash__alloc_array(s->count, sizeof *made);
    for (size_t i = 0; i < s->count; i++) {
        bool top = s->parents[i] == SIZE_MAX;
        bson_value_t parent = folder->id;
        if (!top)
            parent = (bson_value_t){.value_type = BSON_TYPE_OID,
                                    .value.v_oid = *new_id(call, s->parents[i])};
        made[i] =
            build_copy(c, new_id(call, i), &parent,
                       top ? call->to->names[call->to->count - 1] : s->items[i]->name, s->items[i]);
    }
    int rc = ash__commit_insert_all(c, made, s->count, err);
    if (rc == 0)
        rc = ash__entry_new(bson_copy(made[0]), &call->entry, err);
    if (rc == 0)
        ash__entry_set_path(call->entry, folder->path);
    for (size_t i = 0; i < s->count; i++)
        bson_destroy(made[i]);
    ash__free(made);
    return rc;
}

/* Onto a file that is there: its new version. */
static int copy_onto(ash_tree_commit *c, copy_call *call, const ash_tree_entry *source,
                     ash_tree_entry *there, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    ash_content_use holds = {source->content.id, &there->id};
    ash_content_use goes = {there->content.id, &there->id};
    if (source->is_folder || there->is_folder)
        return ash__fail(err, ASH_EEXISTS, "%s is there already, and folders are not replaced",
                         there->path);
    ash__restored_fields(source, &set);
    int rc = ash__commit_conditions(c, there, err);
    bool says = ash__entry_says(there, &set), same = ash__content_id_equal(&holds.id, &goes.id);
    if (rc == 0 && says)
        call->entry = ash_tree_entry_copy(there);
    if (rc == 0 && !same && holds.id.len != 0)
        rc = ash__contents_hold(c->tree->contents, &holds, 1, &c->op, err);
    if (rc == 0 && !same && goes.id.len != 0)
        rc = ash__contents_let_go(c->tree->contents, &goes, 1, &c->op, err);
    if (rc == 0 && !says)
        rc = ash__commit_revise(c, there, &set, &call->entry, err);
    bson_destroy(&set);
    return rc;
}

static int copy_new(ash_tree_commit *c, copy_call *call, const ash_tree_subtree *s,
                    const ash_tree_entry *folder, ash_error *err)
{
    if (s->count > 1 && !c->opts->recursive)
        return ash__fail(err, ASH_ESTATE, "%s is a folder, and is not empty", s->items[0]->path);
    int rc = ash__commit_conditions(c, NULL, err);
    if (rc == 0)
        rc = ash__commit_claim(c, &folder->id, err);
    if (rc == 0)
        rc = hold(c, call, s, err);
    return rc == 0 ? insert_copies(c, call, s, folder, err) : rc;
}

/* The source as it was, with the rights to read all of it. */
static int read_source(ash_tree_commit *c, const copy_call *call, ash_tree_subtree *s,
                       ash_error *err)
{
    ash_tree_entry *top = NULL;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached;
    int rc = ash__tree_get(c->tree, call->from, &call->when, &c->op, &top, err);
    if (rc == 0 && c->op.principal != NULL) {
        ash_tree_entry *guard = NULL;
        rc = ash__tree_climb(c->tree, top, &c->op, &chain, &reached, err);
        if (rc == 0)
            rc = ash__acl_guard(c->tree, top, &c->op, &guard, err);
        if (rc == 0)
            ash__chain_add(&chain, guard);
    }
    if (rc == 0)
        rc = ash__subtree_read(c->tree, top, call->when.at_ms, &c->op, s, err);
    else
        ash_tree_entry_free(top);
    if (rc == 0)
        rc = ash__subtree_require(c->tree, s, &chain, ASH_TREE_READ, &c->op, err);
    ash__chain_release(&chain);
    return rc;
}

/* A folder copied into itself would never end. */
static int check_circle(const ash_tree_subtree *s, const ash_tree_chain *target, ash_error *err)
{
    for (size_t i = 0; i < target->count; i++)
        if (ash__same_id(&target->items[i]->id, &s->items[0]->id))
            return ash__fail(err, ASH_EINVAL, "%s cannot be copied into itself", s->items[0]->path);
    return 0;
}

static int copy_entry(ash_tree_commit *c, void *ctx, ash_error *err)
{
    copy_call *call = ctx;
    ash_tree_chain target = ASH_TREE_CHAIN_INIT;
    ash_tree_subtree source = ASH_TREE_SUBTREE_INIT;
    ash_tree_entry *there = NULL;
    ash_tree_entry_free(call->entry);
    call->entry = NULL;
    const char *name = call->to->count > 0 ? call->to->names[call->to->count - 1] : "";
    int rc = read_source(c, call, &source, err);
    if (rc == 0)
        rc = ash__commit_folder(c, call->to, &target, err);
    if (rc == 0)
        rc = ash__tree_require(&target, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    if (rc == 0)
        rc = check_circle(&source, &target, err);
    if (rc == 0)
        rc = ash__tree_child(c->tree, ash__chain_last(&target), name, &c->op, &there, err);
    if (rc == 0 && there == NULL) {
        rc = copy_new(c, call, &source, ash__chain_last(&target), err);
    } else if (rc == 0 && !c->opts->replace) {
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already", there->path);
    } else if (rc == 0) {
        ash__chain_add(&target, ash_tree_entry_copy(there));
        rc = ash__tree_require(&target, ASH_TREE_WRITE, &c->op, err);
        if (rc == 0)
            rc = copy_onto(c, call, source.items[0], there, err);
    }
    ash_tree_entry_free(there);
    ash__subtree_release(&source);
    ash__chain_release(&target);
    return rc;
}

int ash_tree_copy(ash_tree *tree, const char *from, const ash_tree_when *when, const char *to,
                  const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                  ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    copy_call call = {.from = from, .to = &parts};
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__options_copy(&call.when, sizeof call.when, when, err);
    if (rc == 0)
        rc = ash__tree_path_parse(to, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, copy_entry, &call, err);
    ash__tree_give(rc, call.entry, entry);
    ash__tree_path_release(&parts);
    ash__free(call.ids);
    return rc;
}
