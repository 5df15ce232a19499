/* SPDX-License-Identifier: Apache-2.0 */
/* Copying: new documents that name the same contents, those of a small folder in one commit. */
#include "tree/copy.h"

#include "base/mem.h"
#include "base/options.h"
#include "tree/acl.h"
#include "tree/get.h"
#include "tree/restore.h"
#include "tree/set.h"
#include "tree/subtree.h"

#include <string.h>

typedef struct copy_call {
    ash_tree_copying what;
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
    static const char *const own[] = {"_id",        "_version",   "parent",    "filename",
                                      "created_at", "updated_at", "acl",       "changed_by",
                                      "tags",       "until",      "keep",      "deleted_at",
                                      "restored",   "tagged",     "gone_with", "written_by"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(own); i++)
        if (strcmp(field, own[i]) == 0)
            return true;
    return false;
}

bson_t *ash__copied_document(ash_tree_commit *c, const bson_oid_t *id, const bson_value_t *parent,
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
        made[i] = ash__copied_document(
            c, new_id(call, i), &parent,
            top ? call->what.to->names[call->what.to->count - 1] : s->items[i]->name, s->items[i]);
    }
    int rc = ash__commit_insert_all(c, made, s->count, err);
    if (rc == 0)
        rc = ash__entry_new(bson_copy(made[0]), &call->what.entry, err);
    if (rc == 0)
        ash__entry_set_path(call->what.entry, folder->path);
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
        call->what.entry = ash_tree_entry_copy(there);
    if (rc == 0 && !same && holds.id.len != 0)
        rc = ash__contents_hold(c->tree->contents, &holds, 1, &c->op, err);
    if (rc == 0 && !same && goes.id.len != 0)
        rc = ash__contents_let_go(c->tree->contents, &goes, 1, &c->op, err);
    if (rc == 0 && !says)
        rc = ash__commit_revise(c, there, &set, &call->what.entry, err);
    bson_destroy(&set);
    return rc;
}

static int copy_new(ash_tree_commit *c, copy_call *call, const ash_tree_subtree *s,
                    const ash_tree_entry *folder, ash_error *err)
{
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
    int rc = ash__tree_get(c->tree, call->what.from, &call->what.when, &c->op, &top, err);
    if (rc == 0 && c->op.principal != NULL) {
        ash_tree_entry *guard = NULL;
        rc = ash__tree_climb(c->tree, top, &c->op, &chain, &reached, err);
        if (rc == 0)
            rc = ash__acl_guard(c->tree, top, &c->op, &guard, err);
        if (rc == 0)
            ash__chain_add(&chain, guard);
    }
    if (rc == 0)
        rc = ash__subtree_read(c->tree, top, call->what.when.at_ms, &c->op, s, err);
    else
        ash_tree_entry_free(top);
    if (rc == 0 && !s->more)
        rc = ash__subtree_require(c->tree, s, &chain, ASH_TREE_READ, &c->op, err);
    ash__chain_release(&chain);
    return rc;
}

/* A folder copied into itself would never end. */
int ash__copy_refuse_circle(const ash_tree_copying *call, const bson_value_t *source,
                            const ash_tree_chain *target, ash_error *err)
{
    for (size_t i = 0; i < target->count; i++)
        if (ash__same_id(&target->items[i]->id, source))
            return ash__fail(err, ASH_EINVAL, "%s cannot be copied into itself", call->from);
    return 0;
}

int ash__copy_target(ash_tree_commit *c, const ash_tree_copying *call, const bson_value_t *source,
                     ash_tree_chain *target, ash_error *err)
{
    int rc = ash__commit_folder(c, call->to, target, err);
    if (rc == 0)
        rc = ash__tree_require(target, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    return rc == 0 ? ash__copy_refuse_circle(call, source, target, err) : rc;
}

/* What lies in the copy has paths, too. */
static int check_paths(const ash_tree_subtree *s, const ash_tree_path *to, ash_error *err)
{
    typedef struct reach {
        size_t names, bytes;
    } reach;
    reach *reaches = ash__alloc_array(s->count, sizeof *reaches);
    int rc = 0;
    for (size_t i = 0; i < to->count; i++)
        reaches[0].bytes += 1 + strlen(to->names[i]);
    reaches[0].names = to->count;
    for (size_t i = 1; rc == 0 && i < s->count; i++) {
        const reach *above = &reaches[s->parents[i]];
        reaches[i] = (reach){above->names + 1, above->bytes + 1 + strlen(s->items[i]->name)};
        if (reaches[i].names > ASH_TREE_DEPTH_MAX || reaches[i].bytes > ASH_TREE_PATH_MAX)
            rc = ash__fail(err, ASH_ETOOBIG,
                           "the copy of %.256s would have a path that is longer than one may be",
                           s->items[i]->name);
    }
    ash__free(reaches);
    return rc;
}

static int copy_entry(ash_tree_commit *c, void *ctx, ash_error *err)
{
    copy_call *call = ctx;
    ash_tree_chain target = ASH_TREE_CHAIN_INIT;
    ash_tree_subtree source = ASH_TREE_SUBTREE_INIT;
    ash_tree_entry *there = NULL;
    ash_tree_entry_free(call->what.entry);
    call->what.entry = NULL;
    const char *name =
        call->what.to->count > 0 ? call->what.to->names[call->what.to->count - 1] : "";
    source.max = call->what.whole ? 0 : c->tree->whole_max;
    source.finds_max = call->what.whole ? 0 : c->tree->finds_max;
    int rc = read_source(c, call, &source, err);
    if (rc == 0 && source.count > 1 && !c->opts->recursive)
        rc = ash__fail(err, ASH_ESTATE, "%s is a folder, and is not empty", source.items[0]->path);
    call->what.too_many = rc == 0 && source.more;
    if (rc != 0 || source.more) {
        ash__subtree_release(&source);
        return rc;
    }
    rc = check_paths(&source, call->what.to, err);
    if (rc == 0)
        rc = ash__copy_target(c, &call->what, &source.items[0]->id, &target, err);
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
    copy_call call = {.what = {.from = from, .to = &parts}};
    call.what.whole = ash__op_of(op).transaction != NULL;
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        rc = ash__options_copy(&call.what.when, sizeof call.what.when, when, err);
    if (rc == 0)
        rc = ash__tree_path_parse(to, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, copy_entry, &call, err);
    if (rc == 0 && call.what.too_many)
        rc = ash__copy_many(tree, &call.what, &o, op, err);
    ash__tree_give(rc, call.what.entry, entry);
    ash__tree_path_release(&parts);
    ash__free(call.ids);
    return rc;
}
