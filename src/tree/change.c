/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of every change, and what several kinds of change do in it. */
#include "tree/change.h"

#include "base/mem.h"
#include "base/options.h"
#include "base/text.h"
#include "bucket/bucket.h"
#include "store/transaction.h"
#include "tree/acl.h"

#include <string.h>

/* ---- indexes ---- */

static int create_indexes(ash_collection *c, const bson_t *specs, const ash_op *op, ash_error *err)
{
    return ash_collection_create_indexes(c, specs, op, NULL, err);
}

/* Roots have neither field: a sparse index leaves them out.  Databases of v7files may have several
 * files of one name in a folder; then the index only helps to find them, and that no more are made
 * is seen to by looking, in the commit. */
static int index_names(ash_tree *tree, const ash_op *op, ash_error *err)
{
    bson_t *unique = BCON_NEW("0", "{", "key", "{", "parent", BCON_INT32(1), "filename",
                              BCON_INT32(1), "}", "name", BCON_UTF8("parent_1_filename_1"),
                              "unique", BCON_BOOL(true), "sparse", BCON_BOOL(true), "}");
    ash_error own = ASH_ERROR_INIT;
    int rc = create_indexes(tree->current, unique, op, &own);
    bson_destroy(unique);
    if (rc == 0)
        return 0;
    if (rc != ASH_EEXISTS) {
        if (err != NULL)
            *err = own;
        return rc;
    }
    bson_t *plain =
        BCON_NEW("0", "{", "key", "{", "parent", BCON_INT32(1), "filename", BCON_INT32(1), "_id",
                 BCON_INT32(1), "}", "name", BCON_UTF8("parent_1_filename_1__id_1"), "}");
    rc = create_indexes(tree->current, plain, op, err);
    bson_destroy(plain);
    return rc;
}

static int index_rest(ash_tree *tree, const ash_op *op, ash_error *err)
{
    bson_t *current = BCON_NEW("0", "{", "key", "{", "sha", BCON_INT32(1), "}", "name",
                               BCON_UTF8("sha_1"), "sparse", BCON_BOOL(true), "}");
    bson_t *past =
        BCON_NEW("0", "{", "key", "{", "sha", BCON_INT32(1), "}", "name", BCON_UTF8("sha_1"),
                 "sparse", BCON_BOOL(true), "}", "1", "{", "key", "{", "parent", BCON_INT32(1),
                 "filename", BCON_INT32(1), "until", BCON_INT32(1), "}", "name",
                 BCON_UTF8("parent_1_filename_1_until_1"), "sparse", BCON_BOOL(true), "}", "2", "{",
                 "key", "{", "deleted_at", BCON_INT32(1), "}", "name", BCON_UTF8("deleted_at_1"),
                 "sparse", BCON_BOOL(true), "}", "3", "{", "key", "{", "gone_with", BCON_INT32(1),
                 "}", "name", BCON_UTF8("gone_with_1"), "sparse", BCON_BOOL(true), "}");
    int rc = create_indexes(tree->current, current, op, err);
    if (rc == 0)
        rc = create_indexes(tree->past, past, op, err);
    bson_destroy(current);
    bson_destroy(past);
    return rc;
}

static int refuse_read_only(const ash_tree *tree, ash_error *err)
{
    return ash__fail(err, ASH_EUNSUPPORTED, "the tree in %s.%s is read only: %s", tree->db,
                     ash_collection_name(tree->current),
                     strcmp(ash_collection_name(tree->current), "v7files.files") == 0
                         ? "v7files' last generation can be copied into a tree of today"
                         : "its store has no transactions");
}

int ash_tree_prepare(ash_tree *tree, const ash_op *op, ash_error *err)
{
    if (tree->read_only)
        return refuse_read_only(tree, err);
    return atomic_load(&tree->prepared) ? 0 : ash__tree_prepare_anew(tree, op, err);
}

