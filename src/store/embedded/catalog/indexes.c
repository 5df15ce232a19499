/* SPDX-License-Identifier: Apache-2.0 */
/* createIndexes, listIndexes, dropIndexes. */

#include "store/embedded/catalog/slots.h"

#include "store/embedded/catalog/index_build.h"
#include "store/embedded/catalog/index_spec.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/kit/oplog.h"
#include "store/embedded/kit/view.h"

#include <string.h>

/* One createIndexes: on the writer the specifications are compared with what exists and the new
 * indexes made, empty; then each is filled in turns (index_build.c). */
typedef struct creation {
    ash_embedded *store;
    ash_ns ns;
    const bson_t *specs;
    const ash_op *op;
    ash_build build;
    bool created_collection;
    uint32_t before;
    uint32_t after;
} creation;

static const ash_index *find_by_name(const ash_coll *c, const char *name)
{
    for (uint32_t i = 0; i < c->index_count; i++)
        if (strcmp(c->indexes[i].name, name) == 0)
            return &c->indexes[i];
    return NULL;
}

/* *exists: an equal one is there (or was made by this very command: 68). */
static int compare_with_all(const creation *cr, const ash_coll *c, const bson_t *spec, bool *exists,
                            ash_error *err)
{
    *exists = false;
    for (uint32_t i = 0; i < c->index_count; i++) {
        bool same = false;
        int rc = ash__index_spec_compare(spec, &c->indexes[i].spec, &same, err);
        if (rc != 0)
            return rc;
        /* The same one twice in one command is a mistake; one that was there before is not. */
        if (same && ash__build_has(&cr->build, c->indexes[i].id))
            return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_INDEX_ALREADY_EXISTS,
                                    "Identical index already exists: %s", c->indexes[i].name);
        *exists = *exists || same;
    }
    return 0;
}

static int create_one(creation *cr, ash_writer *w, ash_value given, ash_error *err)
{
    const ash_coll *c = NULL;
    const ash_index *index = NULL;
    bson_t spec;
    bool is_id = false;
    bool exists = false;
    int rc = ash__catalog_find(ash__writer_snapshot(w), cr->ns.db, cr->ns.coll, &c, err);
    if (rc == 0)
        rc = ash__index_spec_parse(given, &c->options, &spec, &is_id, err);
    if (rc != 0 || is_id) {
        if (rc == 0)
            bson_destroy(&spec);
        return rc;
    }
    rc = compare_with_all(cr, c, &spec, &exists, err);
    if (rc == 0 && exists) {
        /* Somebody may still be filling it. */
        const ash_index *twin = find_by_name(c, ash__index_spec_name(&spec));
        if (twin != NULL && !twin->ready)
            ash__build_wait_for(&cr->build, twin->id);
    } else if (rc == 0) {
        rc = ash__index_create(w, c, &spec, &index, err);
        if (rc == 0)
            ash__build_add(&cr->build, index->id);
    }
    bson_destroy(&spec);
    return rc;
}

static int create_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    creation *cr = ctx;
    const ash_coll *c = NULL;
    ash__build_release(&cr->build);
    int rc = ash__catalog_find(ash__writer_snapshot(w), cr->ns.db, cr->ns.coll, &c, err);
    if (rc != 0)
        return rc;
    rc = ash__view_refuse(c, err);
    if (rc != 0)
        return rc;
    /* The answer says so; it cannot be told afterwards. */
    cr->created_collection = c == NULL;
    if (c == NULL)
        rc = ash__coll_ensure(w, cr->ns, &c, err);
    if (rc != 0)
        return rc;
    cr->build.coll_id = c->id;
    /* What a failed build left would look like an index that exists already. */
    rc = ash__build_clear(&cr->build, w, err);
    if (rc == 0)
        rc = ash__catalog_find_id(ash__writer_snapshot(w), cr->build.coll_id, &c, err);
    if (rc != 0)
        return rc;
    /* Behind the clearing, whose leftovers nobody has asked for. */
    cr->before = c->index_count;
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(cr->specs));
    while (rc == 0 && ash__doc_iter_next(&it))
        rc = create_one(cr, w, it.value, err);
    if (rc == 0)
        rc = ash__build_start(&cr->build, w, cr->op->transaction != NULL, err);
    if (rc == 0)
        rc = ash__catalog_find_id(ash__writer_snapshot(w), cr->build.coll_id, &c, err);
    if (rc == 0)
        cr->after = c->index_count;
    return rc;
}

static void reply_to(const creation *cr, bson_t *reply)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_int32(&b, "numIndexesBefore", (int32_t)cr->before);
    ash__builder_int32(&b, "numIndexesAfter", (int32_t)cr->after);
    ash__builder_bool(&b, "createdCollectionAutomatically", cr->created_collection);
    if (cr->before == cr->after)
        ash__builder_text(&b, "note", "all indexes already exist");
    ash__builder_end(&b);
    ash__doc_give(ash__builder_doc(&b), reply);
    ash__builder_release(&b);
}

int ash__embedded_create_indexes(ash_store *store, ash_ns ns, const bson_t *specs, const ash_op *op,
                                 bson_t *reply, ash_error *err)
{
    creation cr = {.store = ash__embedded(store), .ns = ns, .specs = specs, .op = op};
    if (bson_empty(specs))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Must specify at least one index to create");
    cr.build.store = cr.store;
    cr.build.op = op;
    /* Atomic: a specification that is refused takes the ones before it along. */
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    int rc = ash__write_run(cr.store, &terms, create_on_writer, &cr, err);
    if (rc == 0)
        rc = ash__build_run(&cr.build, err);
    if (rc == 0)
        reply_to(&cr, reply);
    ash__build_release(&cr.build);
    return rc;
}

