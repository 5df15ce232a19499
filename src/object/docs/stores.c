/* SPDX-License-Identifier: Apache-2.0 */
/* Making, binding, changing, sealing and deleting stores.
 *
 * A store that is deleted leaves its document: the next of its name has other collections, so that
 * who still drops the old ones, however late, never drops the new one's. */
#include "object/docs/docs.h"

#include "base/mem.h"
#include "bucket/bucket.h"

#include <string.h>

static char *prefix_of(const char *name, int32_t generation)
{
    return generation == 1 ? ash__sprintf("objects.%s", name)
                           : ash__sprintf("objects.%s.%d", name, generation);
}

static int open_collection(ash_docs *s, const char *suffix, ash_collection **out, ash_error *err)
{
    char *name = ash__sprintf("%s.%s", s->prefix, suffix);
    int rc = ash_collection_new(s->manager->store, s->manager->db, name, out, err);
    ash__free(name);
    return rc;
}

static int new_store(ash_docs_manager *m, const char *prefix, int32_t generation, ash_docs **out,
                     ash_error *err)
{
    ash_bucket_options b = ASH_BUCKET_OPTIONS_INIT;
    ash_docs *s = ash__new(ash_docs);
    s->manager = m;
    s->prefix = ash__strdup(prefix);
    s->generation = generation;
    b.db = m->db;
    b.bucket_name = s->prefix;
    b.chunk_size_bytes = ASH_OBJECT_CHUNK_SIZE_DEFAULT;
    int rc = open_collection(s, "meta", &s->meta, err);
    if (rc == 0)
        rc = open_collection(s, "versions", &s->versions, err);
    if (rc == 0)
        rc = ash_bucket_new(m->store, &b, &s->bucket, err);
    if (rc != 0)
        ash__docs_unbind(&s->base);
    else
        *out = s;
    return rc;
}

void ash__docs_unbind(ash_object_store *base)
{
    ash_docs *s = ash__docs(base);
    ash_lock_collection_close(atomic_load(&s->locks));
    ash_bucket_free(s->bucket);
    ash_collection_free(s->meta);
    ash_collection_free(s->versions);
    ash__free(s->prefix);
    ash__free(s);
}

static int bind_config(ash_docs_manager *m, const ash_docs_config *c, ash_object_store **out,
                       ash_error *err)
{
    ash_docs *s = NULL;
    int rc = new_store(m, c->prefix, c->generation, &s, err);
    if (rc != 0)
        return rc;
    s->base.chunk_size = c->copy.config.chunk_size;
    s->base.digest = c->copy.config.digest;
    s->base.encode = c->copy.config.compression;
    *out = &s->base;
    return 0;
}

static int say_no_store(const char *name, ash_error *err)
{
    return ash__fail(err, ASH_ENOTFOUND, "there is no object store %s", name);
}

int ash__docs_bind(ash_object_manager *base, const char *name, const ash_op *op,
                   ash_object_store **out, ash_error *err)
{
    ash_docs_manager *m = (ash_docs_manager *)base;
    ash_docs_config c;
    bool found = false;
    int rc = ash__docs_config_get(m, name, op, &c, &found, err);
    if (rc != 0)
        return rc;
    rc = found && !c.deleted ? bind_config(m, &c, out, err) : say_no_store(name, err);
    ash__docs_config_release(&c);
    return rc;
}

/* ---- making ---- */

static int index_meta(ash_docs *s, const ash_op *op, ash_error *err)
{
    bson_t *specs = BCON_NEW(
        "0", "{", "key", "{", "revision", BCON_INT32(1), "}", "name", BCON_UTF8("revision_1"), "}",
        "1", "{", "key", "{", "tags", BCON_INT32(1), "}", "name", BCON_UTF8("tags_1"), "sparse",
        BCON_BOOL(true), "}", "2", "{", "key", "{", "expires", BCON_INT32(1), "}", "name",
        BCON_UTF8("expires_1"), "sparse", BCON_BOOL(true), "}", "3", "{", "key", "{", "nuid",
        BCON_INT32(1), "}", "name", BCON_UTF8("nuid_1"), "sparse", BCON_BOOL(true), "}");
    int rc = ash_collection_create_indexes(s->meta, specs, op, NULL, err);
    bson_destroy(specs);
    return rc;
}