int ash__tree_prepare_anew(ash_tree *tree, const ash_op *op, ash_error *err)
{
    ash_op own = ash__op_of(op);
    if (tree->read_only)
        return refuse_read_only(tree, err);
    if (own.transaction != NULL)
        return ash__fail(err, ASH_ESTATE,
                         "collections and indexes cannot be made in a transaction: call "
                         "ash_tree_prepare() before it");
    int rc = index_names(tree, &own, err);
    if (rc == 0)
        rc = index_rest(tree, &own, err);
    if (rc == 0)
        rc = ash__contents_prepare_anew(tree->contents, &own, err);
    if (rc == 0)
        atomic_store(&tree->prepared, true);
    return rc;
}

/* ---- the transaction ---- */

typedef struct change_call {
    ash_tree_commit commit;
    ash_tree_commit_fn fn;
    void *ctx;
} change_call;

static int change(change_call *call, ash_error *err)
{
    call->commit.too_many = false;
    int rc = call->fn(&call->commit, call->ctx, err);
    if (rc == 0)
        rc = ash__account_settle(&call->commit, err);
    ash__account_release(&call->commit.account);
    return rc;
}

static int run(ash_transaction *t, void *ctx, ash_error *err)
{
    change_call *call = ctx;
    call->commit.op.transaction = t;
    return change(call, err);
}

int ash__tree_change_options(ash_tree_change_options *ours, const ash_tree_change_options *theirs,
                             ash_error *err)
{
    int rc = ash__options_copy(ours, sizeof *ours, theirs, err);
    if (rc == 0 && ours->props != NULL && ours->props->len > ASH_TREE_PROPS_MAX)
        rc = ash__fail(err, ASH_ETOOBIG, "properties of %u bytes are over %d", ours->props->len,
                       ASH_TREE_PROPS_MAX);
    return rc;
}

/* In a transaction of its own, or in the caller's. */
static int transact(change_call *call, ash_error *err)
{
    ash_tree_commit *c = &call->commit;
    ash_transaction *joined = c->op.transaction;
    int rc = ash_tree_prepare(c->tree, &c->op, err);
    if (rc == 0)
        rc = ash_store_time(c->tree->store, &c->now_ms, NULL, err);
    if (rc != 0)
        return rc;
    if (joined == NULL) {
        ash_op own = c->op;
        return ash_store_transact(c->tree->store, run, call, &own, err);
    }
    c->whole = true;
    rc = change(call, err);
    /* Nobody can tell how far it came: the caller's transaction must not be committed. */
    if (rc != 0)
        ash__transaction_break(joined);
    return rc;
}

const char *ash__tree_author(const ash_tree_change_options *opts, const char *user)
{
    return opts->written_by != NULL ? opts->written_by : user != NULL ? user : opts->changed_by;
}

char *ash__tree_user(const ash_op *op)
{
    const ash_principal *p = op != NULL ? op->principal : NULL;
    return p != NULL && p->user != NULL ? ash__text_user(p->user, p->db) : NULL;
}

int ash__tree_change(ash_tree *tree, const ash_tree_change_options *opts, const ash_op *op,
                     ash_tree_commit_fn fn, void *ctx, ash_error *err)
{
    change_call call = {
        .commit = {.tree = tree, .op = ash__op_of(op), .opts = opts}, .fn = fn, .ctx = ctx};
    char *who = ash__tree_user(&call.commit.op);
    call.commit.changed_by = opts->changed_by != NULL ? opts->changed_by : who;
    call.commit.author = ash__tree_author(opts, who);
    int rc = transact(&call, err);
    ash__free(who);
    return rc;
}

/* ---- claims ---- */

/* A document that is made and removed again: two transactions that do so conflict. */
static int claim(ash_tree_commit *c, const char *kind, const bson_value_t *id, ash_error *err)
{
    if (c->tree->serial)
        return 0;
    bson_t doc = BSON_INITIALIZER, key;
    bson_append_document_begin(&doc, "_id", 3, &key);
    if (id != NULL)
        bson_append_value(&key, kind, -1, id);
    else
        bson_append_bool(&key, kind, -1, true);
    bson_append_document_end(&doc, &key);
    ash_insert_options io = ASH_INSERT_OPTIONS_INIT;
    ash_remove_options ro = ASH_REMOVE_OPTIONS_INIT;
    io.op = ro.op = c->op;
    int rc = ash_collection_insert_one(c->tree->past, &doc, &io, err);
    if (rc == ASH_EEXISTS)
        rc = 0; /* this very transaction has it already: it claimed and removed it before */
    if (rc == 0)
        rc = ash_collection_remove(c->tree->past, &doc, &ro, NULL, err);
    bson_destroy(&doc);
    return rc;
}

