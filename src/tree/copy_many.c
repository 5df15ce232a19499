/* SPDX-License-Identifier: Apache-2.0 */
/* A copy that is too much for one commit.
 *
 * What the source was at one moment is listed, and comes to lie where nobody looks, some at a time;
 * the last commit puts the folder at its place, as if all had come at once. */
#include "tree/copy.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"
#include "tree/get.h"
#include "tree/history.h"
#include "tree/quota.h"

#include <string.h>

enum { BATCH = ASH_TREE_BATCH };

typedef struct copying {
    ash_tree *tree;
    ash_tree_copying *call;
    const ash_tree_change_options *opts;
    ash_op op;
    bson_oid_t id;        /* of the copy */
    int64_t at_ms;        /* of the source */
    ash_tree_entry *top;  /* the source */
    ash_tree_chain above; /* down to the folder that the listing is in, … */
    bson_oid_t *copies;   /* … and the copies of those of them that are copied, … */
    size_t count, capacity;
    size_t outside; /* … which are all but so many */
    int64_t bytes;  /* of the copy */
    ash_tree_entries batch;
    bson_oid_t ids[BATCH], parents[BATCH]; /* of the batch's copies */
} copying;

static bson_value_t value_of(const bson_oid_t *id)
{
    return (bson_value_t){.value_type = BSON_TYPE_OID, .value.v_oid = *id};
}

/* {_id: the copy, parent: COPIES}: it is not visible yet, and was not given up. */
static void filter_copy(const copying *m, bson_t *filter)
{
    BSON_APPEND_OID(filter, "_id", &m->id);
    BSON_APPEND_UTF8(filter, "parent", ASH_TREE_COPIES);
}

/* By operators, or the whole document. */
static int update_copy(ash_tree_commit *c, const copying *m, const bson_t *update, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    o.op = c->op;
    filter_copy(m, &filter);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    int rc = ash_collection_update(c->tree->current, &filter, &value, &o, &result, err);
    if (rc == ASH_EEXISTS)
        rc = ash__fail(err, ASH_EEXISTS, "somebody else has just taken the name");
    if (rc == 0 && result.matched != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "the copy was collected while it was made");
    ash_write_result_release(&result);
    bson_destroy(&filter);
    return rc;
}

/* ---- the first commit ---- */

static int begin(ash_tree_commit *c, void *ctx, ash_error *err)
{
    copying *m = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    const ash_tree_path *to = m->call->to;
    bson_t doc = BSON_INITIALIZER;
    char name[25];
    bson_value_t root = {.value_type = BSON_TYPE_UTF8};
    root.value.v_utf8.str = (char *)(uintptr_t)ASH_TREE_COPIES;
    root.value.v_utf8.len = sizeof ASH_TREE_COPIES - 1;
    int rc = ash__tree_walk(c->tree, to, 0, &c->op, &chain, err);
    if (rc == 0 && chain.count > to->count)
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already", ash__chain_last(&chain)->path);
    if (rc == 0 && chain.count < to->count && !c->opts->make_folders)
        rc = ash__tree_say_missing(to, chain.count, 0, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE | ASH_TREE_ENTER, &c->op, err);
    if (rc == 0)
        rc = ash__copy_refuse_circle(m->call, &m->top->id, &chain, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, NULL, err);
    bson_oid_to_string(&m->id, name);
    ash__document_begin(&doc, &m->id, &root, name, 1);
    BSON_APPEND_DATE_TIME(&doc, "created_at", c->now_ms);
    BSON_APPEND_DATE_TIME(&doc, "copying_at", c->now_ms);
    bson_t *one = &doc;
    if (rc == 0)
        rc = ash__commit_insert_all(c, &one, 1, err);
    bson_destroy(&doc);
    ash__chain_release(&chain);
    return rc;
}

/* ---- those between ---- */

static int insert_batch(ash_tree_commit *c, const copying *m, ash_error *err)
{
    size_t count = m->batch.count, used = 0;
    bson_t **made = ash__alloc_array(count, sizeof *made);
    bson_value_t *owners = ash__alloc_array(count, sizeof *owners);
    ash_content_use *uses = ash__alloc_array(count, sizeof *uses);
    for (size_t i = 0; i < count; i++) {
        const ash_tree_entry *e = m->batch.items[i];
        const bson_value_t parent = value_of(&m->parents[i]);
        owners[i] = value_of(&m->ids[i]);
        if (e->content.id.len != 0)
            uses[used++] = (ash_content_use){e->content.id, &owners[i]};
        made[i] = ash__copied_document(c, &m->ids[i], &parent, e->name, e);
    }
    int rc = ash__commit_hold(c, uses, used, err);
    if (rc == 0)
        rc = ash__commit_insert_all(c, made, count, err);
    for (size_t i = 0; i < count; i++)
        bson_destroy(made[i]);
    ash__free(uses);
    ash__free(owners);
    ash__free(made);
    return rc;
}