static int index_versions(ash_docs *s, const ash_op *op, ash_error *err)
{
    bson_t *specs =
        BCON_NEW("0", "{", "key", "{", "name", BCON_INT32(1), "_id", BCON_INT32(-1), "}", "name",
                 BCON_UTF8("name_1__id_-1"), "}", "1", "{", "key", "{", "nuid", BCON_INT32(1), "}",
                 "name", BCON_UTF8("nuid_1"), "sparse", BCON_BOOL(true), "}");
    int rc = ash_collection_create_indexes(s->versions, specs, op, NULL, err);
    bson_destroy(specs);
    return rc;
}

/* Collections and indexes cannot be made in the transactions that need them. */
static int prepare(ash_docs *s, const ash_op *op, ash_error *err)
{
    ash_work work = ash__work(s->bucket, op->deadline_ms);
    int rc = index_meta(s, op, err);
    if (rc == 0)
        rc = index_versions(s, op, err);
    return rc == 0 ? ash__bucket_index(&work, err) : rc;
}

static void build_document(const ash_docs *s, const ash_object_config *config, int64_t now_ms,
                           bson_t *doc)
{
    BSON_APPEND_UTF8(doc, "_id", config->name);
    BSON_APPEND_UTF8(doc, "bucket", s->prefix);
    BSON_APPEND_INT32(doc, "generation", s->generation);
    BSON_APPEND_DATE_TIME(doc, "created", now_ms);
    ash__docs_config_append(config, doc);
    BCON_APPEND(doc, "revision", BCON_INT64(0), "bytes", BCON_INT64(0), "objects", BCON_INT64(0));
}

/* Over what is left of the store of before, if there was one; *won: nobody else was faster. */
static int write_document(ash_docs *s, const bson_t *doc, const ash_op *op, bool *won,
                          ash_error *err)
{
    bson_t *filter;
    ash_error own = ASH_ERROR_INIT;
    int64_t matched = 0;
    int rc;
    if (s->generation == 1) {
        ash_insert_options io = ASH_INSERT_OPTIONS_INIT;
        io.op = *op;
        rc = ash_collection_insert_one(s->manager->stores, doc, &io, &own);
        *won = rc == 0;
        return ash__unless(ASH_EEXISTS, rc, &own, err);
    }
    bson_iter_t it;
    bson_iter_init_find(&it, doc, "_id");
    filter = BCON_NEW("_id", BCON_UTF8(bson_iter_utf8(&it, NULL)), "generation",
                      BCON_INT32(s->generation - 1), "deleted", BCON_BOOL(true));
    ash_update_options uo = ASH_UPDATE_OPTIONS_INIT;
    uo.op = *op;
    rc = ash__collection_change(s->manager->stores, filter, doc, &uo, &matched, err);
    *won = matched == 1;
    bson_destroy(filter);
    return rc;
}

static int drop_collections(ash_docs *s, const ash_op *op, ash_error *err)
{
    ash_collection *locks = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__unless(ASH_ENOTFOUND, ash_collection_drop(s->meta, op, &own), &own, err);
    if (rc == 0)
        rc = ash__unless(ASH_ENOTFOUND, ash_collection_drop(s->versions, op, &own), &own, err);
    if (rc == 0)
        rc = ash_bucket_drop(s->bucket, NULL, err);
    if (rc == 0)
        rc = open_collection(s, "locks", &locks, err);
    if (rc == 0)
        rc = ash__unless(ASH_ENOTFOUND, ash_collection_drop(locks, op, &own), &own, err);
    ash_collection_free(locks);
    return rc;
}

static int mark(ash_docs_manager *m, const ash_docs_config *c, const bson_t *operators,
                const ash_op *op, bool *done, ash_error *err)
{
    bson_t *filter =
        BCON_NEW("_id", BCON_UTF8(c->copy.config.name), "generation", BCON_INT32(c->generation),
                 "deleted", "{", "$exists", BCON_BOOL(c->deleted), "}");
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    int64_t matched = 0;
    o.op = *op;
    int rc = ash__collection_change(m->stores, filter, operators, &o, &matched, err);
    *done = matched == 1;
    bson_destroy(filter);
    return rc;
}