int ash__commit_claim(ash_tree_commit *c, const bson_value_t *id, ash_error *err)
{
    return claim(c, "folder", id, err);
}

int ash__commit_claim_shape(ash_tree_commit *c, ash_error *err)
{
    return claim(c, "shape", NULL, err);
}

/* ---- looking ---- */

int ash__commit_entry(ash_tree_commit *c, const ash_tree_path *path, ash_tree_chain *chain,
                      ash_error *err)
{
    return ash__tree_walk_all(c->tree, path, 0, &c->op, chain, err);
}

int ash__commit_conditions(ash_tree_commit *c, const ash_tree_entry *e, ash_error *err)
{
    const ash_tree_change_options *o = c->opts;
    if (e == NULL && (o->if_version != 0 || o->if_digest != NULL))
        return ash__fail(err, ASH_ECONFLICT, "it is not there any more");
    if (e != NULL && o->if_version != 0 && e->version != o->if_version)
        return ash__fail(err, ASH_ECONFLICT, "%s has version %d by now, not %d", e->path,
                         e->version, o->if_version);
    if (e != NULL && o->if_digest != NULL && strcmp(e->digest, o->if_digest) != 0)
        return ash__fail(err, ASH_ECONDITION, "%s has other contents: %s", e->path, e->digest);
    return ash__commit_fence(c, err);
}

/* ---- documents ---- */

void ash__document_begin(bson_t *doc, const bson_oid_t *id, const bson_value_t *parent,
                         const char *name, int32_t version)
{
    bson_append_oid(doc, "_id", 3, id);
    bson_append_int32(doc, "_version", 8, version);
    bson_append_value(doc, "parent", 6, parent);
    bson_append_utf8(doc, "filename", 8, name, -1);
}

void ash__document_deleted_by(const ash_tree_commit *c, bson_t *doc)
{
    if (c->changed_by != NULL)
        bson_append_utf8(doc, "changed_by", 10, c->changed_by, -1);
}

