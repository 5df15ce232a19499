/* SPDX-License-Identifier: Apache-2.0 */
/* Files: new ones, and new versions.
 *
 * The bytes go to a content writer first, which knows at their end what they are called; then one
 * commit looks at the path, keeps the version of before, and names the content.  Contents that the
 * new one was to be made of may have been collected between the two: then it is made of others, and
 * the commit tried again. */
#include "tree/change.h"

#include "base/mem.h"
#include "tree/acl.h"
#include "tree/quota.h"
#include "tree/set.h"

#include <string.h>

enum { TRIES = 8 }; /* each needs a collection just between sealing and commit */

/* Who sends more is told before the end when no quota has room for it. */
enum { QUOTA_LOOK_BYTES = 1024 * 1024 };

struct ash_tree_writer {
    ash_tree *tree;
    ash_tree_path path;
    ash_op op;
    ash_tree_change_options opts; /* what they point to: own copies */
    bson_t *props;
    char *if_digest, *content_type, *changed_by, *written_by;
    bson_oid_t id; /* of the file, if it is a new one */
    ash_content_writer *content;
    int64_t taken;   /* bytes */
    int64_t look_at; /* with more of them quotas are asked (again) */
    bool sealed;
    bool finished;
    bool content_moved;    /* the last failure was the content's */
    ash_tree_entry *entry; /* of the last run */
};

static char *copy_text(const char *text)
{
    return text != NULL ? ash__strdup(text) : NULL;
}

static void keep_options(ash_tree_writer *w, const ash_tree_change_options *o)
{
    w->opts = *o;
    w->opts.if_digest = w->if_digest = copy_text(o->if_digest);
    w->opts.content_type = w->content_type = copy_text(o->content_type);
    w->opts.changed_by = w->changed_by = copy_text(o->changed_by);
    w->opts.written_by = w->written_by = copy_text(o->written_by);
    w->opts.props = w->props = o->props != NULL ? bson_copy(o->props) : NULL;
}

/* Early, and only to be told early: the commit looks again. */
static int look_ahead(ash_tree_writer *w, ash_content_hint *hint, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    int rc = ash__tree_walk(w->tree, &w->path, 0, &w->op, &chain, err);
    bool there = rc == 0 && chain.count > w->path.count;
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE | (there ? 0 : ASH_TREE_ENTER), &w->op, err);
    if (rc == 0 && there && ash__chain_last(&chain)->is_folder)
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder", ash__chain_last(&chain)->path);
    if (rc == 0 && there && w->opts.if_absent)
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already", ash__chain_last(&chain)->path);
    if (rc == 0 && chain.count < w->path.count && !w->opts.make_folders)
        rc = ash__tree_say_missing(&w->path, chain.count, 0, err);
    if (rc == 0 && there)
        hint->before = ash__chain_last(&chain)->content.id;
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_open_writer(ash_tree *tree, const char *path, const ash_tree_change_options *opts,
                         const ash_op *op, ash_tree_writer **out, ash_error *err)
{
    ash_tree_change_options o;
    ash_content_hint hint = {0};
    ash_tree_writer *w = ash__new(ash_tree_writer);
    ash_assert(tree != NULL && path != NULL && out != NULL);
    *out = NULL;
    w->tree = tree;
    w->op = ash__op_of(op);
    w->op.transaction = NULL; /* that is a matter of its end */
    w->look_at = QUOTA_LOOK_BYTES;
    bson_oid_init(&w->id, NULL);
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0)
        keep_options(w, &o);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &w->path, err);
    if (rc == 0 && w->path.count == 0)
        rc = ash__fail(err, ASH_EINVAL, "the root is a folder");
    if (rc == 0)
        rc = ash_tree_prepare(tree, &w->op, err);
    if (rc == 0)
        rc = look_ahead(w, &hint, err);
    if (rc == 0) {
        hint.filename = w->path.names[w->path.count - 1];
        hint.content_type = w->content_type;
        rc = ash__content_writer_new(tree->contents, &hint, &w->content, err);
    }
    if (rc != 0)
        ash_tree_writer_free(w);
    else
        *out = w;
    return rc;
}

void ash_tree_writer_free(ash_tree_writer *w)
{
    if (w == NULL)
        return;
    ash__content_writer_free(w->content);
    ash__tree_path_release(&w->path);
    ash__free(w->if_digest);
    ash__free(w->content_type);
    ash__free(w->changed_by);
    ash__free(w->written_by);
    bson_destroy(w->props);
    ash_tree_entry_free(w->entry);
    ash__free(w);
}