int ash__embedded_list_indexes(ash_store *store, ash_ns ns, const ash_op *op, ash_cursor **out,
                               ash_error *err)
{
    ash_reading reading = {0};
    const ash_coll *c = NULL;
    ash_builder b = ASH_BUILDER_INIT;
    bson_t view;
    uint32_t shown = 0;
    char name[12];
    int rc = ash__reading_begin(ash__embedded(store), op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, ns.db, ns.coll, &c, err);
    if (rc == 0)
        rc = ash__view_refuse(c, err);
    if (rc == 0 && c == NULL)
        rc = ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                              "ns does not exist: %s.%s", ns.db, ns.coll);
    ash__builder_begin(&b);
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++)
        /* A half-built one is nobody's yet. */
        if (c->indexes[i].ready)
            ash__builder_doc_value(&b, ash__index_name(shown++, name),
                                   ash__doc_from_bson(&c->indexes[i].spec));
    ash__builder_end(&b);
    ash__reading_end(&reading);
    if (rc == 0) {
        ash__doc_to_bson(ash__builder_doc(&b), &view);
        *out = ash__cursor_from_array(store, bson_copy(&view));
    }
    ash__builder_release(&b);
    return rc;
}

/* ---- dropping ------------------------------------------------------------------------------- */

typedef struct dropping {
    ash_ns ns;
    const bson_value_t *what;
} dropping;

static int drop_one(ash_writer *w, const dropping *d, const ash_index *index, ash_error *err)
{
    const ash_coll *c = NULL;
    if (strcmp(index->name, "_id_") == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "cannot drop _id index");
    int rc = ash__catalog_find(ash__writer_snapshot(w), d->ns.db, d->ns.coll, &c, err);
    if (rc == 0)
        rc = ash__oplog_write_index(w, ASH_CHANGE_DROP_INDEXES, c, index, err);
    return rc == 0 ? ash__index_drop(w, c, index, err) : rc;
}

static int drop_by_name(ash_writer *w, const dropping *d, const char *name, ash_error *err)
{
    const ash_coll *c = NULL;
    int rc = ash__catalog_find(ash__writer_snapshot(w), d->ns.db, d->ns.coll, &c, err);
    if (rc != 0)
        return rc;
    const ash_index *index = find_by_name(c, name);
    if (index == NULL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_INDEX_NOT_FOUND,
                                "index not found with name [%s]", name);
    return drop_one(w, d, index, err);
}

static int drop_by_key(ash_writer *w, const dropping *d, ash_doc key, ash_error *err)
{
    const ash_coll *c = NULL;
    int rc = ash__catalog_find(ash__writer_snapshot(w), d->ns.db, d->ns.coll, &c, err);
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++)
        if (ash__doc_compare(ash__doc_from_bson(&c->indexes[i].key), key, NULL) == 0)
            return drop_one(w, d, &c->indexes[i], err);
    return rc != 0 ? rc
                   : ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_INDEX_NOT_FOUND,
                                      "can't find index with key");
}

static int drop_all(ash_writer *w, const dropping *d, ash_error *err)
{
    for (;;) {
        const ash_coll *c = NULL;
        int rc = ash__catalog_find(ash__writer_snapshot(w), d->ns.db, d->ns.coll, &c, err);
        /* From the end: the first is that on _id, which stays. */
        if (rc != 0 || c->index_count <= 1)
            return rc;
        rc = drop_one(w, d, &c->indexes[c->index_count - 1], err);
        if (rc != 0)
            return rc;
    }
}

static int drop_listed(ash_writer *w, const dropping *d, ash_doc names, ash_error *err)
{
    ash_doc_iter it = ash__doc_iter(names);
    while (ash__doc_iter_next(&it)) {
        uint32_t len;
        if (it.value.type != BSON_TYPE_UTF8)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                    "an index name must be a string");
        int rc = drop_by_name(w, d, ash__value_string(it.value, &len), err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int drop_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    const dropping *d = ctx;
    const ash_coll *c = NULL;
    const bson_value_t *what = d->what;
    int rc = ash__catalog_find(ash__writer_snapshot(w), d->ns.db, d->ns.coll, &c, err);
    if (rc != 0)
        return rc;
    if (c == NULL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                                "ns not found %s.%s", d->ns.db, d->ns.coll);
    rc = ash__view_refuse(c, err);
    if (rc != 0)
        return rc;
    switch (what->value_type) {
    case BSON_TYPE_UTF8:
        return strcmp(what->value.v_utf8.str, "*") == 0
                   ? drop_all(w, d, err)
                   : drop_by_name(w, d, what->value.v_utf8.str, err);
    case BSON_TYPE_DOCUMENT:
        return drop_by_key(w, d, (ash_doc){what->value.v_doc.data, what->value.v_doc.data_len},
                           err);
    case BSON_TYPE_ARRAY:
        return drop_listed(w, d, (ash_doc){what->value.v_doc.data, what->value.v_doc.data_len},
                           err);
    default:
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "an index to drop is named by a string, a key document or an array "
                                "of names");
    }
}

int ash__embedded_drop_indexes(ash_store *store, ash_ns ns, const bson_value_t *index,
                               const ash_op *op, ash_error *err)
{
    dropping d = {ns, index};
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    return ash__write_run(ash__embedded(store), &terms, drop_on_writer, &d, err);
}