/* What a store left that is deleted. */
static int finish_removal(ash_docs_manager *m, const ash_docs_config *c, const ash_op *op,
                          ash_error *err)
{
    ash_docs *s = NULL;
    bool done;
    if (c->dropped)
        return 0;
    int rc = new_store(m, c->prefix, c->generation, &s, err);
    if (rc != 0)
        return rc;
    rc = drop_collections(s, op, err);
    ash__docs_unbind(&s->base);
    if (rc != 0)
        return rc;
    bson_t *operators = BCON_NEW("$set", "{", "dropped", BCON_BOOL(true), "}");
    rc = mark(m, c, operators, op, &done, err);
    bson_destroy(operators);
    return rc;
}

static int make(ash_docs_manager *m, const ash_object_config *config, int32_t generation,
                const ash_op *op, bool *won, ash_error *err)
{
    char *prefix = prefix_of(config->name, generation);
    ash_docs *s = NULL;
    int64_t now = 0;
    bson_t doc = BSON_INITIALIZER;
    int rc = new_store(m, prefix, generation, &s, err);
    ash__free(prefix);
    if (rc != 0)
        return rc;
    rc = prepare(s, op, err);
    if (rc == 0)
        rc = ash_store_time(m->store, &now, NULL, err);
    if (rc == 0) {
        build_document(s, config, now, &doc);
        rc = write_document(s, &doc, op, won, err);
    }
    bson_destroy(&doc);
    ash__docs_unbind(&s->base);
    return rc;
}

static int compare(const ash_docs_config *c, const ash_object_config *config, ash_error *err)
{
    const char *field = ash__object_config_difference(&c->copy.config, config);
    if (field == NULL)
        return 0;
    return ash__fail(err, ASH_EEXISTS, "object store %s is there with another configuration: %s",
                     config->name, field);
}

/* Once around for whoever was not the first. */
int ash__docs_create(ash_object_manager *base, const ash_object_config *config, const ash_op *op,
                     ash_object_store **out, ash_error *err)
{
    ash_docs_manager *m = (ash_docs_manager *)base;
    int rc = base->can.changes
                 ? 0
                 : ash__fail(err, ASH_EUNSUPPORTED,
                             "this store has no transactions: its objects are read only");
    while (rc == 0) {
        ash_docs_config c;
        bool found = false, won = false;
        rc = ash__docs_config_get(m, config->name, op, &c, &found, err);
        if (rc != 0)
            return rc;
        bool there = found && !c.deleted;
        if (there) {
            rc = compare(&c, config, err);
            if (rc == 0)
                rc = bind_config(m, &c, out, err);
        } else if (found) {
            rc = finish_removal(m, &c, op, err);
        }
        if (rc == 0 && !there)
            rc = make(m, config, found ? c.generation + 1 : 1, op, &won, err);
        ash__docs_config_release(&c);
        if (there)
            break;
    }
    return rc;
}

/* ---- changing ---- */

static int change(ash_docs_manager *m, const char *name, const bson_t *operators, bool sealed_too,
                  const ash_op *op, ash_error *err)
{
    ash_docs_config c;
    bool found = false, done = false;
    int rc = ash__docs_config_get(m, name, op, &c, &found, err);
    if (rc != 0)
        return rc;
    if (!found || c.deleted)
        rc = say_no_store(name, err);
    else if (c.sealed && !sealed_too)
        rc = ash__fail(err, ASH_EREADONLY, "object store %s is sealed", name);
    if (rc == 0)
        rc = mark(m, &c, operators, op, &done, err);
    if (rc == 0 && !done)
        rc = say_no_store(name, err);
    ash__docs_config_release(&c);
    return rc;
}

int ash__docs_configure(ash_object_manager *base, const ash_object_config *config, const ash_op *op,
                        ash_error *err)
{
    bson_t operators = BSON_INITIALIZER, set;
    BSON_APPEND_DOCUMENT_BEGIN(&operators, "$set", &set);
    ash__docs_config_append(config, &set);
    bson_append_document_end(&operators, &set);
    int rc = change((ash_docs_manager *)base, config->name, &operators, false, op, err);
    bson_destroy(&operators);
    return rc;
}