/* Told as soon as it is known; the last commit looks at what the quotas are then.  Whose the copy is has
 * its files already as they come. */
static int require_room(ash_tree_commit *c, const copying *m, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    int rc = ash__tree_walk(c->tree, m->call->to, 0, &c->op, &chain, err);
    if (rc == 0)
        rc = ash__quota_require(c->tree, &chain, NULL, m->bytes, &c->op, err);
    ash__chain_release(&chain);
    return rc;
}

static int copy_batch(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const copying *m = ctx;
    bson_t *now = BCON_NEW("$set", "{", "copying_at", BCON_DATE_TIME(c->now_ms), "}");
    int rc = require_room(c, m, err);
    if (rc == 0)
        rc = update_copy(c, m, now, err);
    if (rc == 0)
        rc = insert_batch(c, m, err);
    bson_destroy(now);
    return rc;
}

static int commit_batch(copying *m, ash_error *err)
{
    ash_op op = m->op;
    /* The last commit waits for the disk, and for all before it. */
    op.durability = ASH_DURABILITY_INTERVAL;
    int rc = m->batch.count > 0 ? ash__tree_change(m->tree, m->opts, &op, copy_batch, m, err) : 0;
    ash__entries_release(&m->batch);
    return rc;
}

/* ---- the last one ---- */

static int end(ash_tree_commit *c, void *ctx, ash_error *err)
{
    copying *m = ctx;
    ash_tree_chain target = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *there = NULL;
    bson_t *doc = NULL;
    const char *name = m->call->to->names[m->call->to->count - 1];
    ash_tree_entry_free(m->call->entry);
    m->call->entry = NULL;
    int rc = ash__copy_target(c, m->call, &m->top->id, &target, err);
    if (rc == 0)
        rc = ash__tree_child(c->tree, ash__chain_last(&target), name, &c->op, &there, err);
    if (rc == 0 && there != NULL)
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already", there->path);
    if (rc == 0)
        rc = ash__commit_conditions(c, NULL, err);
    if (rc == 0)
        rc = ash__commit_claim(c, &ash__chain_last(&target)->id, err);
    if (rc == 0)
        rc = ash__account_add(c, &ash__chain_last(&target)->id, m->bytes, err);
    if (rc == 0) {
        doc = ash__copied_document(c, &m->id, &ash__chain_last(&target)->id, name, m->top);
        rc = update_copy(c, m, doc, err);
    }
    if (rc == 0)
        rc = ash__entry_new(bson_copy(doc), &m->call->entry, err);
    if (rc == 0)
        ash__entry_set_path(m->call->entry, ash__chain_last(&target)->path);
    bson_destroy(doc);
    ash_tree_entry_free(there);
    ash__chain_release(&target);
    return rc;
}

/* ---- going through the source ---- */

/* e: as long below the copy as below the source. */
static int check_path(const copying *m, const ash_tree_entry *e, ash_error *err)
{
    const char *below = e->path + (strcmp(m->top->path, "/") == 0 ? 0 : strlen(m->top->path));
    size_t names = m->call->to->count, bytes = strlen(below);
    for (size_t i = 0; i < m->call->to->count; i++)
        bytes += 1 + strlen(m->call->to->names[i]);
    for (const char *p = below; (p = strchr(p, '/')) != NULL; p++)
        names++;
    return bytes <= ASH_TREE_PATH_MAX && names <= ASH_TREE_DEPTH_MAX
               ? 0
               : ash__fail(err, ASH_ETOOBIG,
                           "the copy of %.256s would have a path that is longer than one may be",
                           e->name);
}

static void leave_folders(copying *m, const bson_value_t *until)
{
    while (m->count > 1 && !ash__same_id(&ash__chain_last(&m->above)->id, until)) {
        ash_tree_entry_free(ash__chain_take(&m->above));
        m->count--;
    }
}

