/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a tree: which generation wrote it, which digests it goes on with, and what the store can
 * do.  Indexes come with the first change, so that reading somebody's database leaves it alone. */
#include "tree/tree.h"

#include "base/mem.h"
#include "base/options.h"
#include "bucket/bucket.h"
#include "tree/lookup.h"

#include <string.h>

/* Entries in a commit: some seconds, and some tens of megabytes. */
enum { WHOLE_MAX = 10000 };

static const char SEED[] = "v7files";
static const char LAST[] = "v7files.files"; /* of v7files' last generation */

ash_find_options ash__tree_find_options(const ash_op *op)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    o.op = ash__op_of(op);
    return o;
}

int ash__tree_find_one(ash_collection *c, const bson_t *filter, const bson_t *sort,
                       const ash_op *op, bson_t **out, ash_error *err)
{
    ash_find_options o = ash__tree_find_options(op);
    bson_t doc;
    bool found = false;
    o.sort = sort;
    *out = NULL;
    int rc = ash__collection_find_if_any(c, filter, &o, &doc, &found, err);
    if (rc == 0 && found) {
        *out = bson_copy(&doc);
        bson_destroy(&doc);
    }
    return rc;
}

/* ---- opening ---- */

/* A document that can be read, by the index on _id: of damaged metadata, that leads to each of them
 * without walking over what may be lost.  What cannot be read is a document, too. */
static int find_any(ash_collection *c, const bson_t *filter, bson_t **out, bool *there,
                    ash_error *err)
{
    ash_find_options o = ash__tree_find_options(NULL);
    bson_t *by_id = BCON_NEW("_id", BCON_INT32(1));
    ash_error own = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    o.sort = by_id;
    o.limit = 1;
    o.past_damage = true;
    int rc = ash_collection_find(c, filter, &o, &cursor, &own);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, &own);
    *there = rc == ASH_ECORRUPT || doc.data != NULL;
    for (int next = rc; next == ASH_ECORRUPT && cursor != NULL;)
        next = ash_cursor_next(cursor, &doc, NULL);
    if (doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        *out = bson_copy(&view);
    }
    ash_cursor_free(cursor);
    bson_destroy(by_id);
    return ash__unless(ASH_ECORRUPT, rc, &own, err);
}

static int has_documents(ash_store *store, const char *db, const char *name, bool *there,
                         ash_error *err)
{
    ash_collection *c = NULL;
    bson_t filter = BSON_INITIALIZER;
    bson_t *doc = NULL;
    *there = false;
    int rc = ash_collection_new(store, db, name, &c, err);
    if (rc == 0)
        rc = find_any(c, &filter, &doc, there, err);
    bson_destroy(doc);
    ash_collection_free(c);
    return rc;
}

/* The digest that the contents have which are there; 0: there are none. */
static int learn_digest(ash_store *store, const char *db, const char *bucket, unsigned *kind,
                        ash_error *err)
{
    ash_collection *c = NULL;
    bson_t *filter = BCON_NEW("_id", "{", "$type", BCON_UTF8("binData"), "}");
    bson_t *doc = NULL;
    char *files = ash__sprintf("%s.files", bucket);
    bson_iter_t it;
    ash_content_id id;
    bool there = false;
    int rc = ash_collection_new(store, db, files, &c, err);
    if (rc == 0)
        rc = find_any(c, filter, &doc, &there, err);
    *kind = 0;
    if (doc != NULL && bson_iter_init_find(&it, doc, "_id") && ash__content_id_read(&it, &id))
        *kind = id.len == 20 ? ASH_DIGEST_SHA1 : ASH_DIGEST_SHA256;
    bson_destroy(doc);
    bson_destroy(filter);
    ash_collection_free(c);
    ash__free(files);
    return rc;
}

static int check_options(const char *root, const ash_tree_options *o, ash_error *err)
{
    size_t len = strlen(root);
    if (len == 0 || len > ASH_TREE_NAME_MAX)
        return ash__fail(err, ASH_EINVAL, "a root's name has 1 to %d bytes", ASH_TREE_NAME_MAX);
    if (!bson_utf8_validate(root, len, false))
        return ash__fail(err, ASH_EINVAL, "the root's name is not valid UTF-8");
    if (o->digest != 0 && o->digest != ASH_DIGEST_SHA1 && o->digest != ASH_DIGEST_SHA256)
        return ash__fail(err, ASH_EINVAL, "trees know SHA-256 and SHA-1, not %u", o->digest);
    if (o->piece_bytes < 0 || o->piece_bytes > 32 * 1024 * 1024)
        return ash__fail(err, ASH_EINVAL, "pieces begin at 1 byte to 32 MiB");
    return 0;
}