static bool is_same_name(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static void append_people(const ash_tree_commit *c, const char *author, bson_t *doc)
{
    bool is_file = bson_has_field(doc, "sha") || bson_has_field(doc, "in");
    ash__document_deleted_by(c, doc);
    if (is_file && !is_same_name(author, c->changed_by))
        bson_append_utf8(doc, "written_by", 10, author != NULL ? author : "", -1);
}

void ash__document_changed_by(const ash_tree_commit *c, bson_t *doc)
{
    append_people(c, c->author, doc);
}

static void append_unless_null(bson_t *out, const bson_iter_t *it)
{
    if (!BSON_ITER_HOLDS_NULL(it))
        bson_append_iter(out, NULL, 0, it);
}

/* Those of before, with new values at their places, and new ones behind them; null takes one
 * away. */
static int merge_props(const bson_t *props, const ash_tree_entry *old, bson_t *set, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    bson_iter_t it, before, added, changed;
    if (old != NULL && ash__entry_field(old, "props", &it) && bson_iter_recurse(&it, &before))
        while (bson_iter_next(&before))
            append_unless_null(&all, bson_iter_init_find(&changed, props, bson_iter_key(&before))
                                         ? &changed
                                         : &before);
    if (!bson_iter_init(&added, props)) {
        bson_destroy(&all);
        return ash__fail(err, ASH_EINVAL, "properties are not a valid document");
    }
    while (bson_iter_next(&added))
        if (old == NULL || !ash__entry_field(old, "props", &it) ||
            !bson_iter_recurse(&it, &before) || !bson_iter_find(&before, bson_iter_key(&added)))
            append_unless_null(&all, &added);
    int rc = 0;
    if (all.len > ASH_TREE_PROPS_MAX)
        rc = ash__fail(err, ASH_ETOOBIG, "properties would have %u bytes, over %d", all.len,
                       ASH_TREE_PROPS_MAX);
    else if (bson_empty(&all))
        bson_append_null(set, "props", 5);
    else
        bson_append_document(set, "props", 5, &all);
    bson_destroy(&all);
    return rc;
}

int ash__document_set(const ash_tree_change_options *opts, const ash_tree_entry *old, bson_t *set,
                      ash_error *err)
{
    if (opts->content_type != NULL && opts->content_type[0] == '\0')
        bson_append_null(set, "contentType", 11);
    else if (opts->content_type != NULL)
        bson_append_utf8(set, "contentType", 11, opts->content_type, -1);
    if (opts->modified_ms != 0)
        bson_append_date_time(set, "modified_at", 11, opts->modified_ms);
    return opts->props != NULL ? merge_props(opts->props, old, set, err) : 0;
}

int ash__document_end(ash_tree_commit *c, bson_t *doc, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    bson_iter_t it;
    if (c->opts->content_type != NULL && c->opts->content_type[0] != '\0')
        bson_append_utf8(doc, "contentType", 11, c->opts->content_type, -1);
    bson_append_date_time(doc, "created_at", 10, c->now_ms);
    int rc = ash__document_set(c->opts, NULL, &set, err);
    if (rc == 0 && bson_iter_init(&it, &set))
        while (bson_iter_next(&it))
            if (!BSON_ITER_HOLDS_NULL(&it) && strcmp(bson_iter_key(&it), "contentType") != 0)
                bson_append_iter(doc, NULL, 0, &it);
    ash__document_changed_by(c, doc);
    bson_destroy(&set);
    return rc;
}

/* ---- writing ---- */

int ash__commit_insert(ash_tree_commit *c, const bson_t *doc, const char *folder_path,
                       ash_tree_entry **out, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = c->op;
    int rc = ash_collection_insert_one(c->tree->current, doc, &o, err);
    if (rc == ASH_EEXISTS)
        rc = ash__fail(err, ASH_EEXISTS, "somebody else has just taken the name");
    if (rc == 0)
        rc = ash__entry_new(bson_copy(doc), out, err);
    if (rc == 0)
        rc = ash__account_add(c, &(*out)->parent, (*out)->content.length, err);
    if (rc == 0)
        rc = ash__account_user(c, *out, (*out)->content.length, err);
    if (rc == 0 && folder_path != NULL)
        ash__entry_set_path(*out, folder_path);
    else if (rc == 0)
        (*out)->path = ash__strdup("/");
    return rc;
}

static int insert_batch(ash_tree_commit *c, bson_t *const *made, size_t count, ash_error *err)
{
    ash_doc *docs = ash__alloc_array(count, sizeof *docs);
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = c->op;
    for (size_t i = 0; i < count; i++)
        docs[i] = ash__doc_from_bson(made[i]);
    int rc = ash_collection_insert(c->tree->current, docs, count, &o, NULL, err);
    ash__free(docs);
    return rc;
}

static size_t batch_of(size_t left)
{
    return left < ASH_TREE_BATCH ? left : ASH_TREE_BATCH;
}

int ash__commit_insert_all(ash_tree_commit *c, bson_t *const *docs, size_t count, ash_error *err)
{
    int rc = ash__account_documents(c, docs, count, err);
    for (size_t i = 0; rc == 0 && i < count; i += ASH_TREE_BATCH)
        rc = insert_batch(c, docs + i, batch_of(count - i), err);
    return rc;
}

int ash__commit_hold(ash_tree_commit *c, const ash_content_use *uses, size_t count, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i += ASH_TREE_BATCH)
        rc = ash__contents_hold(c->tree->contents, uses + i, batch_of(count - i), &c->op, err);
    return rc;
}