static void enter(copying *m, const ash_tree_entry *e, const bson_oid_t *copy)
{
    ash_tree_entry *own = ash_tree_entry_copy(e);
    ash__free(own->path); /* those of a long chain come to too much */
    own->path = NULL;
    ash__chain_add(&m->above, own);
    m->copies = ash__grow_array(m->copies, m->count, &m->capacity, sizeof *m->copies);
    m->copies[m->count++] = *copy;
}

static int may_read(copying *m, const ash_tree_entry *e, ash_error *err)
{
    if (m->op.principal == NULL)
        return 0;
    ash__chain_add(&m->above, ash_tree_entry_copy(e));
    int rc = ash__tree_require_at(m->tree, &m->above, m->at_ms, ASH_TREE_READ, &m->op, err);
    ash_tree_entry_free(ash__chain_take(&m->above));
    return rc;
}

static int visit(copying *m, const ash_tree_entry *e, ash_error *err)
{
    size_t i = m->batch.count;
    leave_folders(m, &e->parent);
    int rc = check_path(m, e, err);
    if (rc == 0)
        rc = may_read(m, e, err);
    if (rc != 0)
        return rc;
    bson_oid_init(&m->ids[i], NULL);
    m->parents[i] = m->copies[m->count - 1];
    ash__add_length(&m->bytes, e->content.length);
    ash__entries_add(&m->batch, ash_tree_entry_copy(e));
    if (e->is_folder)
        enter(m, e, &m->ids[i]);
    return m->batch.count == BATCH ? commit_batch(m, err) : 0;
}

static int go_through(copying *m, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_op everybody = m->op; /* what he may not see may not be left out unnoticed */
    everybody.principal = NULL;
    o.recursive = true;
    o.at_ms = m->at_ms;
    int rc = ash_tree_list(m->tree, m->top->path, &o, &everybody, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        rc = visit(m, e, err);
    if (rc == 0)
        rc = commit_batch(m, err);
    ash_tree_listing_free(l);
    return rc;
}

/* Of now: what is changed from here on is changed later. */
static int choose_moment(copying *m, ash_error *err)
{
    int64_t now = 0;
    m->at_ms = m->call->when.at_ms;
    if (m->at_ms != 0)
        return 0;
    int rc = ash_store_time(m->tree->store, &m->at_ms, NULL, err);
    for (now = m->at_ms; rc == 0 && now == m->at_ms;) {
        ash__clock_sleep_ms(1);
        rc = ash_store_time(m->tree->store, &now, NULL, err);
    }
    return rc;
}

/* The chain down to the source as it is guarded today, and the source as what is copied. */
static int find_source(copying *m, ash_error *err)
{
    ash_tree_when when = m->call->when;
    ash_tree_entry *guard = NULL;
    bool reached;
    when.at_ms = m->at_ms;
    int rc = ash__tree_get(m->tree, m->call->from, &when, &m->op, &m->top, err);
    if (rc == 0)
        rc = ash__tree_climb(m->tree, m->top, &m->op, &m->above, &reached, err);
    if (rc == 0)
        rc = ash__acl_guard(m->tree, m->top, &m->op, &guard, err);
    if (rc != 0)
        return rc;
    ash__chain_add(&m->above, guard);
    m->copies = ash__grow_array(m->copies, m->count, &m->capacity, sizeof *m->copies);
    m->copies[m->count++] = m->id;
    return ash__tree_require(&m->above, ASH_TREE_READ, &m->op, err);
}

int ash__copy_many(ash_tree *tree, ash_tree_copying *call, const ash_tree_change_options *opts,
                   const ash_op *op, ash_error *err)
{
    copying *m = ash__new(copying);
    m->tree = tree;
    m->call = call;
    m->opts = opts;
    m->op = ash__op_of(op);
    bson_oid_init(&m->id, NULL);
    int rc = choose_moment(m, err);
    if (rc == 0)
        rc = find_source(m, err);
    if (rc == 0)
        rc = ash__tree_change(tree, opts, &m->op, begin, m, err);
    bool began = rc == 0;
    if (rc == 0)
        rc = go_through(m, err);
    if (rc == 0)
        rc = ash__tree_change(tree, opts, &m->op, end, m, err);
    if (rc != 0 && began) /* where that fails, too, a collection does it */
        (void)ash__copy_give_up(tree, &m->id, &m->op, NULL);
    ash__entries_release(&m->batch);
    ash__chain_release(&m->above);
    ash_tree_entry_free(m->top);
    ash__free(m->copies);
    ash__free(m);
    return rc;
}
