/* SPDX-License-Identifier: Apache-2.0 */
/* collMod: the changes of one command, made one by one on the writer in one atomic apply. */

#include "store/embedded/catalog/slots.h"

#include "bson/builder.h"
#include "store/embedded/catalog/coll_options.h"
#include "store/embedded/catalog/index_spec.h"
#include "store/embedded/catalog/index_unique.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/kit/oplog.h"
#include "store/embedded/kit/view.h"

#include <stdio.h>
#include <string.h>

/* One collMod.  Old values are gathered as {…_old} fields, as the server answers. */
typedef struct modification {
    ash_ns ns;
    ash_doc changes;
    bool dry_run;
    ash_builder old;
    ash_builder violations; /* of documents that an index cannot be unique for */
} modification;

static const ash_index *find_index(const ash_coll *c, ash_doc which)
{
    ash_value name = ash__doc_get(which, "name");
    ash_value key = ash__doc_get(which, "keyPattern");
    uint32_t len;
    for (uint32_t i = 0; i < c->index_count; i++) {
        const ash_index *index = &c->indexes[i];
        if (name.type == BSON_TYPE_UTF8 && strcmp(index->name, ash__value_string(name, &len)) == 0)
            return index;
        if (key.type == BSON_TYPE_DOCUMENT &&
            ash__doc_compare(ash__doc_from_bson(&index->key), ash__value_doc(key), NULL) == 0)
            return index;
    }
    return NULL;
}

/* spec with one field set (or left out, when v is missing), through the checks of createIndexes. */
static int change_spec(ash_writer *w, const ash_coll *c, const ash_index *index, const char *field,
                       ash_value v, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t spec;
    bool is_id;
    ash__builder_begin(&b);
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(&index->spec));
    while (ash__doc_iter_next(&it))
        if (strcmp(it.name, field) != 0)
            ash__builder_element(&b, &it);
    ash__builder_value(&b, field, v);
    ash__builder_end(&b);
    int rc =
        ash__index_spec_parse(ash__value_of_doc(ash__builder_doc(&b)), NULL, &spec, &is_id, err);
    if (rc == 0) {
        rc = ash__catalog_set_index(w, c, index->name, &spec, err);
        bson_destroy(&spec);
    }
    ash__builder_release(&b);
    return rc;
}

/* What is asked for is known, and a change that can be made. */
static int check_index_fields(ash_doc which, ash_error *err)
{
    static const char *const known[] = {"name",   "keyPattern", "expireAfterSeconds",
                                        "hidden", "unique",     "prepareUnique"};
    for (ash_doc_iter it = ash__doc_iter(which); ash__doc_iter_next(&it);) {
        size_t at = 0;
        while (at < ASH_ARRAY_LEN(known) && strcmp(known[at], it.name) != 0)
            at++;
        if (at == ASH_ARRAY_LEN(known))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field 'collMod.index.%s' is an unknown field.", it.name);
        if (at < 4)
            continue;
        if (it.value.type != BSON_TYPE_BOOL && !ash__value_is_number(it.value))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                    "collMod.index.%s must be a bool, not %s", it.name,
                                    ash__type_name(it.value.type));
        if (strcmp(it.name, "unique") == 0 && !ash__value_truthy(it.value))
            return ash__fail_server(
                err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                "collMod does not support converting an index to be non-unique");
    }
    return 0;
}

static int make_unique(modification *m, ash_writer *w, const ash_coll *c, const ash_index *index,
                       ash_error *err)
{
    ash_value_box box;
    /* It is so already: nothing to do. */
    if (index->unique)
        return 0;
    /* As MongoDB wants it; here looking and changing are one step anyway. */
    if (!index->guarded && !m->dry_run)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "index %s cannot be made unique before collMod has set "
                                "'prepareUnique'",
                                index->name);
    int rc = ash__index_may_be_unique(ash__writer_snapshot(w), c, index, &m->violations, err);
    if (rc != 0 || m->dry_run)
        return rc;
    ash__builder_bool(&m->old, "unique_new", true);
    return change_spec(w, c, index, "unique", ash__box_bool(&box, true), err);
}

static int modify_index(modification *m, ash_writer *w, ash_doc which, ash_error *err)
{
    /* In this order, so that prepareUnique of the same command counts for unique. */
    static const char *const fields[] = {"expireAfterSeconds", "hidden", "prepareUnique", "unique"};
    int rc = check_index_fields(which, err);
    for (size_t i = 0; rc == 0 && i < ASH_ARRAY_LEN(fields); i++) {
        const ash_coll *c = NULL;
        char old_name[32];
        ash_value_box box;
        ash_value v = ash__doc_get(which, fields[i]);
        /* Each time anew: the change before has moved the catalogue. */
        rc = ash__catalog_find(ash__writer_snapshot(w), m->ns.db, m->ns.coll, &c, err);
        if (rc != 0)
            return rc;
        const ash_index *index = find_index(c, which);
        if (index == NULL)
            return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_INDEX_NOT_FOUND,
                                    "cannot find the index to modify");
        if (ash__value_is_missing(v))
            continue;
        if (strcmp(index->name, "_id_") == 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "can't modify the _id index");
        if (strcmp(fields[i], "unique") == 0)
            return make_unique(m, w, c, index, err);
        bool is_flag = strcmp(fields[i], "expireAfterSeconds") != 0;
        ash_value old = ash__doc_get(ash__doc_from_bson(&index->spec), fields[i]);
        /* A flag at its default is left out of the specification. */
        if (ash__value_is_missing(old) && is_flag)
            old = ash__box_bool(&box, false);
        snprintf(old_name, sizeof old_name, "%s_old", fields[i]);
        ash__builder_value(&m->old, old_name, old);
        snprintf(old_name, sizeof old_name, "%s_new", fields[i]);
        ash__builder_value(&m->old, old_name, v);
        rc = change_spec(w, c, index, fields[i], v, err);
    }
    return rc;
}