/* As of now; what the commit finds counts.  What is there may be replaced by as much. */
static int ask_quotas(ash_tree_writer *w, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_quota_room room;
    int64_t before = 0;
    char *user = ash__tree_user(&w->op);
    const char *author = ash__tree_author(&w->opts, user);
    int rc = ash__tree_walk(w->tree, &w->path, 0, &w->op, &chain, err);
    if (rc == 0)
        rc = ash__quota_room(w->tree, &chain, author, &w->op, &room, err);
    if (rc == 0)
        before = ash__chain_last(&chain)->content.length;
    w->look_at = INT64_MAX;
    if (rc == 0 && room.bytes >= 0 && w->taken - before > room.bytes)
        rc = ash__quota_require(w->tree, &chain, author, w->taken - before, &w->op, err);
    else if (rc == 0 && room.bytes >= 0 && room.bytes < INT64_MAX - before)
        w->look_at = room.bytes + before;
    ash__chain_release(&chain);
    ash__free(user);
    return rc;
}

int ash_tree_writer_write(ash_tree_writer *w, const void *data, size_t len, ash_error *err)
{
    if (w->finished || w->sealed)
        return ash__fail(err, ASH_ESTATE, "the file takes no more bytes");
    w->taken += (int64_t)len;
    int rc = w->taken > w->look_at ? ask_quotas(w, err) : 0;
    return rc == 0 ? ash__content_writer_add(w->content, data, len, &w->op, err) : rc;
}

/* ---- the commit ---- */

static void append_content(bson_t *doc, const ash_content_ref *ref)
{
    if (ref->id.len == 0) {
        bson_append_binary(doc, "in", 2, BSON_SUBTYPE_BINARY, ref->in, ref->in_len);
    } else {
        bson_append_int64(doc, "length", 6, ref->length);
        bson_append_binary(doc, "sha", 3, BSON_SUBTYPE_BINARY, ref->id.bytes, ref->id.len);
    }
}

/* Where one form takes the place of the other, the fields of the other go. */
static void set_content(bson_t *set, const ash_content_ref *ref)
{
    append_content(set, ref);
    if (ref->id.len == 0) {
        bson_append_null(set, "length", 6);
        bson_append_null(set, "sha", 3);
    } else {
        bson_append_null(set, "in", 2);
    }
}

static int name_content(ash_tree_writer *w, ash_tree_commit *c, const bson_value_t *owner,
                        const ash_content_ref *ref, ash_error *err)
{
    if (ref->id.len == 0)
        return 0;
    int rc = ash__content_writer_store(w->content, owner, &c->op, err);
    w->content_moved = rc == ASH_ECONFLICT;
    return rc;
}

static int insert_file(ash_tree_writer *w, ash_tree_commit *c, const ash_tree_chain *chain,
                       const ash_content_ref *ref, ash_error *err)
{
    const ash_tree_entry *folder = ash__chain_last(chain);
    bson_t doc = BSON_INITIALIZER;
    bson_value_t owner = {.value_type = BSON_TYPE_OID, .value.v_oid = w->id};
    ash__document_begin(&doc, &w->id, &folder->id, w->path.names[w->path.count - 1], 1);
    append_content(&doc, ref);
    int rc = ash__document_end(c, &doc, err);
    if (rc == 0)
        rc = ash__commit_claim(c, &folder->id, err);
    if (rc == 0)
        rc = name_content(w, c, &owner, ref, err);
    if (rc == 0)
        rc = ash__commit_insert(c, &doc, folder->path, &w->entry, err);
    bson_destroy(&doc);
    return rc;
}

static bool is_same_content(const ash_content_ref *a, const ash_content_ref *b)
{
    if (a->id.len != 0 || b->id.len != 0)
        return ash__content_id_equal(&a->id, &b->id);
    return a->in != NULL && b->in != NULL && a->length == b->length && a->in_len == b->in_len &&
           memcmp(a->in, b->in, a->in_len) == 0;
}

static int revise_file(ash_tree_writer *w, ash_tree_commit *c, const ash_tree_entry *old,
                       const ash_content_ref *ref, ash_error *err)
{
    bson_t set = BSON_INITIALIZER;
    bool same = is_same_content(&old->content, ref);
    ash_content_use gone = {old->content.id, &old->id};
    if (!same)
        set_content(&set, ref);
    /* The time was that of the bytes that go. */
    if (!same && c->opts->modified_ms == 0)
        bson_append_null(&set, "modified_at", 11);
    int rc = ash__document_set(c->opts, old, &set, err);
    /* The same bytes are no new version, but heal the old one. */
    if (rc == 0 && (!same || ash__content_writer_heals(w->content)))
        rc = name_content(w, c, &old->id, ref, err);
    if (rc == 0 && ash__entry_says(old, &set)) {
        w->entry = ash_tree_entry_copy(old);
        bson_destroy(&set);
        return 0;
    }
    if (rc == 0 && !same && gone.id.len != 0)
        rc = ash__contents_go_on(c->tree->contents, &gone, 1, &c->op, err);
    if (rc == 0)
        rc = ash__commit_revise(c, old, &set, &w->entry, err);
    bson_destroy(&set);
    return rc;
}