/* The document as the history has it. */
static void append_past(const ash_tree_commit *c, const ash_tree_entry *e, bson_t *out)
{
    bson_iter_t it;
    ash__tree_append_version_id(out, "_id", &e->id, e->version);
    if (bson_iter_init(&it, e->doc))
        while (bson_iter_next(&it))
            if (strcmp(bson_iter_key(&it), "_id") != 0 &&
                strcmp(bson_iter_key(&it), "until") != 0 &&
                strcmp(bson_iter_key(&it), "gone_with") != 0)
                bson_append_iter(out, NULL, 0, &it);
    bson_append_date_time(out, "until", 5, c->now_ms);
    if (c->gone_with != NULL)
        ash__tree_append_gone_with(out, "gone_with", c->gone_with, &e->parent);
}

static void append_deletion(const ash_tree_commit *c, const ash_tree_entry *e, bson_t *out)
{
    char text[32];
    snprintf(text, sizeof text, "deleted:%d", e->version + 1);
    ash__tree_append_version_id(out, "_id", &e->id, e->version + 1);
    bson_append_utf8(out, "_version", 8, text, -1);
    bson_append_date_time(out, "deleted_at", 10, c->now_ms);
    ash__document_deleted_by(c, out);
}

/* What v7files left there when it was cut off between a history and its version, or before a
 * deletion: it would be in the way for ever. */
static int clear_way(ash_tree_commit *c, const ash_doc *docs, size_t count, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, in, ids;
    ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
    o.op = c->op;
    bson_append_document_begin(&filter, "_id", 3, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < count; i++) {
        bson_t view;
        bson_iter_t it;
        char buf[12];
        const char *key;
        size_t len = bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        ash__doc_to_bson(docs[i], &view);
        if (bson_iter_init_find(&it, &view, "_id"))
            bson_append_iter(&ids, key, (int)len, &it);
    }
    bson_append_array_end(&in, &ids);
    bson_append_document_end(&filter, &in);
    int rc = ash_collection_remove(c->tree->past, &filter, &o, NULL, err);
    bson_destroy(&filter);
    return rc;
}

int ash__commit_bury(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count,
                     ash_error *err)
{
    size_t n = 0;
    bson_t **made = ash__alloc_array(count * 2, sizeof *made);
    ash_doc *docs = ash__alloc_array(count * 2, sizeof *docs);
    for (size_t i = 0; i < count; i++) {
        append_past(c, entries[i], made[n++] = bson_new());
        append_deletion(c, entries[i], made[n++] = bson_new());
    }
    for (size_t i = 0; i < n; i++)
        docs[i] = ash__doc_from_bson(made[i]);
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = c->op;
    int rc = count > 0 ? clear_way(c, docs, n, err) : 0;
    if (rc == 0 && count > 0)
        rc = ash_collection_insert(c->tree->past, docs, n, &o, NULL, err);
    for (size_t i = 0; i < n; i++)
        bson_destroy(made[i]);
    ash__free(made);
    ash__free(docs);
    return rc;
}

/* Fields that each version has of its own. */
bool ash__field_is_of_version(const char *field)
{
    return strcmp(field, "_version") == 0 || strcmp(field, "updated_at") == 0 ||
           strcmp(field, "changed_by") == 0 || strcmp(field, "written_by") == 0 ||
           strcmp(field, "tags") == 0 || strcmp(field, "tagged") == 0 ||
           strcmp(field, "restored") == 0 || strcmp(field, "until") == 0 ||
           strcmp(field, "gone_with") == 0;
}

/* Other bytes, rather than the same ones at another place or with another type. */
static bool writes_bytes(const ash_tree_entry *old, const bson_t *set)
{
    static const char *const fields[] = {"sha", "in"};
    bson_iter_t it, before;
    for (size_t i = 0; i < ASH_ARRAY_LEN(fields); i++)
        if (bson_iter_init_find(&it, set, fields[i]) && !BSON_ITER_HOLDS_NULL(&it) &&
            (!ash__entry_field(old, fields[i], &before) ||
             !ash__value_identical(ash__value_of_iter(&it), ash__value_of_iter(&before))))
            return true;
    return false;
}