/* Where nothing is named, and the last generation's documents are all there is, they are meant. */
static int choose_collection(ash_store *store, const ash_tree_options *o, const char *db,
                             const char **name, bool *last, ash_error *err)
{
    bool seed = false;
    int rc = 0;
    *name = o->collection != NULL ? o->collection : SEED;
    *last = o->collection != NULL && strcmp(o->collection, LAST) == 0;
    if (o->collection == NULL) {
        rc = has_documents(store, db, SEED, &seed, err);
        if (rc == 0 && !seed)
            rc = has_documents(store, db, LAST, last, err);
        if (*last)
            *name = LAST;
    }
    if (rc == 0 && o->must_exist && !*last) {
        rc = has_documents(store, db, *name, &seed, err);
        if (rc == 0 && !seed)
            rc = ash__fail(err, ASH_ENOTFOUND, "there is no tree in %s.%s", db, *name);
    }
    return rc;
}

static int open_parts(ash_tree *tree, const ash_tree_options *o, const char *name, bool last,
                      ash_error *err)
{
    char *past = ash__sprintf("%s.vermongo", name);
    char *quotas = ash__sprintf("%s.quotas", name);
    char *own_bucket = ash__sprintf("%s.fs", name);
    const char *bucket = o->bucket != NULL         ? o->bucket
                         : last                    ? "v7files.content"
                         : strcmp(name, SEED) == 0 ? "v7.fs"
                                                   : own_bucket;
    unsigned digest = o->digest;
    int rc = ash_collection_new(tree->store, tree->db, name, &tree->current, err);
    if (rc == 0)
        rc = ash_collection_new(tree->store, tree->db, past, &tree->past, err);
    if (rc == 0)
        rc = ash_collection_new(tree->store, tree->db, quotas, &tree->quotas, err);
    if (rc == 0 && digest == 0 && !last)
        rc = learn_digest(tree->store, tree->db, bucket, &digest, err);
    ash_contents_options c = {.db = tree->db,
                              .bucket = bucket,
                              .last_generation = last,
                              .digest = digest != 0 ? digest : ASH_DIGEST_SHA256,
                              .piece_bytes = o->piece_bytes,
                              .holders = {name, past}};
    if (rc == 0)
        rc = ash__contents_new(tree->store, &c, &tree->contents, err);
    ash__free(own_bucket);
    ash__free(quotas);
    ash__free(past);
    return rc;
}

int ash_tree_open(ash_store *store, const char *root, const ash_tree_options *opts, ash_tree **out,
                  ash_error *err)
{
    ash_tree_options o;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    const char *name = NULL;
    bool last = false;
    ash_assert(store != NULL && root != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = check_options(root, &o, err);
    if (rc == 0)
        rc = ash_store_capabilities(store, &can, err);
    const char *db = o.db != NULL ? o.db : ash_store_default_db(store);
    if (rc == 0)
        rc = choose_collection(store, &o, db, &name, &last, err);
    if (rc != 0)
        return rc;
    ash_tree *tree = ash__new(ash_tree);
    tree->store = store;
    tree->root = ash__strdup(root);
    tree->db = ash__strdup(db);
    tree->read_only = last || !can.transactions;
    tree->serial = can.serial_transactions;
    /* Through a server, a commit has a thousand operations and 16 MiB. */
    tree->whole_max = can.replayed_transactions ? WHOLE_MAX / 4 : WHOLE_MAX;
    tree->finds_max = can.replayed_transactions ? 200 : 0;
    rc = open_parts(tree, &o, name, last, err);
    if (rc != 0)
        ash_tree_close(tree);
    else
        *out = tree;
    return rc;
}

void ash_tree_close(ash_tree *tree)
{
    if (tree == NULL)
        return;
    ash__contents_free(tree->contents);
    ash_collection_free(tree->current);
    ash_collection_free(tree->past);
    ash_collection_free(tree->quotas);
    ash__free(tree->root);
    ash__free(tree->db);
    ash__free(tree);
}

const char *ash_tree_root(const ash_tree *tree)
{
    return tree->root;
}

ash_store *ash_tree_store(const ash_tree *tree)
{
    return tree->store;
}