int ash__docs_seal(ash_object_store *base, const ash_op *op, ash_error *err)
{
    bson_t *operators = BCON_NEW("$set", "{", "sealed", BCON_BOOL(true), "}");
    int rc = change(ash__docs(base)->manager, base->name, operators, true, op, err);
    bson_destroy(operators);
    return rc;
}

int ash__docs_remove(ash_object_manager *base, const char *name, const ash_op *op, ash_error *err)
{
    ash_docs_manager *m = (ash_docs_manager *)base;
    ash_docs_config c;
    bool found = false;
    bson_t *operators = BCON_NEW("$set", "{", "deleted", BCON_BOOL(true), "}");
    int rc = ash__docs_config_get(m, name, op, &c, &found, err);
    bool there = rc == 0 && found && !c.deleted;
    if (there)
        rc = mark(m, &c, operators, op, &there, err);
    if (rc == 0 && found) {
        c.deleted = true;
        rc = finish_removal(m, &c, op, err);
    }
    ash__docs_config_release(&c);
    bson_destroy(operators);
    return rc == 0 && !there ? say_no_store(name, err) : rc;
}

/* ---- looking ---- */

int ash__docs_status(ash_object_store *base, const ash_op *op, ash_object_status **out,
                     ash_error *err)
{
    ash_docs_config c;
    int rc = ash__docs_config_own(ash__docs(base), op, &c, err);
    if (rc != 0)
        return rc;
    rc = ash__docs_config_status(&c, out, err);
    ash__docs_config_release(&c);
    return rc;
}

/* Each document of a store that passes the filter. */
typedef int (*store_fn)(void *ctx, const ash_docs_config *c, ash_error *err);

static int show_to(ash_doc doc, store_fn fn, void *ctx, ash_error *err)
{
    bson_t view;
    ash_docs_config c;
    ash__doc_to_bson(doc, &view);
    int rc = ash__docs_config_read(&view, &c, err);
    if (rc != 0)
        return rc;
    rc = fn(ctx, &c, err);
    ash__docs_config_release(&c);
    return rc;
}

static int each_store(ash_docs_manager *m, const bson_t *filter, const ash_op *op, store_fn fn,
                      void *ctx, ash_error *err)
{
    ash_find_options o = ash__docs_find_options(op);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int rc = ash_collection_find(m->stores, filter, &o, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    while (rc == 0 && doc.data != NULL) {
        rc = show_to(doc, fn, ctx, err);
        if (rc == 0)
            rc = ash_cursor_next(cursor, &doc, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

static int add_status(void *ctx, const ash_docs_config *c, ash_error *err)
{
    ash_object_status *st = NULL;
    int rc = ash__docs_config_status(c, &st, err);
    if (rc == 0)
        ash__status_listing_add(ctx, st);
    return rc;
}

int ash__docs_list_stores(ash_object_manager *base, const ash_op *op,
                          ash_object_status_listing *out, ash_error *err)
{
    bson_t *filter = BCON_NEW("deleted", "{", "$exists", BCON_BOOL(false), "}");
    int rc = each_store((ash_docs_manager *)base, filter, op, add_status, out, err);
    bson_destroy(filter);
    return rc;
}

static int add_collections(void *ctx, const ash_docs_config *c, ash_error *err)
{
    static const char *const parts[] = {"meta",   "versions",   "files",
                                        "chunks", "attributes", "locks"};
    (void)err;
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        char *name = ash__sprintf("%s.%s", c->prefix, parts[i]);
        ash__object_append(ctx, name);
        ash__free(name);
    }
    return 0;
}

/* Of deleted ones, too: what is still there of them is nobody's. */
int ash__docs_collections(ash_object_manager *base, const ash_op *op, bson_t *names, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    ash__object_append(names, ASH_DOCS_STORES);
    int rc = each_store((ash_docs_manager *)base, &all, op, add_collections, names, err);
    bson_destroy(&all);
    return rc;
}