static bson_t *build_revision(const ash_tree_commit *c, const ash_tree_entry *old,
                              const bson_t *set)
{
    bson_t *doc = bson_new();
    bson_iter_t it, other;
    bson_append_value(doc, "_id", 3, &old->id);
    bson_append_int32(doc, "_version", 8, old->version + 1);
    if (bson_iter_init(&it, old->doc))
        while (bson_iter_next(&it)) {
            const char *key = bson_iter_key(&it);
            if (strcmp(key, "_id") == 0 || ash__field_is_of_version(key))
                continue;
            append_unless_null(doc, bson_iter_init_find(&other, set, key) ? &other : &it);
        }
    if (bson_iter_init(&it, set))
        while (bson_iter_next(&it))
            if (!bson_has_field(old->doc, bson_iter_key(&it)) ||
                ash__field_is_of_version(bson_iter_key(&it)))
                append_unless_null(doc, &it);
    bson_append_date_time(doc, "updated_at", 10, c->now_ms);
    append_people(c, writes_bytes(old, set) ? c->author : ash_tree_entry_written_by(old), doc);
    return doc;
}

/* The version is in the filter although it was looked at: where transactions are not serial, and
 * through a server, this is what somebody else's change is noticed by. */
static int replace(ash_tree_commit *c, const ash_tree_entry *old, const bson_t *doc, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_iter_t it;
    ash_write_result_init(&result);
    o.op = c->op;
    ash__filter_id(&filter, "_id", &old->id);
    if (ash__entry_field(old, "_version", &it))
        bson_append_iter(&filter, "_version", 8, &it);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(doc);
    value.value.v_doc.data_len = doc->len;
    int rc = ash_collection_update(c->tree->current, &filter, &value, &o, &result, err);
    if (rc == ASH_EEXISTS)
        rc = ash__fail(err, ASH_EEXISTS, "somebody else has just taken the name");
    if (rc == 0 && result.matched != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "%s was changed meanwhile", old->path);
    ash_write_result_release(&result);
    bson_destroy(&filter);
    return rc;
}

/* By an upsert: v7files wrote the history before the version, so that a crash left a document which
 * made every later change of the file fail. */
static int bury_one(ash_tree_commit *c, const ash_tree_entry *old, ash_error *err)
{
    bson_t past = BSON_INITIALIZER, filter = BSON_INITIALIZER, eq;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    append_past(c, old, &past);
    bson_append_document_begin(&filter, "_id", 3, &eq);
    ash__tree_append_version_id(&eq, "$eq", &old->id, old->version);
    bson_append_document_end(&filter, &eq);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&past);
    value.value.v_doc.data_len = past.len;
    o.op = c->op;
    o.upsert = true;
    int rc = ash_collection_update(c->tree->past, &filter, &value, &o, NULL, err);
    bson_destroy(&filter);
    bson_destroy(&past);
    return rc;
}

/* It has other bytes, or another one's, or comes to lie elsewhere. */
static int account_revision(ash_tree_commit *c, const ash_tree_entry *old, const ash_tree_entry *e,
                            ash_error *err)
{
    int rc = 0;
    if (e->parent.value_type != BSON_TYPE_EOD && !ash__same_id(&e->parent, &old->parent))
        rc = ash__account_move(c, old, &e->parent, err);
    if (rc == 0)
        rc = ash__account_add(c, &e->parent, e->content.length - old->content.length, err);
    if (rc == 0)
        rc = ash__account_user(c, old, -old->content.length, err);
    return rc == 0 ? ash__account_user(c, e, e->content.length, err) : rc;
}

int ash__commit_revise(ash_tree_commit *c, const ash_tree_entry *old, const bson_t *set,
                       ash_tree_entry **out, ash_error *err)
{
    ash_tree_entry *made = NULL;
    *out = NULL;
    bson_t *doc = build_revision(c, old, set);
    if (old->version == 0) { /* a root that had none */
        int inserted = ash__commit_insert(c, doc, NULL, out, err);
        bson_destroy(doc);
        return inserted;
    }
    int rc = ash__entry_new(doc, &made, err);
    if (rc == 0)
        rc = account_revision(c, old, made, err);
    if (rc == 0)
        rc = bury_one(c, old, err);
    if (rc == 0)
        rc = replace(c, old, made->doc, err);
    if (rc == 0)
        made->path = ash__strdup(old->path);
    ash__tree_give(rc, made, out);
    return rc;
}