static int check_target(const ash_tree_commit *c, const ash_tree_entry *there, ash_error *err)
{
    if (there == NULL)
        return 0;
    if (there->is_folder)
        return ash__fail(err, ASH_EINVAL, "%s is a folder", there->path);
    if (c->opts->if_absent)
        return ash__fail(err, ASH_EEXISTS, "%s is there already", there->path);
    return 0;
}

static int commit_file(ash_tree_commit *c, void *ctx, ash_error *err)
{
    ash_tree_writer *w = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *there = NULL;
    ash_content_ref ref;
    ash_tree_entry_free(w->entry);
    w->entry = NULL;
    w->content_moved = false;
    ash__content_writer_ref(w->content, &ref);
    int rc = ash__commit_folder(c, &w->path, &chain, err);
    if (rc == 0)
        rc = ash__tree_child(c->tree, ash__chain_last(&chain), w->path.names[w->path.count - 1],
                             &c->op, &there, err);
    if (rc == 0)
        rc = check_target(c, there, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, there, err);
    if (rc == 0 && there != NULL)
        ash__chain_add(&chain, ash_tree_entry_copy(there));
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE | (there == NULL ? ASH_TREE_ENTER : 0),
                               &c->op, err);
    if (rc == 0)
        rc = there != NULL ? revise_file(w, c, there, &ref, err)
                           : insert_file(w, c, &chain, &ref, err);
    ash_tree_entry_free(there);
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_writer_seal(ash_tree_writer *w, ash_error *err)
{
    int rc = ash__content_writer_seal(w->content, &w->op, err);
    w->sealed = rc == 0;
    return rc;
}

int ash_tree_writer_redirect(ash_tree_writer *w, const char *path, ash_error *err)
{
    ash_tree_path parts = {0};
    if (w->finished)
        return ash__fail(err, ASH_ESTATE, "the file is finished");
    int rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0 && parts.count == 0)
        rc = ash__fail(err, ASH_EINVAL, "the root is a folder");
    if (rc == 0) {
        ash__tree_path_release(&w->path);
        w->path = parts;
    } else {
        ash__tree_path_release(&parts);
    }
    return rc;
}

/* Alone it may look again at what went away beneath it. */
static int finish_alone(ash_tree_writer *w, const ash_op *op, ash_error *err)
{
    int rc = 0;
    for (int i = 0; i < TRIES; i++) {
        /* Who sealed it already has chosen its form, which takes most of the time. */
        if (i > 0 || !w->sealed)
            rc = ash_tree_writer_seal(w, err);
        if (rc == 0)
            rc = ash__tree_change(w->tree, &w->opts, op, commit_file, w, err);
        if (rc != ASH_ECONFLICT || !w->content_moved)
            break;
    }
    return rc;
}

int ash_tree_writer_finish(ash_tree_writer *w, const ash_op *op, ash_tree_entry **entry,
                           ash_error *err)
{
    ash_op own = op != NULL ? ash__op_of(op) : w->op;
    int rc = 0;
    if (entry != NULL)
        *entry = NULL;
    if (w->finished)
        return ash__fail(err, ASH_ESTATE, "the file is finished");
    if (own.transaction == NULL)
        rc = finish_alone(w, &own, err);
    else if (!w->sealed)
        rc = ash__fail(err, ASH_ESTATE, "a file is sealed before the transaction that shows it");
    else
        rc = ash__tree_change(w->tree, &w->opts, &own, commit_file, w, err);
    /* A caller's transaction may yet be undone, and run again. */
    w->finished = rc == 0 && own.transaction == NULL;
    if (rc == 0 && entry != NULL) {
        *entry = w->entry;
        w->entry = NULL;
    }
    return rc;
}

int ash_tree_put(ash_tree *tree, const char *path, const ash_input *in,
                 const ash_tree_change_options *opts, const ash_op *op, ash_tree_entry **entry,
                 ash_error *err)
{
    enum { STEP = 256 * 1024 };
    ash_tree_writer *w = NULL;
    uint8_t *buf = ash__alloc(STEP);
    int64_t got = 1;
    int rc = ash_tree_open_writer(tree, path, opts, op, &w, err);
    while (rc == 0 && got > 0) {
        got = in->read(in->ctx, buf, STEP, err);
        if (got < 0)
            rc = (int)got;
        else if (got > 0)
            rc = ash_tree_writer_write(w, buf, (size_t)got, err);
    }
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, entry, err);
    ash_tree_writer_free(w);
    ash__free(buf);
    return rc;
}