static int modify_option(modification *m, ash_writer *w, const char *option, ash_value v,
                         ash_error *err)
{
    const ash_coll *c = NULL;
    ash_builder b = ASH_BUILDER_INIT;
    bson_t given;
    bson_t options;
    int rc = ash__catalog_find(ash__writer_snapshot(w), m->ns.db, m->ns.coll, &c, err);
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(&c->options));
    while (ash__doc_iter_next(&it))
        if (strcmp(it.name, option) != 0)
            ash__builder_element(&b, &it);
    /* As in MongoDB: {} takes the validator away. */
    bool removes = strcmp(option, "validator") == 0 && v.type == BSON_TYPE_DOCUMENT &&
                   ash__doc_is_empty(ash__value_doc(v));
    if (!removes)
        ash__builder_value(&b, option, v);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &given);
    rc = ash__coll_options_parse(&given, &options, err);
    if (rc == 0) {
        rc = ash__catalog_set_options(w, c, &options, err);
        bson_destroy(&options);
    }
    ash__builder_release(&b);
    return rc;
}

/* It tries whether an index can be unique, and nothing else. */
static int check_dry_run(const modification *m, ash_error *err)
{
    ash_value which = ash__doc_get(m->changes, "index");
    bool fits = which.type == BSON_TYPE_DOCUMENT && ash__doc_count(m->changes) == 2 &&
                ash__doc_count(ash__value_doc(which)) == 2 &&
                !ash__value_is_missing(ash__doc_get(ash__value_doc(which), "unique"));
    return fits ? 0
                : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                   "collMod can be tried with dryRun only for {index: {…, unique: "
                                   "true}}");
}

static int modify_one(modification *m, ash_writer *w, const ash_doc_iter *it, ash_error *err)
{
    static const struct {
        const char *name;
        const char *option;
    } simple[] = {{"validator", "validator"},
                  {"validationLevel", "validationLevel"},
                  {"validationAction", "validationAction"},
                  {"cappedSize", "size"},
                  {"cappedMax", "max"},
                  {"changeStreamPreAndPostImages", "changeStreamPreAndPostImages"}};
    if (strcmp(it->name, "index") == 0) {
        if (it->value.type != BSON_TYPE_DOCUMENT)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                    "collMod: 'index' must be an object");
        return modify_index(m, w, ash__value_doc(it->value), err);
    }
    if (strcmp(it->name, "dryRun") == 0)
        return 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(simple); i++)
        if (strcmp(it->name, simple[i].name) == 0)
            return modify_option(m, w, simple[i].option, it->value, err);
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                            "BSON field 'collMod.%s' is an unknown field.", it->name);
}

/* What the collection was like: the entry is written before the first change. */
static int log_modification(ash_writer *w, const modification *m, const ash_coll *c, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "collectionOptions");
    ash__builder_binary(&b, "uuid", BSON_SUBTYPE_UUID, c->uuid, 16);
    ash__builder_elements(&b, ash__doc_from_bson(&c->options));
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash_change change = {.kind = ASH_CHANGE_MODIFY,
                         .db = c->db,
                         .coll = c,
                         .before = ash__builder_doc(&b),
                         .details = m->changes};
    int rc = ash__oplog_write(w, &change, err);
    ash__builder_release(&b);
    return rc;
}

static int modify_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    modification *m = ctx;
    const ash_coll *c = NULL;
    int rc = ash__catalog_find(ash__writer_snapshot(w), m->ns.db, m->ns.coll, &c, err);
    if (rc == 0 && c == NULL)
        rc = ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                              "ns does not exist: %s.%s", m->ns.db, m->ns.coll);
    if (rc == 0)
        rc = ash__view_refuse(c, err);
    if (rc == 0 && m->dry_run)
        rc = check_dry_run(m, err);
    else if (rc == 0)
        rc = log_modification(w, m, c, err);
    ash_doc_iter it = ash__doc_iter(m->changes);
    while (rc == 0 && ash__doc_iter_next(&it))
        rc = modify_one(m, w, &it, err);
    return rc;
}

int ash__embedded_modify(ash_store *store, ash_ns ns, const bson_t *changes, const ash_op *op,
                         bson_t *old_values, ash_error *err)
{
    modification m = {.ns = ns, .changes = ash__doc_from_bson(changes)};
    /* Known before the writer is asked, which then changes nothing. */
    m.dry_run = ash__value_truthy(ash__doc_get(m.changes, "dryRun"));
    /* Begun here, since the writer only adds to them. */
    ash__builder_begin(&m.old);
    ash__builder_begin(&m.violations);
    ash_write_terms terms = {.op = op, .flags = ASH_APPLY_ATOMIC};
    int rc = ash__write_run(ash__embedded(store), &terms, modify_on_writer, &m, err);
    ash__builder_end(&m.old);
    ash__builder_end(&m.violations);
    /* That refusal has a report, which says which documents are in the way. */
    if (rc == 0 || ash_error_server_code(err) == ASH_MONGO_CANNOT_CONVERT_INDEX_TO_UNIQUE) {
        ash__doc_give(ash__builder_doc(rc == 0 ? &m.old : &m.violations), old_values);
    }
    ash__builder_release(&m.violations);
    ash__builder_release(&m.old);
    return rc;
}
